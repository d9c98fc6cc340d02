"""News of the sessions that somebody on this worker follows: one connection to Redis, however many follow."""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from redis.asyncio import Redis

from service.store import keys
from service.store.connection import StoreUnavailable
from service.store.faults import FAULTS
from service.store.log import Entry, Expired, Log, Page

KEEP_ALIVE_S = 15.0
"""A follower hears at least so often that it is still connected."""
RECONNECT_S = 0.2
QUIET_S = 4.0
"""A line on which nothing came for so long is asked whether it is still there; after as long again it is given up."""
RECENT = 200
"""Entries that a channel keeps for its followers."""
GONE = b"gone"

log = logging.getLogger("emberdice")


class Gone(Exception):
    """The session was deleted."""


@dataclass
class Channel:
    """One session that is followed. `recent` holds its newest entries, each once for all followers."""

    session: str
    last: int
    followers: int = 0
    recent: deque[Entry] = field(default_factory=lambda: deque(maxlen=RECENT))
    news: asyncio.Event = field(default_factory=asyncio.Event)
    went_back: list[int] = field(default_factory=list)
    """Each time that its newest entries were found undone, the last that was not."""
    heard: bool = False
    """Its news are subscribed to."""
    gone: bool = False

    def wake(self) -> None:
        self.news.set()
        self.news = asyncio.Event()

    def after(self, cursor: int) -> list[Entry] | None:
        """What the channel knows after the cursor; None where it does not reach back so far."""
        if cursor >= self.last:
            return []
        if not self.recent or self.recent[0].number > cursor + 1:
            return None
        return [entry for entry in self.recent if entry.number > cursor]


class Live:
    def __init__(self, events: Log, connect: Callable[[], Redis]) -> None:
        self.log, self._connect = events, connect
        self._channels: dict[str, Channel] = {}
        self._redis: Redis | None = None
        self._pubsub: Any = None
        self._subscribing = asyncio.Lock()
        """Two at once would each get a connection."""
        self._reader: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    @property
    def followers(self) -> int:
        return sum(channel.followers for channel in self._channels.values())

    def end(self) -> None:
        """Ends every stream: the service is about to stop."""
        self._closing.set()
        for channel in self._channels.values():
            channel.wake()

    async def close(self) -> None:
        """Ends every stream, and the connection."""
        self.end()
        if self._reader:
            self._reader.cancel()
        if self._redis:
            await self._pubsub.aclose()
            await self._redis.aclose()

    async def follow(self, session: str, cursor: int) -> AsyncIterator[list[Entry]]:
        """Entries after the cursor as they come; an empty list as a sign of life. Raises Expired, Gone, StoreUnavailable.

        Ends when the service stops.
        """
        if self._closing.is_set():
            return
        channel = self._channels.setdefault(session, Channel(session, cursor))
        channel.followers += 1
        known = len(channel.went_back)
        try:
            await self._listen(channel)
            await self._catch_up(channel)
            cursor = min(cursor, channel.last)
            while not (self._closing.is_set() or channel.gone):
                news = channel.news
                cursor, known = min(cursor, *channel.went_back[known:], cursor), len(channel.went_back)
                entries = channel.after(cursor)
                if entries is None:
                    page = await self.log.after(session, str(cursor), RECENT)
                    entries = page.entries
                if entries:
                    cursor = entries[-1].number
                    yield entries
                    continue
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(KEEP_ALIVE_S):  # asyncio.wait_for can lose who cancels, before Python 3.12
                        await news.wait()
                if news is channel.news:
                    yield []
            if channel.gone:
                raise Gone
        finally:
            await self._leave(channel)

    async def _leave(self, channel: Channel) -> None:
        channel.followers -= 1
        if not channel.followers and self._channels.get(channel.session) is channel:
            del self._channels[channel.session]
            async with self._subscribing:
                if channel.session not in self._channels and not self._closing.is_set():
                    with contextlib.suppress(*FAULTS):
                        await self._pubsub.unsubscribe(keys.log(channel.session))

    async def _listen(self, channel: Channel) -> None:
        if self._redis is None:
            self._redis = self._connect()
            self._pubsub = self._redis.pubsub()
        async with self._subscribing:
            if not channel.heard:
                try:
                    await self._pubsub.subscribe(keys.log(channel.session))
                except FAULTS as error:
                    raise StoreUnavailable(str(error)) from error
                channel.heard = True
        if self._reader is None or self._reader.done():
            self._reader = asyncio.create_task(self._read())

    async def _catch_up(self, channel: Channel) -> None:
        """Take in what the log has and the channel has not."""
        has_more = True
        while has_more:
            try:
                page = await self.log.after(channel.session, str(channel.last), RECENT)
            except Expired:
                channel.recent.clear()
                page = Page((await self.log.newest(channel.session, RECENT)).entries, has_more=False)
            for entry in page.entries:
                if entry.number > channel.last:
                    channel.recent.append(entry)
                    channel.last = entry.number
            has_more = page.has_more
        channel.wake()

    async def _begin_again(self, channel: Channel) -> None:
        """A failover may have undone the newest entries: back to the last that is still so, then take in the others."""
        there = (await self.log.newest(channel.session, RECENT if channel.recent else 1)).entries
        oldest, newest = (there[0].number, there[-1].number) if there else (0, 0)
        before = channel.last
        if channel.recent and oldest <= channel.last:
            while channel.recent and channel.recent[-1] not in there:
                channel.last = channel.recent.pop().number - 1
        channel.last = min(channel.last, newest)
        if channel.last < before:
            channel.went_back.append(channel.last)
        await self._catch_up(channel)

    async def _read(self) -> None:
        """The one reader of this worker. Whatever fails, it reads on: the streams of all sessions depend on it."""
        behind = asked = False
        while not self._closing.is_set():
            try:
                for channel in list(self._channels.values()) if behind else ():
                    await self._begin_again(channel)
                behind = False
                message = await self._pubsub.get_message(timeout=QUIET_S)
                asked = await self._ask(asked) if message is None else False
                if message is not None and message["type"] != "pong":
                    await self._hear(message)
            except Exception as error:
                log.warning("event stream: %s", error)
                behind, asked = True, False
                await asyncio.sleep(RECONNECT_S)

    async def _ask(self, asked_before: bool) -> bool:
        """A Redis that was stopped, or cut off, says nothing, while another may have taken its place."""
        if asked_before:
            await self._pubsub.connection.disconnect()
            raise TimeoutError("Redis says nothing")
        await self._pubsub.ping()
        return True

    async def _hear(self, message: dict[str, Any]) -> None:
        """A subscription that begins, perhaps again after a broken connection, may have missed something."""
        session = message["channel"].decode().split("{")[1].split("}")[0]
        channel = self._channels.get(session)
        if channel is None:
            return
        if message["type"] == "message" and message["data"] == GONE:
            channel.gone = True
            channel.wake()
        elif message["type"] == "subscribe":
            await self._begin_again(channel)
        elif message["type"] == "message":
            await self._catch_up(channel)
