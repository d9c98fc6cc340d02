"""What a table costs in Redis: bytes, time, and lines of its append-only file. Run `python -m tests.chaos.sizes`."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from redis import Redis

from service.store import keys
from service.store.embedded import EmbeddedServer
from service.systems.sixd6.character import Aptitude, Qualification
from tests.live import Table, in_process

PARTY = ["Zoé", "Maximilien", "Ana", "Bérénice", "Théo", "Lou"]
SHEET = {
    "aptitudes": {each.value: 3 for each in Aptitude},
    "qualifications": {each.value: 2 for each in Qualification},
    "damage": 4,
    "trauma": 2,
    "protections": ["heavy", "light"],
}
STEPS, RUNS = 200, 10
DRAW, ROLL, DISCARD = "POST /decks/light/draws", "POST /characters/zoe/sixd6/rolls", "POST /discards"


def row(what: str, figure: float, unit: str) -> None:
    print(f"{what:<64}{figure:>10,.1f} {unit}", flush=True)


class Scale:
    """Weighs what a table's steps leave behind."""

    def __init__(self, table: Table, redis: Redis, folder: Path) -> None:
        self.table, self._redis, self._folder = table, redis, folder

    def size(self, key: str) -> int:
        return int(self._redis.memory_usage(key, samples=0) or 0)

    @property
    def session(self) -> int:
        return self.size(keys.session(self.table.id))

    @property
    def log(self) -> int:
        return self.size(keys.log(self.table.id))

    def replies(self) -> list[str]:
        return [key.decode() for key in self._redis.scan_iter(keys.reply(self.table.id, "*"), count=10_000)]

    def written(self) -> int:
        """Bytes of the append-only file."""
        return int(self._redis.info("persistence")["aof_current_size"])

    async def told(self, line: str, body: Any = None, **more: Any) -> dict[str, Any]:
        answer = await self.table.ask(line, body, **more)
        assert answer.is_success, answer.text
        return dict(answer.json())

    async def steps(self, what: str, line: str, body: Any, key: str | None = None) -> None:
        """So many of one kind: the mean of each figure. Draws go to a character and are taken back outside of the count."""
        log, replies, written = 0, 0, 0
        for number in range(STEPS):
            for each in self.replies():
                self._redis.delete(each)
            before = self.log, self.written()
            answer = await self.told(line, body, key=f"{key}-{number}" if key else None)
            log += self.log - before[0]
            written += self.written() - before[1]
            replies += sum(map(self.size, self.replies()))
            if line == DRAW:
                cards = [card["id"] for card in answer["cards"]]
                await self.told("POST /decks/light/returns", {"cards": cards, "to": "bottom"})
        row(f"{what}: in the log", log / STEPS, "bytes")
        row(f"{what}: its kept reply", replies / STEPS, "bytes")
        row(f"{what}: in the append-only file", written / STEPS, "bytes")

    async def busy(self, what: str, line: str, body: Any) -> None:
        """The server's own time for each step, of many at once; the least of several runs: other work only adds."""
        processor, script = [], []
        for _ in range(RUNS):
            self._redis.config_resetstat()
            before = self._processor_s()
            for _ in range(STEPS // 20):
                await asyncio.gather(*(self.told(line, body) for _ in range(20)))
            processor.append((self._processor_s() - before) / STEPS * 1e6)
            script.append(self._redis.info("commandstats")["cmdstat_evalsha"]["usec_per_call"])
        row(f"{what}: the server's processor, network and file included", min(processor), "µs")
        row(f"{what}: in the script (commandstats)", min(script), "µs")

    def _processor_s(self) -> float:
        told = self._redis.info("cpu")
        return float(told["used_cpu_user"]) + float(told["used_cpu_sys"])


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder, EmbeddedServer(Path(folder), appendfsync="no") as server:
        async with in_process(server.url) as client:
            with Redis.from_url(server.url) as redis:
                await weigh(client, redis, Path(folder))


async def weigh(client: Any, redis: Redis, folder: Path) -> None:
    async def party() -> Scale:
        scale = Scale(await Table.open(client, name="Friday", characters=PARTY), redis, folder)
        for name in [each["id"] for each in (await scale.table.get("/characters"))["characters"]]:
            await scale.told(f"PUT /characters/{name}/sixd6", SHEET)
        return scale

    row("a session with both decks, just opened", Scale(await Table.open(client), redis, folder).session, "bytes")
    scale = Scale(await Table.open(client, name="Friday", characters=PARTY), redis, folder)
    row("… and six names", scale.session, "bytes")
    scale = await party()
    row("… and six full sheets", scale.session, "bytes")
    before = scale.session
    await scale.table.mint("chat", "chat")
    row("a further token", scale.session - before, "bytes")
    before = scale.session
    cards = [{"card": f"card-{n}", "name": f"Card number {n}", "effect": "x" * 100} for n in range(100)]
    await scale.told("PUT /decks/own", {"name": "Own", "cards": cards})
    row("a card of an own deck with 100 characters of text", (scale.session - before) / 100, "bytes")
    for what, line, body, key in (
        ("a roll", ROLL, {"base": 4, "difficulty": "normal"}, None),
        ("a draw of a card", DRAW, {"character": "zoe"}, None),
        ("a draw under a caller's key", DRAW, {"character": "zoe"}, "key"),
    ):
        await (await party()).steps(what, line, body, key)
    for what, line, body in (("a roll", ROLL, {"base": 4, "difficulty": "normal"}), ("a look", "GET /state", None)):
        await (await party()).busy(what, line, body)
    before = redis.memory_usage(keys.SESSIONS, samples=0)
    for n in range(1_000):
        redis.zadd(keys.SESSIONS, {f"{n:020x}": 10**13 + n})
    row("a session in the count of all", (redis.memory_usage(keys.SESSIONS, samples=0) - before) / 1_000, "bytes")
    await many(redis, (await party()).table.id)


async def many(redis: Redis, session: str, count: int = 20_000) -> None:
    """What the allocator and the table of keys add: copies of the session alone, and the memory that they take in all."""
    dumped, before = redis.dump(keys.session(session)), redis.info("memory")["used_memory"]
    for start in range(0, count, 1_000):
        pipeline = redis.pipeline(transaction=False)
        for number in range(start, start + 1_000):
            pipeline.restore(keys.session(f"{number:020x}"), 3_600_000, dumped)
        pipeline.execute()
    told = redis.info("memory")
    row(f"memory for each of {count:,} copies of that session", (told["used_memory"] - before) / count, "bytes")
    row("… where MEMORY USAGE says", redis.memory_usage(keys.session(f"{0:020x}"), samples=0), "bytes")
    row("… and the process has, for each byte used", told["used_memory_rss"] / told["used_memory"], "bytes")


if __name__ == "__main__":
    asyncio.run(main())
