"""The client: one bounded pool, short timeouts, no retries of its own (a lost reply must not run a script twice)."""

from collections.abc import Sequence
from hashlib import sha1
from importlib.resources import files
from typing import Any

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError

MOST_CONNECTIONS = 16
WAIT_FOR_CONNECTION_S = 1.0
SOCKET_TIMEOUT_S = 0.9
"""Under half of a step's deadline: a reply that does not come can be asked for once more."""
CONNECT_TIMEOUT_S = 0.9


class StoreUnavailable(Exception):
    """Redis cannot be reached, or cannot serve now. Nothing is known to have changed."""


def connect(url: str) -> "Redis":
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=MOST_CONNECTIONS,
        timeout=WAIT_FOR_CONNECTION_S,
        socket_timeout=SOCKET_TIMEOUT_S,
        socket_connect_timeout=CONNECT_TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),
    )
    return Redis.from_pool(pool)


def connect_for_news(url: str) -> "Redis":
    """A client of its own for subscriptions: it waits for messages without a timeout."""
    return Redis.from_url(url, socket_connect_timeout=CONNECT_TIMEOUT_S, retry=Retry(NoBackoff(), 0))


class Script:
    """A script beside this file, called by its digest, and sent whole where the server does not know it (yet)."""

    def __init__(self, name: str) -> None:
        self.name = name.removesuffix(".lua")
        self._source = files(__package__).joinpath(name).read_text()
        self._digest = sha1(self._source.encode(), usedforsecurity=False).hexdigest()

    async def __call__(self, redis: Redis, keys: Sequence[str], arguments: Sequence[str | bytes | int]) -> Any:
        """Raises StoreUnavailable."""
        try:
            return await redis.evalsha(self._digest, len(keys), *keys, *arguments)
        except NoScriptError:
            return await guarded(redis.eval(self._source, len(keys), *keys, *arguments))
        except FAULTS as error:
            raise StoreUnavailable(str(error)) from error


# A failover can let a bare TypeError out of the client (redis-py 3546).
FAULTS = (RedisError, OSError, TimeoutError, TypeError)


async def guarded(call: Any) -> Any:
    """The answer of a call to Redis. Raises StoreUnavailable for everything that Redis or the way to it can refuse."""
    try:
        return await call
    except FAULTS as error:
        raise StoreUnavailable(str(error)) from error
