"""Real servers as an operator would run them: one alone, a replicated pair that Sentinels watch, a Cluster."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from service.store.embedded import find_server
from tests.live import until

HOST = "127.0.0.1"
MASTER = "dice"
SLOTS = 16_384


def free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        return [held.enter_context(socket.create_server((HOST, 0))).getsockname()[1] for _ in range(count)]


class Server:
    """One server process, on a port that it keeps over its restarts."""

    def __init__(self, folder: Path, *, before: tuple[str, ...] = (), port: int = 0, **options: str | int) -> None:
        self.folder, self.port = folder, port or free_ports(1)[0]
        folder.mkdir(parents=True, exist_ok=True)
        told = {"port": self.port, "bind": HOST, "dir": str(folder), "save": "", "appendonly": "yes", **options}
        self._command = [find_server()[0], *before]
        if not before:
            self._command += [word for name, value in told.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        self.limits: tuple[int, tuple[int, int]] | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def url(self) -> str:
        return f"redis://{self.name}"

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    def start(self) -> Self:
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdout=log, stderr=log, start_new_session=True, restore_signals=False
            )  # a file that may not grow is an error then, not the end
        until(self.answers)
        return self

    def answers(self) -> bool:
        with suppress(RedisError), self.client() as client:
            return bool(client.ping())
        return False

    def client(self, **told: Any) -> Redis:
        return Redis(port=self.port, socket_timeout=5, retry=Retry(NoBackoff(), 0), decode_responses=True, **told)

    def ask(self, *command: str | int) -> Any:
        with self.client() as client:
            return client.execute_command(*command)

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        """Also where it stands still."""
        if self._process and self._process.poll() is None:
            self.signal(signal.SIGKILL)
            self._process.wait(10)


@contextmanager
def running(*servers: Server) -> Iterator[None]:
    try:
        for server in servers:
            server.start()
        yield
    finally:
        for server in servers:
            server.kill()


class Sentinels:
    """A master, its replica, and those who watch them."""

    def __init__(self, folder: Path, *, watchers: int = 1, down_after_ms: int = 1_000, **options: str | int) -> None:
        ports = free_ports(2 + watchers)
        common = {"repl_diskless_sync_delay": 0, "appendfsync": "no", **options}
        self.pair = [
            Server(folder / "one", port=ports[0], **common),
            Server(folder / "two", port=ports[1], replicaof=f"{HOST} {ports[0]}", **common),
        ]
        self.watchers = [self._watcher(folder / f"watcher{port}", port, down_after_ms, watchers) for port in ports[2:]]

    def _watcher(self, folder: Path, port: int, down_after_ms: int, watchers: int) -> Server:
        folder.mkdir(parents=True)
        file = folder / "sentinel.conf"
        lines = (
            f"port {port}",
            f"bind {HOST}",
            f"dir {folder}",
            f"sentinel monitor {MASTER} {HOST} {self.pair[0].port} {watchers // 2 + 1}",
            f"sentinel down-after-milliseconds {MASTER} {down_after_ms}",
            f"sentinel failover-timeout {MASTER} 4000",
        )
        file.write_text("\n".join(lines))
        return Server(folder, before=(str(file), "--sentinel"), port=port)

    @property
    def url(self) -> str:
        return f"redis+sentinel://{','.join(each.name for each in self.watchers)}/{MASTER}/0"

    def master(self) -> Server:
        """The one that the first watcher who answers calls so."""
        for watcher in self.watchers:
            with suppress(RedisError):
                _, port = watcher.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER)
                return next(each for each in self.pair if each.port == int(port))
        raise AssertionError("no watcher answers")

    def replica(self) -> Server:
        master = self.master()
        return next(each for each in self.pair if each is not master)

    def is_whole(self) -> bool:
        with suppress(RedisError, AssertionError):
            linked = self.replica().ask("INFO", "replication").get("master_link_status") == "up"
            masters = [watcher.ask("SENTINEL MASTER", MASTER) for watcher in self.watchers]
            others = len(self.watchers) - 1
            return linked and all(
                each["num-slaves"] == 1 and each["num-other-sentinels"] == others and each["flags"] == "master"
                for each in masters
            )
        return False

    @contextmanager
    def running(self) -> Iterator[Self]:
        with running(*self.pair, *self.watchers):
            until(self.is_whole, 40)
            yield self


class ClusterServers:
    """Masters that share the slots out evenly, each with so many replicas."""

    def __init__(self, folder: Path, *, masters: int = 3, replicas: int = 0, **options: str | int) -> None:
        count = masters * (1 + replicas)
        ports = free_ports(2 * count)
        told = {
            "cluster_enabled": "yes",
            "cluster_node_timeout": 1_000,
            "cluster_require_full_coverage": "no",
            "cluster_replica_validity_factor": 0,
            "repl_diskless_sync_delay": 0,
            "appendfsync": "no",
            **options,
        }
        self.buses = dict(zip(ports[:count], ports[count:], strict=True))
        self.nodes = [
            Server(folder / f"node{n}", port=port, cluster_port=self.buses[port], **told)
            for n, port in enumerate(ports[:count])
        ]
        self.masters, self.replicas = self.nodes[:masters], self.nodes[masters:]

    @property
    def url(self) -> str:
        return f"redis+cluster://{','.join(each.name for each in self.nodes[:3])}"

    def owner(self, slot: int) -> Server:
        """The master that has it, in the eyes of who is alive."""
        for node in self.nodes:
            with suppress(RedisError):
                for first, last, (_, port, *_), *_ in node.ask("CLUSTER", "SLOTS"):
                    if first <= slot <= last:
                        return next(each for each in self.nodes if each.port == port)
        raise AssertionError("nobody has it")

    def is_whole(self) -> bool:
        return all(self._sees_all(node) for node in self.nodes)

    def _sees_all(self, node: Server) -> bool:
        with suppress(RedisError):
            if node.ask("CLUSTER INFO")["cluster_state"] != "ok":
                return False
            lines = node.ask("CLUSTER NODES").values()
            seen = [each for each in lines if each["connected"] and "fail" not in each["flags"]]
            replication = node.ask("INFO", "replication")
            return len(seen) == len(self.nodes) and replication.get("master_link_status", "up") == "up"
        return False

    def _form(self) -> None:
        for number, node in enumerate(self.nodes):
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            self.nodes[0].ask("CLUSTER", "MEET", HOST, node.port, self.buses[node.port])
        share = SLOTS // len(self.masters)
        for number, node in enumerate(self.masters):
            last = SLOTS - 1 if node is self.masters[-1] else share * (number + 1) - 1
            node.ask("CLUSTER", "ADDSLOTSRANGE", share * number, last)
        until(self.is_whole, 40)
        for number, node in enumerate(self.replicas):
            node.ask("CLUSTER", "REPLICATE", self.masters[number % len(self.masters)].ask("CLUSTER", "MYID"))
        until(self.is_whole, 40)

    @contextmanager
    def running(self) -> Iterator[Self]:
        with running(*self.nodes):
            self._form()
            yield self


def took_s(happened: Callable[[], Any], within_s: float) -> float:
    started_s = time.monotonic()
    until(happened, within_s)
    return time.monotonic() - started_s
