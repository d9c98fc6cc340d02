"""`make soak`: many tables at half of the most that the service can do. `python -m tests.chaos.soak 30`, in minutes.

Tables are opened, played at, and left or deleted. The memory of the workers and of Redis is written down, and what remains
when every table has ended. Ends with status 1 where something grew, remained, or failed.
"""

import asyncio
import json
import random
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.faults import command
from tests.live import Service, until
from tests.servers import Server, running

WORKERS, LINES, TABLES = 2, 24, 240
STEPS_A_TABLE = 120
WARM_UP_S, MEASURED_S = 2.0, 4.0
SHARE = 0.5
ROWS = 20
PARTY = ["zoe", "max", "ana"]

# What deploy/scale.md says, in bytes: a session with three characters without sheets, and its places in tables of keys;
# an entry of the log, in this mix, what a log has beside its entries, and has at least; a kept reply, in this mix.
SESSION, ENTRY, LOG, SHORTEST_LOG = 1_650, 680, 2_000, 4_400
OWN_REPLY, CALLERS_REPLY, MINUTE_MS = 515, 910, 60_000
MOST_GROWTH, MOST_GROWTH_MIB = 1.10, 8
FORMULA_WITHIN = 0.25
WITHOUT_END = -1
EXPECTED = (200, 201, 409)
"""409: a deck may be empty, and who has no card discards none."""


