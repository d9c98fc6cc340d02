"""The client: a bounded pool a server, short timeouts, no retries of its own (a lost reply must not run a script twice)."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import Any

import hiredis
from redis.asyncio import BlockingConnectionPool, Connection, ConnectionPool, Redis, Sentinel
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import (
    MasterNotFoundError,
    SentinelConnectionPool,
    SentinelManagedConnection,
    SentinelManagedSSLConnection,
)
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError

from service.store.address import Address, Kind, Node, read
from service.store.cluster import AnyNodeConnection, AnyNodeSSLConnection, Cluster
from service.store.faults import FAULTS

MOST_CONNECTIONS = 16
WAIT_FOR_CONNECTION_S = 1.0
SOCKET_TIMEOUT_S = 0.9
"""Under half of a step's deadline: a reply that does not come can be asked for once more."""
CONNECT_TIMEOUT_S = 0.9
ASK_AGAIN_S = 0.5
SENTINEL_TIMEOUT_S = 0.3
"""They are asked one after the other, and one of them may be silent."""


class StoreUnavailable(Exception):
    """Redis cannot be reached, or cannot serve now. Nothing is known to have changed."""


class WrongAddress(ValueError):
    """REDIS_URL asks for what no Redis can give, in words."""


class Watchers(Sentinel):
    """Sentinels that are asked all at once; who was away for a while still calls an old master so, of an older epoch."""

    def __init__(self, sentinels: list[Redis]) -> None:
        super().__init__([])  # type: ignore[no-untyped-call]
        self.sentinels = sentinels
        self._epoch = 0

    async def discover_master(self, service_name: str) -> tuple[str, int]:
        told = [each[service_name] for each in await self._masters() if service_name in each]
        newest = max(told, key=lambda each: each["config-epoch"], default=None)
        if newest is None or newest["config-epoch"] < self._epoch or not self.check_master_state(newest, service_name):
            raise MasterNotFoundError(f"no master {service_name} is known to the Sentinels now")
        self._epoch = newest["config-epoch"]
        return newest["ip"], newest["port"]

    async def _masters(self) -> list[dict[str, Any]]:
        """What most of them say; of fewer, where no more answer."""
        asked = [asyncio.ensure_future(each.sentinel_masters()) for each in self.sentinels]
        told: list[Any] = []
        for answer in asyncio.as_completed(asked):
            with suppress(*FAULTS):
                told.append(await answer)
            if len(told) > len(asked) // 2:
                break
        for each in asked:
            each.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        return told


class SentinelPool(SentinelConnectionPool, BlockingConnectionPool):
    """Connections to whichever server the Sentinels call the master now.

    A master that is replaced while it is alive takes writes for some seconds more, which are lost: a pool in use asks again
    and again who is the master, not only for a new connection.
    """

    def __init__(self, *told: Any, **options: Any) -> None:
        super().__init__(*told, **options)  # type: ignore[no-untyped-call]
        self._asked_s = 0.0
        self._asking: asyncio.Task[None] | None = None

    async def get_connection(self, *told: Any, **options: Any) -> Any:
        now_s = time.monotonic()
        if self._asked_s < now_s - ASK_AGAIN_S:
            self._asked_s, self._asking = now_s, asyncio.create_task(self._ask())
        return await super().get_connection(*told, **options)  # type: ignore[no-untyped-call]

    async def _ask(self) -> None:
        before = self.master_address
        with suppress(*FAULTS):
            if await self.get_master_address() != before and before:  # type: ignore[no-untyped-call]
                await self.update_active_connections_for_reconnect()  # type: ignore[no-untyped-call]

    async def aclose(self) -> None:
        if self._asking:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)
        await super().aclose()
        await self.sentinel_manager.aclose()


def connect(url: str) -> Redis:
    """Nothing is sent before the first call."""
    address = read(url)
    if address.kind is Kind.CLUSTER:
        return Cluster(address.nodes, lambda node: Redis.from_pool(_pool(address, node)))
    return Redis.from_pool(_sentinel_pool(address) if address.kind is Kind.SENTINEL else _pool(address))


