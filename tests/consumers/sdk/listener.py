"""Needs the operator's key, listens on across a restart, and ends where that is wanted; what came of each step is printed.

`listener.mts` is its twin and prints the same as each of the two here, which share a process.
"""

import asyncio
import sys
import threading

from emberdice_client import AsyncEmberdice, AsyncTable, Emberdice, Event, Patience, Refused, Table, Unreachable
from emberdice_client.models import CardsDrawnEvent, OpenRequest

ADDRESS, KEY = sys.argv[1:]
BRISK = Patience(first_wait_s=0.01, longest_wait_s=0.1)
HURRIED = Patience(first_wait_s=0.01, longest_wait_s=0.1, away_s=0.2)
DRAWS = 2


def said(*words: object) -> None:
    """In one piece: two threads speak."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def is_draw(event: Event) -> bool:
    return isinstance(event, CardsDrawnEvent)


def listen(table: Table) -> None:
    heard = table.events(after="0")
    for draw in range(DRAWS):
        next(event for event in heard if is_draw(event))
        said("blocking heard", draw)
    try:
        for _ in Table(ADDRESS, table.id, table.opened.tokens.gm, HURRIED).events(after="0"):
            pass
    except Unreachable as gone:
        said("blocking", gone)
    try:
        Table(ADDRESS, table.id, table.opened.tokens.gm, HURRIED).read_state()
    except Unreachable as gone:
        said("blocking", type(gone.__cause__).__name__)


async def listen_too(table: AsyncTable) -> None:
    draws = 0
    async for event in table.events(after="0"):
        if is_draw(event):
            said("coroutine heard", draws)
            draws += 1
        if draws == DRAWS:
            break
    try:
        async for _ in AsyncTable(ADDRESS, table.id, table.opened.tokens.gm, HURRIED).events(after="0"):
            pass
    except Unreachable as gone:
        said("coroutine", gone)
    try:
        await AsyncTable(ADDRESS, table.id, table.opened.tokens.gm, HURRIED).read_state()
    except Unreachable as gone:
        said("coroutine", type(gone.__cause__).__name__)


async def main() -> None:
    service = AsyncEmberdice(ADDRESS, api_key=KEY, patience=BRISK)
    for stranger in (Emberdice(ADDRESS), Emberdice(ADDRESS, api_key="guessed")):
        try:
            stranger.open_table()
        except Refused as refused:
            said(refused.code, refused.status)
    table = Emberdice(ADDRESS, api_key=KEY, patience=BRISK).open_table(OpenRequest(characters=["Zoé"]))
    thread = threading.Thread(target=listen, args=(table,))
    thread.start()
    same = service.table(table.id, table.opened.tokens.gm)
    same.opened = table.opened
    said("table", table.id, table.opened.tokens.gm)
    await listen_too(same)
    thread.join()


asyncio.run(main())