class Line:
    """One kept connection."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._reader: asyncio.StreamReader | None = None

    async def ask(
        self, request: str, token: str | None = None, body: object = None, key: str | None = None
    ) -> tuple[int, bytes]:
        if self._reader is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        told = json.dumps(body).encode() if body is not None else b""
        lines = [f"{request} HTTP/1.1", "host: soak", f"content-length: {len(told)}"]
        lines += ["content-type: application/json"] if body is not None else []
        lines += [f"authorization: Bearer {token}"] if token else []
        lines += [f"idempotency-key: {key}"] if key else []
        self._writer.write("\r\n".join([*lines, "", ""]).encode() + told)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length: ")[2].split(b"\r", 1)[0])
        return int(head[9:12]), await self._reader.readexactly(length)


@dataclass
class Table:
    path: str
    token: str
    steps: int = 0


@dataclass
class Crowd:
    """All who play. `rate` is how many requests a second they make together; None: as many as they can."""

    port: int
    rate: float | None = None
    tables: deque[Table] = field(default_factory=deque)
    statuses: Counter[int] = field(default_factory=Counter)
    latencies_s: list[float] = field(default_factory=list)
    playing: bool = True
    due_s: float = 0.0
    _chance: random.Random = field(default_factory=lambda: random.Random(1))  # noqa: S311  the same mix each time

    async def play(self) -> None:
        line = Line(self.port)
        while self.playing:
            if self.rate:
                self.due_s = max(self.due_s + 1 / self.rate, time.monotonic() - 1)
                await asyncio.sleep(max(0.0, self.due_s - time.monotonic()))
            await self._step(line)

    async def _step(self, line: Line) -> None:
        if len(self.tables) < TABLES:
            _, body = await self._asked(line, "POST /v1/sessions", body={"characters": PARTY})
            opened = json.loads(body)
            self.tables.append(Table(f"/v1/sessions/{opened['id']}", opened["tokens"]["gm"]))
            return
        table = self.tables.popleft()
        if table.steps >= STEPS_A_TABLE:
            if self._chance.random() < 0.5:
                await self._asked(line, f"DELETE {table.path}", table.token)
            return  # or it is left, and ends by itself
        who, kind = self._chance.choice(PARTY), self._chance.random()
        key = f"k{table.steps}" if kind < 0.2 else None
        table.steps += 1
        try:
            if kind < 0.4:
                await self._asked(line, f"POST {table.path}/characters/{who}/sixd6/rolls", table.token, {"base": 4}, key)
            elif kind < 0.7:
                await self._asked(line, f"POST {table.path}/decks/light/draws", table.token, {"character": who})
            elif kind < 0.8:
                await self._asked(line, f"POST {table.path}/decks/light/shuffles", table.token, {"discard": True})
            elif kind < 0.9:
                await self._asked(line, f"POST {table.path}/discards", table.token, {"character": who})
            else:
                await self._asked(line, f"GET {table.path}/state", table.token)
        finally:
            self.tables.append(table)

    async def _asked(self, line: Line, request: str, token: str | None = None, body: object = None, key: str | None = None):
        started_s = time.monotonic()
        status, answer = await line.ask(request, token, body, key)
        self.latencies_s.append(time.monotonic() - started_s)
        self.statuses[status] += 1
        return status, answer


@dataclass(frozen=True)
class Sample:
    at_s: float
    workers_mib: list[float]
    redis_bytes: int
    by_formula: int
    errors: int
    line: str


class Soak:
    def __init__(self, service: Service, server: Server, minutes: float) -> None:
        self._service, self._server, self._seconds = service, server, minutes * 60
        self._port = int(service.address.rsplit(":", 1)[1])
        self._empty = self._used()
        self._samples: list[Sample] = []

    async def run(self) -> list[str]:
        """What is wrong."""
        fast = Crowd(self._port)
        most = await self._for(fast, MEASURED_S, warm_up_s=WARM_UP_S)
        print(f"at most {most:,.0f} requests a second; from here {SHARE * most:,.0f}, over {TABLES} tables at a time")
        print(
            f"{'min':>6}{'req/s':>8}{'p99 ms':>8}{'errors':>8}{'worker MiB':>16}"
            f"{'Redis MiB':>11}{'formula':>9}{'sessions':>10}"
        )
        crowd = Crowd(self._port, rate=SHARE * most, tables=fast.tables)
        started_s = time.monotonic()
        players = [asyncio.create_task(crowd.play()) for _ in range(LINES)]
        while (spent_s := time.monotonic() - started_s) < self._seconds:
            await self._sample(crowd, spent_s, min(self._seconds / ROWS, self._seconds - spent_s))
        crowd.playing = False
        await asyncio.gather(*players)
        return [*self._grown(), *await asyncio.to_thread(self._remains)]

    async def _for(self, crowd: Crowd, seconds: float, warm_up_s: float) -> float:
        players = [asyncio.create_task(crowd.play()) for _ in range(LINES)]
        await asyncio.sleep(warm_up_s)
        before, started_s = crowd.statuses.total(), time.monotonic()
        await asyncio.sleep(seconds)
        rate = (crowd.statuses.total() - before) / (time.monotonic() - started_s)
        crowd.playing = False
        await asyncio.gather(*players)
        return rate

    async def _sample(self, crowd: Crowd, spent_s: float, seconds: float) -> None:
        crowd.latencies_s.clear()
        await asyncio.sleep(seconds)
        latencies = sorted(crowd.latencies_s)
        p99_ms = latencies[len(latencies) * 99 // 100] * 1_000 if latencies else 0.0
        errors = sum(count for status, count in crowd.statuses.items() if status not in EXPECTED)
        used, (sessions, by_formula) = self._used(), await asyncio.to_thread(self._formula)
        workers = sorted(memory_mib(pid) for pid in self._workers())
        text = (
            f"{(spent_s + seconds) / 60:>6.1f}{len(latencies) / seconds:>8,.0f}{p99_ms:>8.1f}{errors:>8}"
            f"{' '.join(f'{each:.0f}' for each in workers):>16}{(used - self._empty) / 2**20:>11.1f}"
            f"{by_formula / 2**20:>9.1f}{sessions:>10,}"
        )
        print(text, flush=True)
        self._samples.append(Sample(spent_s, workers, used - self._empty, by_formula, errors, text))

    def _formula(self) -> tuple[int, int]:
        """Sessions, and the memory of all keys as deploy/scale.md reckons it."""
        sessions = 0
        with self._server.client() as redis:
            logs, replies = redis.pipeline(transaction=False), redis.pipeline(transaction=False)
            for key in redis.scan_iter(count=10_000):
                if key.endswith(":log"):
                    logs.xlen(key)
                elif ":reply:" in key:
                    replies.pttl(key)
                elif key.endswith("}"):
                    sessions += 1
            weighed = sum(max(SHORTEST_LOG, LOG + entries * ENTRY) for entries in logs.execute())
            weighed += sum(CALLERS_REPLY if left_ms > MINUTE_MS else OWN_REPLY for left_ms in replies.execute())
        return sessions, sessions * SESSION + weighed

    def _workers(self) -> list[int]:
        return [pid for pid in self._service.workers() if "spawn_main" in command(pid)]

    def _used(self) -> int:
        with self._server.client() as redis:
            told = redis.execute_command("MEMORY STATS")
            return int(told["dataset.bytes"]) + sum(told.get("db.0", {}).values())

    def _grown(self) -> list[str]:
        """After the first third, in which caches fill."""
        settled, last = self._samples[len(self._samples) // 3], self._samples[-1]
        wrong = [f"{last.errors} answers were errors"] if last.errors else []
        for before, after in zip(settled.workers_mib, last.workers_mib, strict=True):
            if after > before * MOST_GROWTH + MOST_GROWTH_MIB:
                wrong.append(f"a worker grew from {before:.0f} to {after:.0f} MiB")
        if abs(last.redis_bytes / last.by_formula - 1) > FORMULA_WITHIN:
            wrong.append(f"Redis uses {last.redis_bytes / last.by_formula:.2f} of what the formula says")
        return wrong

    def _remains(self) -> list[str]:
        """Every key has an end, and when the ends have come, the memory is free again."""
        endless = []
        with self._server.client() as redis:
            for key in redis.scan_iter(count=10_000):
                if redis.pttl(key) == WITHOUT_END and key != "emberdice:sessions":
                    endless.append(key)
                redis.pexpire(key, 1)
            until(lambda: redis.dbsize() == 0, 60)
        settle(self._used)
        left = self._used() - self._empty
        print(f"when all tables have ended: {left / 2**20:.1f} MiB more than at the start")
        wrong = [f"{len(endless)} keys have no end: {endless[:3]}"] if endless else []
        return [*wrong, f"{left / 2**20:.1f} MiB are not free again"] if left > 4 * 2**20 else wrong


def settle(measured: Callable[[], int]) -> None:
    """Until it falls no more."""
    before = measured()
    while True:
        time.sleep(0.5)
        if (after := measured()) >= before:
            return
        before = after


def memory_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1_024


def main(minutes: float) -> int:
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder) / "redis", appendfsync="everysec")
        (Path(folder) / "service").mkdir()
        service = Service(Path(folder) / "service", workers=WORKERS, REDIS_URL=server.url, EMBERDICE_MAX_SESSIONS="0")
        with running(server):
            try:
                wrong = asyncio.run(Soak(service.start(), server, minutes).run())
            finally:
                service.kill()
    print("\n".join(wrong) or "nothing grew, nothing remained, nothing failed")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 30.0))
