"""A short evening with the Python SDK over a bad line, in coroutines; what came of each step is printed."""

import asyncio
import sys

from emberdice_client import AsyncEmberdice, LogExpired, Patience, Refused
from emberdice_client.models import (
    CardsDrawnEvent,
    DrawRequest,
    HealingRequest,
    OpenRequest,
    SheetRequest,
    TablePoolRoll,
    TableRollRequest,
    TableRulesRequest,
)


async def main(address: str) -> None:
    async with AsyncEmberdice(address, patience=Patience(first_wait_s=0.01)) as service:
        table = await service.open_table(OpenRequest(characters=["Zoé"], settings=TableRulesRequest(tier_size=3)))
        zoe = table.seat(table.opened.tokens.player)
        for character in ("zoe", "zoé"):
            try:
                roll = await zoe.roll_for_character(character, body=TableRollRequest(base=2, faces=[5, 1]))
            except Refused as refused:
                print(refused.code)
            else:
                assert isinstance(roll, TablePoolRoll)
                print("roll", roll.outcome, roll.successes)
        await zoe.heal("zoe", body=HealingRequest(care="calm_self", base=1, trauma=2, faces=[5]))
        drawn = await asyncio.gather(*(zoe.draw_cards("light", body=DrawRequest(character="zoe")) for _ in range(5)))
        print("drawn", len({each.text for each in drawn}) > 1)
        async for event in table.events(after="0"):
            print("heard", event.type_)
            if isinstance(event, CardsDrawnEvent):
                break
        try:
            await anext(table.events(after="expired"))
        except LogExpired as expired:
            print("expired", expired.last_event)
        async with service.table(table.id, table.opened.tokens.gm) as same:
            for _ in range(2):  # version 0: there is no sheet yet
                try:
                    print("put", (await same.put_sheet("zoe", body=SheetRequest(damage=3), if_match=0)).damage)
                except Refused as refused:
                    print(refused.code)
            print("history", *[event.type_ async for event in same.history(limit=2)])
        print("cards left", (await zoe.read_deck("light")).draw_pile)
        print("systems", *(system.id for system in (await service.systems()).systems))


asyncio.run(main(sys.argv[1]))
