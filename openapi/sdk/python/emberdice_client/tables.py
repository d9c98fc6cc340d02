"""The service, a table of it, and what happens there."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from types import TracebackType
from typing import Any, Self

import httpx

from .api import burn2d6, service, sixd6, table
from .connection import STREAM, AsyncConnection, Connection, Patience
from .contract import EVENTS, Event
from .models import OpenedSession, OpenRequest


class LogExpired(Exception):
    """The log no longer reaches back to where the listener was: read the table's state, then listen on from there."""

    def __init__(self, after: str, last_event: str) -> None:
        self.after, self.last_event = after, last_event
        super().__init__(
            f"What followed event {after} is partly forgotten. Read the table's state, then go on after event {last_event}."
        )


class Heard:
    """Reads a stream line by line. `after` is the last event heard, known to this client or not."""

    def __init__(self, after: str) -> None:
        self.after, self._id, self._data = after, after, ""

    def request(self) -> dict[str, Any]:
        return {"method": "GET", "headers": {"Accept": STREAM, "Last-Event-ID": self.after}}

    def event(self, line: str) -> Event | None:
        """The event that this line completes."""
        name, _, value = line.partition(": ")
        if name == "id":
            self._id = value
        elif name == "data":
            self._data = value
        elif not line and self._data:
            said, self._data = json.loads(self._data), ""
            return self._complete(said)
        return None

    def _complete(self, said: Mapping[str, Any]) -> Event | None:
        if said["type"] == "reset":
            raise LogExpired(self.after, said["last_event"])
        self.after = self._id
        known = EVENTS.get(said["type"])
        return known.from_dict(said) if known else None


class Table(table.TableOperations):
    """One table, asked with one token. `opened` says what is said only once, and only to whoever opens it."""

    opened: OpenedSession

    def __init__(self, address: str, session: str, token: str, patience: Patience | None = None) -> None:
        super().__init__(address, token, patience)
        self.id = session

    def __repr__(self) -> str:
        return f"Table({self.address!r}, {self.id!r})"

    def seat(self, token: str) -> "Table":
        """The same table for another token, for example `table.opened.tokens.player`."""
        return Table(self.address, self.id, token, self.patience)

    def events(self, after: str | None = None) -> Iterator[Event]:
        """What happens from now, or after that event, across cut connections.

        Raises LogExpired where the log does not reach back so far. Types that only a newer service knows are passed over.
        """
        heard = Heard(self.read_state().last_event if after is None else after)
        failures = 0
        while True:
            try:
                with self.http.stream(url=f"/v1/sessions/{self.id}/events", **heard.request()) as stream:
                    for line in stream.iter_lines():
                        failures = 0
                        if event := heard.event(line):
                            yield event
            except httpx.TransportError:
                failures += 1
                if failures > self.patience.repeats:
                    raise


class AsyncTable(table.AsyncTableOperations):
    """As Table."""

    opened: OpenedSession

    def __init__(self, address: str, session: str, token: str, patience: Patience | None = None) -> None:
        super().__init__(address, token, patience)
        self.id = session

    def __repr__(self) -> str:
        return f"AsyncTable({self.address!r}, {self.id!r})"

    def seat(self, token: str) -> "AsyncTable":
        return AsyncTable(self.address, self.id, token, self.patience)

    async def events(self, after: str | None = None) -> AsyncIterator[Event]:
        """As Table.events."""
        heard = Heard((await self.read_state()).last_event if after is None else after)
        failures = 0
        while True:
            try:
                async with self.http.stream(url=f"/v1/sessions/{self.id}/events", **heard.request()) as stream:
                    async for line in stream.aiter_lines():
                        failures = 0
                        if event := heard.event(line):
                            yield event
            except httpx.TransportError:
                failures += 1
                if failures > self.patience.repeats:
                    raise


class Emberdice(sixd6.Operations, burn2d6.Operations, service.Operations, table.Operations):
    """The service: what needs no table, and the way to one."""

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


class AsyncEmberdice(
    sixd6.AsyncOperations, burn2d6.AsyncOperations, service.AsyncOperations, table.AsyncOperations
):
    """As Emberdice."""

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