def connect_for_news(url: str) -> Redis:
    """A client of its own for subscriptions: its one connection is kept, and made again to who can be reached then."""
    address = read(url)
    if address.kind is Kind.SENTINEL:
        return Redis.from_pool(_sentinel_pool(address))
    told = _options(address)
    if address.kind is Kind.CLUSTER:
        kind = AnyNodeSSLConnection if address.tls else AnyNodeConnection
        told |= {"connection_class": packing(kind), "nodes": address.nodes}
    return Redis.from_pool(ConnectionPool(**told))


def check(url: str) -> None:
    """Raises WrongAddress where it can never lead to a Redis, whatever runs there."""
    try:
        address = read(url)
        for told in (_options(address), address.asking or {}):
            ConnectionPool(**told).make_connection()  # type: ignore[no-untyped-call]
    except (ValueError, TypeError, RedisError) as error:
        raise WrongAddress(str(error).rpartition("__init__() ")[2]) from None


def _options(address: Address) -> dict[str, Any]:
    patience = {"socket_timeout": SOCKET_TIMEOUT_S, "socket_connect_timeout": CONNECT_TIMEOUT_S}
    told = {**patience, "retry": Retry(NoBackoff(), 0), **address.options}
    return {**told, "connection_class": packing(told.get("connection_class", Connection))}


@cache
def packing(kind: type[Any]) -> type[Any]:
    """Connections that write their commands with hiredis: redis-py only reads with it, and a step has thirty arguments."""

    class Packing(kind):  # type: ignore[misc]
        def pack_command(self, *arguments: Any) -> list[bytes]:
            if b" " in arguments[0] if isinstance(arguments[0], bytes) else " " in arguments[0]:  # as in CONFIG GET
                return super().pack_command(*arguments)  # type: ignore[no-any-return]
            return [hiredis.pack_command(arguments)]

    return Packing


def _pool(address: Address, node: Node | None = None) -> BlockingConnectionPool:
    told = _options(address) | (node._asdict() if node else {})
    return BlockingConnectionPool(max_connections=MOST_CONNECTIONS, timeout=WAIT_FOR_CONNECTION_S, **told)


def _sentinel_pool(address: Address) -> ConnectionPool:
    kind = SentinelManagedSSLConnection if address.tls else SentinelManagedConnection
    told = _options(address) | {"connection_class": packing(kind), "max_connections": MOST_CONNECTIONS}
    return SentinelPool(address.master, _sentinel(address), timeout=WAIT_FOR_CONNECTION_S, **told)


def _sentinel(address: Address) -> Watchers:
    patience = {"socket_timeout": SENTINEL_TIMEOUT_S, "socket_connect_timeout": SENTINEL_TIMEOUT_S}
    told = {**patience, **(address.asking or {}), "retry": Retry(NoBackoff(), 0)}
    return Watchers([Redis.from_pool(ConnectionPool(**told, **node._asdict())) for node in address.nodes])


class Script:
    """A script beside this file with what both share, called by its digest, and sent whole to a server that knows it not."""

    def __init__(self, name: str) -> None:
        self.name = name.removesuffix(".lua")
        here = files(__package__)
        shebang, source = here.joinpath(name).read_text().split("\n", 1)
        self._source = f"{shebang}\n{here.joinpath('shared.lua').read_text()}{source}"
        self.digest = sha1(self._source.encode(), usedforsecurity=False).hexdigest()

    async def __call__(self, redis: Redis, keys: Sequence[str], arguments: Sequence[str | bytes | int]) -> Any:
        """Raises StoreUnavailable."""
        try:
            return await redis.evalsha(self.digest, len(keys), *keys, *arguments)
        except NoScriptError:
            return await guarded(redis.eval(self._source, len(keys), *keys, *arguments))
        except FAULTS as error:
            raise StoreUnavailable(str(error)) from error


async def guarded(call: Any) -> Any:
    """The answer of a call to Redis. Raises StoreUnavailable for everything that Redis or the way to it can refuse."""
    try:
        return await call
    except FAULTS as error:
        raise StoreUnavailable(str(error)) from error


async def time_at(redis: Redis, key: str | None) -> int:
    """In ms, by the clock of the server that has the key: in a Cluster each has its own. Raises StoreUnavailable."""
    there = redis.at(key, lambda client: client.time()) if key and isinstance(redis, Cluster) else redis.time()
    seconds, microseconds = await guarded(there)
    return int(seconds) * 1_000 + int(microseconds) // 1_000
