"""The service takes each request and answers none in time; what came of it is printed.

`silence.mts` is its twin and prints the same as each of the two here.
"""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

from emberdice_client import AsyncTable, Patience, Table, Unreachable
from emberdice_client.models import DrawRequest

ADDRESS = sys.argv[1]
BRIEF = Patience(repeats=1, first_wait_s=0.01, answer_s=1)


def blocking(table: Table) -> None:
    with ThreadPoolExecutor() as pool:
        heard = pool.submit(next, table.events(after="0"))
        try:
            table.draw_cards("light", body=DrawRequest())
        except Unreachable as lost:
            print(lost)
        print("heard", heard.result().type_)


async def in_coroutines(table: AsyncTable) -> None:
    heard = asyncio.ensure_future(anext(table.events(after="0")))
    try:
        await table.draw_cards("light", body=DrawRequest())
    except Unreachable as lost:
        print(lost)
    print("heard", (await heard).type_)


blocking(Table(ADDRESS, "table", "token", BRIEF))
asyncio.run(in_coroutines(AsyncTable(ADDRESS, "table", "token", BRIEF)))
