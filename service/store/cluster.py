"""A Redis Cluster as one client: each call goes to the master that has the slot of its key.

Ours and not the client library's, which for every failed call throws away what it knows of the cluster and lets the calls
to all nodes wait until it has asked for the map, and for the table of commands, again: one node that is away would stop the
tables of all others. Here they are not touched, and the map is learnt beside.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.asyncio.connection import Connection, SSLConnection
from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot
from redis.exceptions import AskError, MovedError
from redis.exceptions import ConnectionError as NoConnection

from service.store.address import Node
from service.store.faults import FAULTS

MOST_REDIRECTIONS = 4
LEARN_AGAIN_S = 0.2
"""The map is asked for so often at most."""

T = TypeVar("T")


class Cluster(Redis):
    """Knows the nodes that it is given, and from them the others. Connects with the first call."""

    def __init__(self, seeds: Sequence[Node], client_of: Callable[[Node], Redis]) -> None:
        self._seeds, self._client_of = tuple(seeds), client_of
        self._clients = {node: client_of(node) for node in self._seeds}
        self._masters: list[Node | None] = []
        self._nodes = self._seeds
        self._learning: asyncio.Task[None] | None = None
        super().__init__(connection_pool=self._clients[self._seeds[0]].connection_pool)

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        def call(client: Any) -> Any:
            return client.execute_command(*args, **options)

        if len(args) == 1:
            return await self._anywhere(call)
        return await self.at(args[3] if args[0] in ("EVAL", "EVALSHA") else args[1], call)

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> "Batch":
        return Batch(self, transaction)

    async def at(self, key: str | bytes, call: Callable[[Redis], Awaitable[T]]) -> T:
        """Made at the master that has the key, wherever that has gone."""
        slot = key_slot(key.encode() if isinstance(key, str) else key)
        node, asked = await self._master(slot), False
        for _ in range(MOST_REDIRECTIONS):
            client = self._client(node)
            try:
                return await (_asking(client, call) if asked else call(client))
            except AskError as redirected:  # of which MovedError is one
                node = Node(redirected.host or node.host, redirected.port)
                asked = not isinstance(redirected, MovedError)
                if not asked:
                    self._masters[slot] = node
                    self._learn_beside()
            except FAULTS:
                self._learn_beside()
                raise
        raise NoConnection("the cluster's nodes send a call to each other")

    async def _anywhere(self, call: Callable[[Redis], Awaitable[T]]) -> T:
        nodes = [*dict.fromkeys(filter(None, self._masters))] or [*self._seeds]
        random.shuffle(nodes)
        for node in nodes[:-1]:
            try:
                return await call(self._client(node))
            except FAULTS:
                self._learn_beside()
        return await call(self._client(nodes[-1]))

    def _client(self, node: Node) -> Any:
        if node not in self._clients:
            self._clients[node] = self._client_of(node)
        return self._clients[node]

    # The map: which master has which slot.

    async def _master(self, slot: int) -> Node:
        if not self._masters:
            await asyncio.shield(self._learn_beside())  # who asks for it may be gone, others wait for it too
        if not self._masters or (node := self._masters[slot]) is None:
            self._learn_beside()
            raise NoConnection(f"no node of the cluster is known to have slot {slot}")
        return node

    def _learn_beside(self) -> "asyncio.Task[None]":
        if self._learning is None or self._learning.done():
            self._learning = asyncio.create_task(self._learn())
        return self._learning

    async def _learn(self) -> None:
        nodes = [*dict.fromkeys((*self._nodes, *self._seeds))]
        random.shuffle(nodes)
        for node in nodes:
            try:
                told = await self._client(node).execute_command("CLUSTER", "SLOTS")
            except FAULTS:
                continue
            await self._take_in(told, node)
            break
        if self._masters:
            await asyncio.sleep(LEARN_AGAIN_S)

    async def _take_in(self, told: Any, teller: Node) -> None:
        masters: list[Node | None] = [None] * REDIS_CLUSTER_HASH_SLOTS
        nodes = []
        for first, last, *serving in told:
            here = [_node(each, teller) for each in serving]
            masters[first : last + 1] = [here[0]] * (last + 1 - first)
            nodes += here
        self._masters, self._nodes = masters, tuple(dict.fromkeys(nodes))
        for node in self._clients.keys() - {*self._nodes, *self._seeds}:
            await self._clients.pop(node).aclose()

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        if self._learning:
            self._learning.cancel()
            await asyncio.gather(self._learning, return_exceptions=True)
        await asyncio.gather(*(client.aclose() for client in self._clients.values()))


class Batch(Pipeline):
    """Commands on keys of one slot, which the first of them names."""

    def __init__(self, cluster: Cluster, transaction: bool) -> None:
        super().__init__(cluster.connection_pool, cluster.response_callbacks, transaction, None)
        self._cluster = cluster

    async def execute(self, raise_on_error: bool = True) -> list[Any]:
        commands = [*self.command_stack]

        async def call(client: Redis) -> list[Any]:
            self.command_stack, self.connection_pool = [*commands], client.connection_pool
            return await Pipeline.execute(self, raise_on_error)

        return await self._cluster.at(commands[0][0][1], call)


async def _asking(client: Any, call: Callable[[Redis], Awaitable[T]]) -> T:
    """A call about a slot that is on its way to this node."""
    async with client.client() as one_connection:
        await one_connection.execute_command("ASKING")
        return await call(one_connection)


def _node(told: Any, teller: Node) -> Node:
    """A node that does not know its own name is known by the one that it was asked by."""
    host = told[0].decode() if isinstance(told[0], bytes) else told[0]
    return Node(teller.host if host in (None, "", "?") else host, int(told[1]))


class AnyNodeConnection(Connection):
    """To any node that can be reached: each of them hears what is published at one."""

    def __init__(self, *, nodes: Sequence[Node], **told: Any) -> None:
        self._nodes = nodes
        super().__init__(**told)

    async def _connect(self) -> None:
        *others, last = random.sample(self._nodes, len(self._nodes))
        for self.host, self.port in others:
            try:
                await super()._connect()  # type: ignore[no-untyped-call]
                return
            except FAULTS:
                continue
        self.host, self.port = last
        await super()._connect()  # type: ignore[no-untyped-call]


class AnyNodeSSLConnection(AnyNodeConnection, SSLConnection):
    pass
