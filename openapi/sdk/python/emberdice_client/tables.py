"""The service, a table of it, and what happens there."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from types import TracebackType
from typing import Any, Self

from .api import burn2d6, service, sixd6, table
from .connection import LOST, STEPS, STREAM, Absence, Patience
from .contract import EVENTS, Event
from .models import OpenedSession, OpenRequest


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
                yield from self._known(fields[b"id"].decode(), json.loads(data))

    def _known(self, event: str, said: Mapping[str, Any]) -> Iterator[Event]:
        if said["type"] == "reset":
            raise LogExpired(self.after, said["last_event"])
        self.after = event
        if known := EVENTS.get(said["type"]):
            yield known.from_dict(said)


class Table(table.TableOperations):
    """One table, asked with one token. `opened` says what is said only once, and only to whoever opens it."""

    opened: OpenedSession

    def __init__(self, address: str, session: str, token: str, patience: Patience | None = None) -> None:
        super().__init__(address, patience, {"Authorization": f"Bearer {token}"})
        self.id = session

    def __repr__(self) -> str:
        return f"Table({self.address!r}, {self.id!r})"

    def seat(self, token: str) -> "Table":
        """The same table for another token, for example `table.opened.tokens.player`."""
        return Table(self.address, self.id, token, self.patience)

    def events(self, after: str | None = None) -> Iterator[Event]:
        """What happens from now, or after that event, across cut connections and restarts of the service.

        Raises LogExpired where the log does not reach back so far, Unreachable after `Patience.away_s`, and Refused where
        the token or the table is no more. Types that only a newer service knows are passed over.
        """
        heard, absence = Heard(self.read_state().last_event if after is None else after), Absence(self.patience)
        while True:
            lost: Exception | None = None
            try:
                with self.http.stream("GET", f"{STEPS}/{self.id}/events", headers=heard.asked()) as said:
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
        self.id = session

    def __repr__(self) -> str:
        return f"AsyncTable({self.address!r}, {self.id!r})"

    def seat(self, token: str) -> "AsyncTable":
        return AsyncTable(self.address, self.id, token, self.patience)

    async def events(self, after: str | None = None) -> AsyncIterator[Event]:
        """As Table.events."""
        heard, absence = Heard((await self.read_state()).last_event if after is None else after), Absence(self.patience)
        while True:
            lost: Exception | None = None
            try:
                async with self.http.stream("GET", f"{STEPS}/{self.id}/events", headers=heard.asked()) as said:
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
        return Table(self.address, session, token, self.patience)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


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

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
