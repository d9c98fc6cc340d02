"""The log: one stream a session, written by the commit alone, read here."""

from typing import Annotated, Any

import msgspec
from msgspec import Struct
from redis.asyncio import Redis

from service.store import keys
from service.store.connection import guarded
from service.table.records import Event

EventId = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,15}(?![\s\S])")]

_decode = msgspec.json.Decoder(Event).decode


class Entry(Struct, frozen=True):
    id: str
    event: Event
    before: bytes
    """Values of the fields that the step changed, before it: JSON."""

    @property
    def number(self) -> int:
        """Version of the session that the step made."""
        return int(self.id)


class Expired(Exception):
    """The log no longer reaches back to the cursor."""


class Page(Struct, frozen=True):
    entries: list[Entry]
    has_more: bool


class Log:
    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def after(self, session: str, cursor: str | None, limit: int) -> Page:
        """Oldest first. Raises Expired where entries between the cursor and the oldest one kept are gone."""
        first = f"({int(cursor)}-0" if cursor is not None else "-"
        if cursor is not None:
            await self._refuse_gap(session, int(cursor))
        found = await guarded(self._redis.xrange(keys.log(session), first, "+", limit + 1))
        return _page(found, limit)

    async def before(self, session: str, cursor: str | None, limit: int) -> Page:
        """Newest first."""
        last = f"({max(int(cursor), 1)}-0" if cursor is not None else "+"  # nothing is before 0-0: no such range
        return _page(await guarded(self._redis.xrevrange(keys.log(session), last, "-", limit + 1)), limit)

    async def newest(self, session: str, limit: int) -> Page:
        """The newest, oldest first."""
        page = await self.before(session, None, limit)
        return Page(page.entries[::-1], page.has_more)

    async def one(self, session: str, identifier: str) -> Entry | None:
        found = await guarded(self._redis.xrange(keys.log(session), f"{identifier}-0", f"{identifier}-0"))
        return _entry(found[0]) if found else None

    async def _refuse_gap(self, session: str, cursor: int) -> None:
        """Each step but the first, which opens the session, has one entry: a gap means that entries are gone."""
        oldest = await guarded(self._redis.xrange(keys.log(session), "-", "+", 1))
        if oldest and _entry(oldest[0]).number > max(cursor, 1) + 1:
            raise Expired


def _page(found: list[Any], limit: int) -> Page:
    return Page([_entry(each) for each in found[:limit]], len(found) > limit)


def _entry(found: Any) -> Entry:
    identifier, told = found
    return Entry(identifier.decode().split("-")[0], _decode(told[b"event"]), told[b"before"])
