"""What is done to the service and to its Redis while they are used."""

import asyncio
import os
import resource
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redis import Redis
from redis.backoff import NoBackoff
from redis.crc import key_slot
from redis.retry import Retry

from service.store import keys
from service.store.connection import Script
from tests.live import Proxy, Service, until
from tests.servers import ClusterServers, Sentinels, Server, running

WORKERS = 3
HOLD_S, POLL_S, START_S = 2.0, 0.02, 60.0
UNLIMITED = resource.RLIM_INFINITY
COMMIT = Script("commit.lua").digest.encode()


@dataclass(frozen=True)
class Trial:
    """One thing that goes wrong. `hurt` is told a table that is played at, and returns when all is, or will be, well."""

    name: str
    hurt: Callable[[str], Awaitable[Any]]
    back_within_s: float
    is_felt: bool = True
    """Some requests are refused, or their connections break."""
    may_lose: bool = False
    """A failover: the newest acknowledged steps may be undone together."""


@dataclass(frozen=True)
class Setting:
    """A running service, and what can be done to it."""

    service: Service
    trials: list[Trial]


def started(folder: Path, **environ: str) -> Service:
    folder.mkdir()
    return Service(folder, workers=WORKERS, EMBERDICE_ACCESS_LOG="false", **environ)


async def in_thread(do: Callable[[], Any]) -> Any:
    return await asyncio.to_thread(do)


# As `make run` starts it.


@asynccontextmanager
async def alone(folder: Path) -> AsyncIterator[Setting]:
    """The service with a store of its own."""
    service = started(folder / "alone")

    async def start() -> None:
        await in_thread(service.start)
        await in_thread(lambda: until(lambda: listening(service) == WORKERS, START_S))

    async def kill_workers(_: str) -> None:
        """Each once: the server ends for good where the same one dies twice within six seconds."""
        for pid in [pid for pid in service.workers() if "spawn_main" in command(pid)]:
            os.kill(pid, signal.SIGKILL)
            await asyncio.sleep(HOLD_S / 2)
            await in_thread(lambda: until(lambda: listening(service) == WORKERS, START_S))

    async def kill_service(_: str) -> None:
        await in_thread(service.kill)
        await start()

    async def kill_redis(_: str) -> None:
        for _ in range(2):
            os.kill(await in_thread(lambda: redis_pid(service)), signal.SIGKILL)
            await asyncio.sleep(HOLD_S / 2)

    async def fill_disk(_: str) -> None:
        """No file may grow any more. The server ends rather than say yes to what it cannot write, and tries again."""
        pid = await in_thread(lambda: redis_pid(service))
        for each in (pid, service.pid):
            resource.prlimit(each, resource.RLIMIT_FSIZE, (4_096, UNLIMITED))
        await asyncio.sleep(HOLD_S)
        resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (UNLIMITED, UNLIMITED))

    try:
        await start()
        yield Setting(
            service,
            [
                Trial("each worker is killed", kill_workers, 5),
                Trial("the service is killed and started", kill_service, 5),
                Trial("its Redis is killed, twice", kill_redis, 5),
                Trial("the disk is full (fsync always)", fill_disk, 10),
            ],
        )
    finally:
        service.kill()


def listening(service: Service) -> int:
    """Workers that take connections: each has a socket of its own on the port."""
    port = f":{int(service.address.rsplit(':', 1)[1]):04X}"
    sockets = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines())
    return sum(each[1].endswith(port) and each[3] == "0A" for each in sockets)


def command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


def redis_pid(service: Service) -> int:
    with Redis.from_url(service.redis_url, retry=Retry(NoBackoff(), 0)) as redis:
        return int(redis.info("server")["process_id"])


# One Redis, behind a bad line.


@asynccontextmanager
async def behind_a_line(folder: Path) -> AsyncIterator[Setting]:
    server = Server(folder / "redis", unixsocket=str(folder / "redis.sock"), appendfsync="always")
    proxy = Proxy(str(folder / "redis.sock"))
    with running(server):
        async with proxy.listening() as url:
            service = started(folder / "line", REDIS_URL=url)
            try:
                await in_thread(service.start)
                yield Setting(service, [*_of_the_line(proxy), *_of_the_server(server)])
            finally:
                service.kill()


