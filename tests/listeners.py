"""Opens many event streams on one worker and measures. Not a test: run `python -m tests.listeners [how many]` by hand."""

import asyncio
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

from redis.asyncio import Redis

from tests.live import Service, Table

AT_ONCE = 50
EVENTS = 5


async def main(many: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    with tempfile.TemporaryDirectory() as folder:
        service = Service(Path(folder), workers=1).start()
        try:
            await measure(service, many)
        finally:
            service.kill()


async def measure(service: Service, many: int) -> None:
    (worker,) = [pid for pid in service.workers() if "spawn_main" in command(pid)]
    async with service.client() as client, Redis.from_url(service.redis_url) as redis:
        table = await Table.open(client, characters=["Zoé"])
        started_s = time.monotonic()
        listeners = await open_more(service, table, AT_ONCE)
        before, connected = memory_kib(worker), await connections(redis)
        while len(listeners) < many:
            listeners += await open_more(service, table, min(AT_ONCE, many - len(listeners)))
        opened_s = time.monotonic() - started_s
        print(f"{many} listeners on one worker, opened in {opened_s:.1f} s")
        print(f"connections to Redis: {connected} with {AT_ONCE} listeners, {await connections(redis)} with {many}")
        each_kib = (memory_kib(worker) - before) / (many - AT_ONCE)
        print(f"memory: {before // 1024} MiB with {AT_ONCE} listeners, {each_kib:.1f} KiB more for each more")
        for number in range(EVENTS):
            hearing = [asyncio.create_task(heard(reader)) for reader, _ in listeners]
            started_s = time.monotonic()
            answer = await table.ask("POST /decks/light/draws", {"character": "zoe"})
            answered_s = time.monotonic() - started_s
            last_s = max(await asyncio.gather(*hearing)) - started_s
            assert answer.status_code == 200
            print(f"event {number + 1}: answered after {answered_s:.3f} s, heard by all {many} after {last_s:.3f} s")
        each_kib = (memory_kib(worker) - before) / (many - AT_ONCE)
        print(f"memory after {EVENTS} events: {each_kib:.1f} KiB more for each more")
        for _, writer in listeners:
            writer.close()


async def open_more(service: Service, table: Table, count: int) -> list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    return await asyncio.gather(*(listen(service, table) for _ in range(count)))


async def listen(service: Service, table: Table) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """An open stream, after its first sign of life."""
    address = urlsplit(service.address)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    told = {"Host": address.netloc, "Accept": "text/event-stream", "Authorization": f"Bearer {table.tokens['gm']}"}
    lines = [f"GET /v1/sessions/{table.id}/events HTTP/1.1", *(f"{name}: {value}" for name, value in told.items())]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    assert b" 200 " in await reader.readline()
    while (await reader.readline()) != b": \n":
        pass
    return reader, writer


async def heard(reader: asyncio.StreamReader) -> float:
    """When the next event was heard."""
    while not (await reader.readline()).startswith(b"data: "):
        pass
    return time.monotonic()


def command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


def memory_kib(pid: int) -> int:
    """Resident, without what is shared with others."""
    told = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in told if line.startswith("Private_"))


async def connections(redis: Redis) -> str:
    """The service's, apart from our own that asks."""
    own = await redis.client_id()
    there = [each for each in await redis.client_list() if int(each["id"]) != own]
    hearing = sum(int(each["sub"]) > 0 for each in there)
    return f"{hearing} that hears and {len(there) - hearing} others"


if __name__ == "__main__":
    os.environ.setdefault("EMBERDICE_ACCESS_LOG", "false")
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000))
