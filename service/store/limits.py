"""Counts and limits over the whole instance. They stand outside the step, in keys of their own."""

import time
from collections.abc import Callable

from redis.asyncio import Redis

from service.addresses import caller, is_loopback
from service.store import keys
from service.store.connection import StoreUnavailable, guarded

MINUTE_MS = 60_000
TOLD_AGAIN_MS = 6 * 3_600_000
MOST_TOLD = 10_000


class TooManyRequests(Exception):
    """`seconds` until it is worth trying again."""

    def __init__(self, seconds: int) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class Limits:
    """Per minute and caller; a limit of 0 is none. Loopback is exempt, and all unknown addresses are one caller."""

    def __init__(self, redis: Redis, *, creations: int, failures: int, sessions: int) -> None:
        self._redis = redis
        self._creations, self._failures, self._sessions = creations, failures, sessions
        self._told: dict[str, int] = {}

    async def count_creation(self, address: str) -> None:
        """Raises TooManyRequests."""
        await self._count(keys.creations, self._creations, address)

    async def count_failure(self, address: str) -> None:
        """A request without a token that opens anything. Raises TooManyRequests."""
        await self._count(keys.failures, self._failures, address)

    async def _count(self, named: Callable[[str, int], str], most: int, address: str) -> None:
        if not most or is_loopback(address):
            return
        now_ms = int(time.time() * 1_000)
        key = named(caller(address), now_ms // MINUTE_MS)
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.incr(key)
        pipeline.pexpire(key, 2 * MINUTE_MS)
        count, _ = await guarded(pipeline.execute())
        if count > most:
            raise TooManyRequests(-(-(MINUTE_MS - now_ms % MINUTE_MS) // 1_000))

    async def count_session(self, session: str, ends_ms: int, now_ms: int) -> None:
        """Raises TooManyRequests where the instance holds as many sessions as it may."""
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.zremrangebyscore(keys.SESSIONS, 0, now_ms)
        pipeline.zadd(keys.SESSIONS, {session: ends_ms})  # before it is counted: others may open some at the same time
        pipeline.zcard(keys.SESSIONS)
        _, _, count = await guarded(pipeline.execute())
        if self._sessions and count > self._sessions:
            await self.release(session)
            raise TooManyRequests(3_600)

    async def used(self, session: str, ends_ms: int) -> None:
        """Keeps a session in the count that somebody uses; told to Redis a few times a day, not with each step."""
        if self._told.get(session, 0) > ends_ms - TOLD_AGAIN_MS:
            return
        if len(self._told) >= MOST_TOLD:
            self._told.clear()
        self._told[session] = ends_ms
        try:
            await self.prolong(session, ends_ms)
        except StoreUnavailable:  # this count stands elsewhere than the session in a Cluster: the next use tells it
            del self._told[session]

    async def prolong(self, session: str, ends_ms: int) -> None:
        await guarded(self._redis.zadd(keys.SESSIONS, {session: ends_ms}))

    async def release(self, session: str) -> None:
        await guarded(self._redis.zrem(keys.SESSIONS, session))