def _of_the_line(proxy: Proxy) -> list[Trial]:
    async def lose_replies(_: str) -> None:
        for closes in (True, False):
            proxy.lose(COMMIT, 20, closes=closes)
            async with asyncio.timeout(20):
                while proxy.losses:  # noqa: ASYNC110  a test's own poll
                    await asyncio.sleep(POLL_S)
        proxy.mend()

    async def be_slow(_: str) -> None:
        proxy.delay_s = 0.15
        await asyncio.sleep(HOLD_S)
        proxy.mend()

    async def refuse(_: str) -> None:
        proxy.refuses = True
        await proxy.hang_up()
        await asyncio.sleep(HOLD_S)
        proxy.mend()

    return [
        Trial("40 replies are lost", lose_replies, 3, is_felt=False),
        Trial("Redis is slow (0.3 s)", be_slow, 3, is_felt=False),
        Trial("no connection to Redis", refuse, 3),
    ]


def _of_the_server(server: Server) -> list[Trial]:
    async def stop(_: str) -> None:
        server.signal(signal.SIGSTOP)
        await asyncio.sleep(HOLD_S + 1)
        server.signal(signal.SIGCONT)

    async def fill_memory(_: str) -> None:
        await config("maxmemory", 1, 0)

    async def refuse_writes(_: str) -> None:
        await ask("REPLICAOF", "127.0.0.1", "1")
        await asyncio.sleep(HOLD_S)
        await ask("REPLICAOF", "NO", "ONE")

    async def fill_disk(_: str) -> None:
        await ask("CONFIG", "SET", "appendfsync", "everysec")  # with "always" it would end
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (4_096, UNLIMITED))
        await asyncio.sleep(HOLD_S + 1)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (UNLIMITED, UNLIMITED))

    async def forget_scripts(_: str) -> None:
        for _ in range(5):
            await ask("SCRIPT", "FLUSH")
            await asyncio.sleep(HOLD_S / 5)

    async def restart(_: str) -> None:
        await in_thread(server.kill)
        await asyncio.sleep(HOLD_S / 2)
        await in_thread(server.start)

    async def config(name: str, bad: int, good: int) -> None:
        await ask("CONFIG", "SET", name, bad)
        await asyncio.sleep(HOLD_S)
        await ask("CONFIG", "SET", name, good)

    async def ask(*told: str | int) -> Any:
        return await in_thread(lambda: server.ask(*told))

    return [
        Trial("Redis stands still (SIGSTOP)", stop, 3),
        Trial("Redis is out of memory", fill_memory, 3),
        Trial("Redis is read-only", refuse_writes, 3),
        Trial("Redis forgets the scripts", forget_scripts, 3, is_felt=False),
        Trial("Redis is killed and started", restart, 3),
        Trial("the disk is full (fsync everysec)", fill_disk, 5),
    ]


# Redis as a service that is to survive a machine.


@asynccontextmanager
async def watched(folder: Path) -> AsyncIterator[Setting]:
    """A master and its replica under three Sentinels."""
    servers = Sentinels(folder / "sentinels", watchers=3)
    with servers.running():
        service = started(folder / "watched", REDIS_URL=servers.url)

        async def kill_master(_: str) -> None:
            old, new = servers.master(), servers.replica()
            old.kill()
            await in_thread(lambda: until(lambda: servers.master() is new, 20))
            old.start()

        async def stop_master(_: str) -> None:
            await in_thread(lambda: until(servers.is_whole, 40))
            old, new = servers.master(), servers.replica()
            servers.watchers[0].signal(signal.SIGSTOP)
            old.signal(signal.SIGSTOP)
            servers.watchers.append(servers.watchers.pop(0))
            await in_thread(lambda: until(lambda: servers.master() is new, 20))
            old.signal(signal.SIGCONT)
            servers.watchers[-1].signal(signal.SIGCONT)
            await in_thread(lambda: until(servers.is_whole, 40))

        try:
            await in_thread(service.start)
            yield Setting(
                service,
                [
                    Trial("Sentinels replace a killed master", kill_master, 5, may_lose=True),
                    Trial("… a master and a Sentinel that stand still", stop_master, 5, may_lose=True),
                ],
            )
        finally:
            service.kill()


@asynccontextmanager
async def clustered(folder: Path) -> AsyncIterator[Setting]:
    """Three masters with a replica each."""
    servers = ClusterServers(folder / "cluster", replicas=1)
    with servers.running():
        service = started(folder / "clustered", REDIS_URL=servers.url)

        async def kill_master(table: str) -> None:
            slot = key_slot(keys.session(table).encode())
            dead = servers.owner(slot)
            dead.kill()
            await in_thread(lambda: until(lambda: servers.owner(slot) is not dead, 20))
            dead.start()

        try:
            await in_thread(service.start)
            yield Setting(service, [Trial("a Cluster replaces a killed master", kill_master, 5, may_lose=True)])
        finally:
            service.kill()


SETTINGS = {"alone": alone, "line": behind_a_line, "sentinel": watched, "cluster": clustered}
