"""Clients that play at several tables at once, and ask again with the same key until they know."""

import asyncio
import json
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import httpx

from tests.chaos.ledger import MOST_STEPS, Ledger, Tally, Wish

TABLES, PLAYERS = 4, 3
PACE_S, ASK_AGAIN_S = 0.08, 0.15
UNHURRIED_S = 1.0
"""The pace from half of MOST_STEPS on, until all is mended: who has no step left is never seen to be back."""
GIVE_UP_S = 60.0


@dataclass
class Load:
    client: httpx.AsyncClient
    may_refuse: bool
    ledgers: list[Ledger] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    playing: bool = True
    mended: bool = False
    stopped_s: float = 0.0

    @asynccontextmanager
    async def running(self):
        """Plays until it is left; then every wish that is open is asked for until it is answered."""
        self.ledgers = [await Ledger.open(self.client, PLAYERS) for _ in range(TABLES)]
        listening = [asyncio.create_task(self._follow(each)) for each in self.ledgers]
        players = [asyncio.create_task(self._play(each, n)) for each in self.ledgers for n in range(PLAYERS)]
        try:
            yield self
            self.playing, self.stopped_s = False, time.monotonic()
            async with asyncio.timeout(GIVE_UP_S):
                await asyncio.gather(*players)
                await self._heard_all()
        finally:
            for each in (*players, *listening):
                each.cancel()
            await asyncio.gather(*players, *listening, return_exceptions=True)

    async def _play(self, ledger: Ledger, number: int) -> None:
        held: list[str] = []
        turn = 0
        while self.playing and len(ledger.wishes) < MOST_STEPS:
            turn += 1
            wish = self._next(number, turn, held)
            ledger.wishes.append(wish)
            answer = await self._ask_until_known(ledger, wish)
            if wish.line.endswith("/draws") and answer:
                held += [card["id"] for card in answer["cards"]]
            await asyncio.sleep(PACE_S if self.mended or len(ledger.wishes) < MOST_STEPS // 2 else UNHURRIED_S)

    @staticmethod
    def _next(number: int, turn: int, held: list[str]) -> Wish:
        key = f"p{number}-{turn}"
        if turn % 4 == 0:
            return Wish(key, f"POST /characters/p{number}/sixd6/rolls", {"base": 4})
        if turn % 4 == 3 and held:
            return Wish(key, "POST /discards", {"cards": [held.pop()]})
        return Wish(key, "POST /decks/own/draws", {"character": f"p{number}"})

    async def _ask_until_known(self, ledger: Ledger, wish: Wish) -> dict | None:
        while True:
            started_s = time.monotonic()
            try:
                answer = await ledger.table.ask(wish.line, wish.body, key=wish.key)
            except httpx.TransportError:
                self.tally.broken += 1
                await asyncio.sleep(ASK_AGAIN_S)
                continue
            self.tally.add(answer, time.monotonic() - started_s, may_refuse=self.may_refuse)
            if answer.status_code == 200:
                wish.acknowledge(answer.json())
                ledger.acknowledged_s.append(time.monotonic())
                return wish.answers[-1]
            if answer.status_code != 503:
                wish.refused = True
                return None
            await asyncio.sleep(ASK_AGAIN_S)

    async def ask_again(self) -> None:
        """Every wish once more: after a failover some have to be done anew."""
        for ledger in self.ledgers:
            for wish in ledger.wishes:
                if not wish.refused:
                    await self._ask_until_known(ledger, wish)

    async def back(self, since_s: float) -> None:
        """Until a step has been acknowledged at every table."""
        while not all(each.acknowledged_s and each.acknowledged_s[-1] > since_s for each in self.ledgers):  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    def back_after_s(self, since_s: float) -> float:
        return max(min(at for at in each.acknowledged_s if at > since_s) for each in self.ledgers) - since_s

    # Who follows a table.

    async def _follow(self, ledger: Ledger) -> None:
        told = {"Authorization": f"Bearer {ledger.table.tokens['gm']}", "Accept": "text/event-stream"}
        last = "2"
        while True:
            with suppress(httpx.TransportError):
                path = f"/v1/sessions/{ledger.table.id}/events"
                timeout = httpx.Timeout(10, read=30)
                async with self.client.stream(
                    "GET", path, headers={**told, "Last-Event-ID": last}, timeout=timeout
                ) as answer:
                    async for line in answer.aiter_lines():
                        if line.startswith("data: "):
                            event = json.loads(line.removeprefix("data: "))
                            if "id" in event:
                                last = event["id"]
                                ledger.heard[int(last)] = event["idempotency_key"]
            await asyncio.sleep(ASK_AGAIN_S)

    async def _heard_all(self) -> None:
        """Until they have heard the newest, or for ten seconds: the check says what they have not heard."""
        with suppress(TimeoutError):
            async with asyncio.timeout(10):
                for ledger in self.ledgers:
                    newest = int((await ledger.events())[-1]["id"])
                    while newest not in ledger.heard:  # noqa: ASYNC110
                        await asyncio.sleep(0.02)
