"""What the clients of one table were promised, and whether it is so."""

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.live import Table

DECK_CARDS = 500
MOST_STEPS = 440
"""The log keeps 500 entries, and all of them are looked at."""


class Violation(Exception):
    """Something that was promised is not so."""


def promised(holds: object, what: str) -> None:
    if not holds:
        raise Violation(what)


@dataclass
class Wish:
    """One step that a client wants done once, and all that it was told of it."""

    key: str
    line: str
    body: dict[str, Any]
    answers: list[dict[str, Any]] = field(default_factory=list)
    first_s: float = 0.0
    refused: bool = False
    """For good: what it asks for cannot be any more, since a failover undid what it built on."""

    def acknowledge(self, answer: dict[str, Any]) -> None:
        self.first_s = self.first_s or time.monotonic()
        self.answers.append(answer)


@dataclass
class Tally:
    """Of all clients of a trial."""

    statuses: Counter[int] = field(default_factory=Counter)
    broken: int = 0
    slowest_s: float = 0.0
    wrong: list[str] = field(default_factory=list)

    def add(self, answer: httpx.Response, took_s: float, *, may_refuse: bool) -> None:
        self.statuses[answer.status_code] += 1
        self.slowest_s = max(self.slowest_s, took_s)
        if answer.status_code == 503:
            code = answer.json().get("code")
            if code not in ("store-unavailable", "busy") or int(answer.headers.get("Retry-After", 0)) < 1:
                self.wrong.append(f"503 {code} with Retry-After {answer.headers.get('Retry-After')}")
        elif answer.status_code != 200 and not (may_refuse and answer.status_code in (404, 409)):
            self.wrong.append(f"{answer.request.method} {answer.request.url.path}: {answer.status_code} {answer.text[:200]}")


@dataclass
class Ledger:
    table: Table
    wishes: list[Wish] = field(default_factory=list)
    acknowledged_s: list[float] = field(default_factory=list)
    heard: dict[int, str | None] = field(default_factory=dict)
    """What who follows the table heard: number of the event → its key."""

    @classmethod
    async def open(cls, client: httpx.AsyncClient, players: int) -> "Ledger":
        table = await Table.open(client, characters=[f"P{n}" for n in range(players)])
        cards = [{"card": "c", "name": "Card", "copies": DECK_CARDS}]
        answer = await table.ask("PUT /decks/own", {"name": "Own", "cards": cards})
        promised(answer.status_code == 201, answer.text)
        return cls(table)

    async def events(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while True:
            page = await self.table.get("/events", limit=100, **({"after": found[-1]["id"]} if found else {}))
            found += page["events"]
            if not page["has_more"]:
                return found

    async def check(self, *, may_lose: bool, hurt_s: float) -> int:
        """Raises Violation. How many acknowledged steps a failover undid, where it may."""
        events = await self.events()
        numbers = [int(event["id"]) for event in events]
        promised(numbers == [*range(2, 2 + len(numbers))], f"the log has gaps: {numbers}")
        of_key = self._of_key(events)
        for wish in self.wishes:
            promised(bool(wish.answers) or wish.refused, f"{wish.key} was never answered")
            self._has_its_event(wish, of_key)
        lost = self._lost(of_key, hurt_s)
        promised(may_lose or not lost, f"acknowledged and gone: {[wish.key for wish in lost]}")
        self._conserved(events, (await self.table.get("/export"))["records"]["d:own"])
        await self._repeated()
        told = {int(event["id"]): event["idempotency_key"] for event in events if int(event["id"]) > 2}
        unheard = {number: key for number, key in told.items() if self.heard.get(number) != key}
        promised(may_lose or not unheard, f"who follows did not hear {unheard}")
        return len(lost)

    def _of_key(self, events: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        keys = Counter(event["idempotency_key"] for event in events[1:])
        twice = [key for key, count in keys.items() if count > 1]
        promised(not twice, f"several effects of one key: {twice}")
        unknown = keys.keys() - {wish.key for wish in self.wishes}
        promised(not unknown, f"events of no wish: {unknown}")
        return {event["idempotency_key"]: event for event in events[1:]}

    @staticmethod
    def _has_its_event(wish: Wish, of_key: dict[str, dict[str, Any]]) -> None:
        """Its last answer is what the log tells."""
        event = of_key.get(wish.key)
        if wish.refused:
            return
        promised(event is not None, f"{wish.key} was acknowledged and is not in the log")
        last = wish.answers[-1]
        for name in ("event", "cards", "dice"):
            promised(event["data"].get(name) == last.get(name), f"{wish.key}: {name} is not as acknowledged")

    def _lost(self, of_key: dict[str, dict[str, Any]], hurt_s: float) -> list[Wish]:
        """Steps whose first answer no longer holds: only the newest before the failover, all of them together."""
        lost = [wish for wish in self.wishes if wish.answers and not _still_so(wish, of_key.get(wish.key))]
        before = [wish for wish in self.wishes if wish.answers and wish not in lost and wish.first_s < hurt_s]
        kept = max((int(wish.answers[0]["event"]) for wish in before), default=0)
        older = [wish.key for wish in lost if int(wish.answers[0]["event"]) <= kept and wish.first_s < hurt_s]
        promised(not older, f"gone, though later steps are there: {older}")
        return lost

    def _conserved(self, events: list[dict[str, Any]], deck: dict[str, Any]) -> None:
        """Each card in one place, and there by the log's account."""
        numbers = [*deck.get("pile", []), *deck.get("discard", []), *map(int, deck.get("active", {}))]
        first = deck["first"]
        promised(sorted(numbers) == [*range(first, first + DECK_CARDS)], "a card is missing, or in two places")
        active: set[int] = set()
        gone: set[int] = set()
        for event in events:
            cards = {int(card["id"].split("-")[1]) for card in event["data"].get("cards", ())}
            if event["type"] == "cards.drawn":
                promised(not cards & (active | gone), f"event {event['id']} deals a card that was dealt")
                active |= cards
            elif event["type"] == "cards.discarded":
                promised(cards <= active, f"event {event['id']} discards what was not active")
                active, gone = active - cards, gone | cards
        promised(active == {*map(int, deck.get("active", {}))}, "active cards are not those of the log")
        promised(gone == {*deck.get("discard", [])}, "the discard pile is not that of the log")

    async def _repeated(self) -> None:
        """Each key asked with once more: the same answer, and no effect."""
        before = (await self.table.get("/state"))["last_event"]
        for wish in self.wishes:
            if not wish.refused:
                again = await self.table.ask(wish.line, wish.body, key=wish.key)
                promised(again.status_code == 200, f"{wish.key} repeated: {again.status_code} {again.text[:200]}")
                promised(again.headers.get("Idempotency-Replayed") == "true", f"{wish.key} had its effect again")
                promised(again.json() == wish.answers[-1], f"{wish.key} repeated has another answer")
        promised((await self.table.get("/state"))["last_event"] == before, "repetitions had an effect")


def _still_so(wish: Wish, event: dict[str, Any] | None) -> bool:
    first = wish.answers[0]
    return event is not None and all(event["data"].get(name) == first.get(name) for name in ("event", "cards", "dice"))
