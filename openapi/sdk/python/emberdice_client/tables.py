"""The service, a table of it, and what happens there."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import httpx

from .api import burn2d6, service, sixd6, table
from .connection import LOST, STEPS, STREAM, Absence, Patience
from .contract import EVENTS, Event
from .models import EventOrder, OpenedSession, OpenRequest


class LogExpired(Exception):
    """The log no longer reaches back to where the listener was: read the table's state, then listen on from there."""

    def __init__(self, after: str, last_event: str) -> None:
        self.after, self.last_event = after, last_event
        super().__init__(
            f"What followed event {after} is partly forgotten. Read the table's state, then go on after event {last_event}."
        )


def _fields(message: bytes) -> dict[bytes, bytes]:
    """A comment has no name, and one space after the colon is no part of the value: proxies write what we do not."""
    parts = (line.partition(b":") for line in message.split(b"\n"))
    return {name: value.removeprefix(b" ") for name, _, value in parts if name}


def _known(said: Mapping[str, Any]) -> Iterator[Event]:
    """Nothing, where only a newer service knows the type."""
    if known := EVENTS.get(said["type"]):
        yield known.from_dict(said)


class Heard:
    """What a listener has heard. `after` is the last event, known to this client or not."""

    def __init__(self, after: str) -> None:
        self.after, self._unread = after, b""

    def asked(self) -> dict[str, str]:
        """Headers of the request that goes on from here."""
        self._unread = b""
        return {"Accept": STREAM, "Last-Event-ID": self.after}

    def events(self, chunk: bytes) -> Iterator[Event]:
        """The events that these bytes complete."""
        *messages, self._unread = (self._unread + chunk).split(b"\n\n")
        for message in messages:
            fields = _fields(message)
            if data := fields.get(b"data"):
                yield from self._heard(fields[b"id"].decode(), json.loads(data))

    def _heard(self, event: str, said: Mapping[str, Any]) -> Iterator[Event]:
        if said["type"] == "reset":
            raise LogExpired(self.after, said["last_event"])
        self.after = event
        yield from _known(said)


class Pages:
    """Where a reader of the log is, a page of it at a time. A page may be empty and not be the last."""

    def __init__(self, after: str | None, order: EventOrder, limit: int) -> None:
        self.asked: dict[str, str | int] = {"order": order, "limit": limit} | ({} if after is None else {"after": after})
        self.has_more = True

    def events(self, answer: httpx.Response) -> Iterator[Event]:
        page = answer.json()
        self.asked["after"], self.has_more = page["next"], page["has_more"]
        for said in page["events"]:
            yield from _known(said)


class Table(table.TableOperations):
    """One table, asked with one token. `opened` says what is said only once, and only to whoever opens it."""

    opened: OpenedSession

    def __init__(self, address: str, session: str, token: str, patience: Patience | None = None) -> None:
        super().__init__(address, patience, {"Authorization": f"Bearer {token}"})
        self.id, self._log = session, f"{STEPS}/{session}/events"

    def __repr__(self) -> str:
        return f"Table({self.address!r}, {self.id!r})"

    def seat(self, token: str) -> "Table":
        """The same table for another token, for example `table.opened.tokens.player`."""
        return Table(self.address, self.id, token, self.patience)

    def history(self, after: str | None = None, *, order: EventOrder = "asc", limit: int = 100) -> Iterator[Event]:
        """What the log has, or what followed that event; `desc`: newest first, or what was before it.

        Asks for `limit` at a time. Types that only a newer service knows are passed over. Raises Refused where the log no
        longer reaches back to that event.
        """
        pages = Pages(after, order, limit)
        while pages.has_more:
            yield from pages.events(self.http.get(self._log, params=pages.asked))

    def events(self, after: str | None = None) -> Iterator[Event]:
        """What happens from now, or after that event, across cut connections and restarts of the service.

        Raises LogExpired where the log does not reach back so far, Unreachable after `Patience.away_s`, and Refused where
        the token or the table is no more. Types that only a newer service knows are passed over.
        """
        heard, absence = Heard(self.read_state().last_event if after is None else after), Absence(self.patience)
        while True:
            lost: Exception | None = None
            try:
                with self.http.stream("GET", self._log, headers=heard.asked(), timeout=self._listening()) as said:
                    for chunk in said.iter_bytes():
                        absence.end()
                        yield from heard.events(chunk)
            except LOST as error:
                lost = error
            time.sleep(absence.pause_s(lost))


class AsyncTable(table.AsyncTableOperations):
    """As Table."""

    opened: OpenedSession

    def __init__(self, address: str, session: str, token: str, patience: Patience | None = None) -> None:
        super().__init__(address, patience, {"Authorization": f"Bearer {token}"})
        self.id, self._log = session, f"{STEPS}/{session}/events"

    def __repr__(self) -> str:
        return f"AsyncTable({self.address!r}, {self.id!r})"

    def seat(self, token: str) -> "AsyncTable":
        return AsyncTable(self.address, self.id, token, self.patience)

    async def history(
        self, after: str | None = None, *, order: EventOrder = "asc", limit: int = 100
    ) -> AsyncIterator[Event]:
        """As Table.history."""
        pages = Pages(after, order, limit)
        while pages.has_more:
            for event in pages.events(await self.http.get(self._log, params=pages.asked)):
                yield event

    async def events(self, after: str | None = None) -> AsyncIterator[Event]:
        """As Table.events."""
        heard, absence = Heard((await self.read_state()).last_event if after is None else after), Absence(self.patience)
        while True:
            lost: Exception | None = None
            try:
                async with self.http.stream("GET", self._log, headers=heard.asked(), timeout=self._listening()) as said:
                    async for chunk in said.aiter_bytes():
                        absence.end()
                        for event in heard.events(chunk):
                            yield event
            except LOST as error:
                lost = error
            await asyncio.sleep(absence.pause_s(lost))


class Emberdice(sixd6.Operations, burn2d6.Operations, service.Operations, table.Operations):
    """The service: what needs no table, and the way to one. `api_key`: where its operator asks for one."""

    def __init__(self, address: str, *, api_key: str | None = None, patience: Patience | None = None) -> None:
        super().__init__(address, patience, {"X-Api-Key": api_key} if api_key else {})

    def open_table(self, wanted: OpenRequest | None = None) -> Table:
        """Opens a table and sits down as its game master."""
        opened = self.open_session(body=wanted or OpenRequest())
        at = self.table(opened.id, opened.tokens.gm)
        at.opened = opened
        return at

    def table(self, session: str, token: str) -> Table:
        """A table that is open, by its `id`. Nothing is asked yet."""
        return Table(self.address, session, token, self.patience)


class AsyncEmberdice(sixd6.AsyncOperations, burn2d6.AsyncOperations, service.AsyncOperations, table.AsyncOperations):
    """As Emberdice."""

    def __init__(self, address: str, *, api_key: str | None = None, patience: Patience | None = None) -> None:
        super().__init__(address, patience, {"X-Api-Key": api_key} if api_key else {})

    async def open_table(self, wanted: OpenRequest | None = None) -> AsyncTable:
        opened = await self.open_session(body=wanted or OpenRequest())
        at = self.table(opened.id, opened.tokens.gm)
        at.opened = opened
        return at

    def table(self, session: str, token: str) -> AsyncTable:
        return AsyncTable(self.address, session, token, self.patience)
