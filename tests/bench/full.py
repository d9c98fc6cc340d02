"""`make bench-full`: what `make bench` prints, the longer rows beside it, and a plot of the ratios."""

import statistics
import tempfile
import time
from pathlib import Path

import redis

from service.store.embedded import EmbeddedServer
from tests.bench import __main__ as bench
from tests.bench import plot
from tests.live import Service

PLOT = Path(__file__).parents[2] / "deploy" / "bench.svg"


def tails(redis_url: str) -> None:
    """p99/p50 of a draw at half of the most that it can do, to that of the floor at half of its own."""
    with bench.service(redis_url) as ours, bench.floor(redis_url) as beside:
        tables = [bench.opened(ours) for _ in range(16)]
        sides = [(ours, bench.DRAWS, tables), (beside, "/one-call", None)]
        half = [bench.load(port, path, tables=told)["per_second"] / 2 for port, path, told in sides]
        pairs = []
        for _ in range(bench.PAIRS):
            measured = [bench.load(p, path, tables=t, rate=rate) for (p, path, t), rate in zip(sides, half, strict=True)]
            pairs.append([each["p99_ms"] / each["p50_ms"] for each in measured])
        ratio = statistics.median(one / other for one, other in pairs)
        print(
            f"a draw at half of its most: p99/p50 {statistics.median(one for one, _ in pairs):.1f} beside "
            f"{statistics.median(other for _, other in pairs):.1f}: ratio {ratio:.2f}",
            flush=True,
        )


def cold_start() -> None:
    """From nothing to ready, with a Redis of its own; and what one worker needs then, and after some work."""
    took_s = []
    for _ in range(5):
        with tempfile.TemporaryDirectory() as folder:
            service = Service(Path(folder), workers=1)
            started_s = time.monotonic()
            try:
                service.start()
                took_s.append(time.monotonic() - started_s)
                port = int(service.address.rsplit(":", 1)[1])
                fresh = worker_mib(service)
                bench.load(port, "/v1/sixd6/rolls", bench.ROLL, seconds=1)
                bench.load(port, bench.DRAWS, tables=[bench.opened(port) for _ in range(64)], seconds=2)
                worked = worker_mib(service)
            finally:
                service.kill()
    print(f"cold start until ready: {statistics.median(took_s):.2f} s ({min(took_s):.2f}–{max(took_s):.2f})")
    print(f"memory of one worker: {fresh} MiB when ready, {worked} MiB after work", flush=True)


def worker_mib(service: Service) -> int:
    """The largest of the service's processes: the worker."""
    sizes = []
    for process in service.workers():
        status = Path(f"/proc/{process}/status").read_text()
        sizes.append(int(status.split("VmRSS:")[1].split()[0]) // 1024)
    return max(sizes)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, EmbeddedServer(Path(folder)) as server:
        bench.rolls(server.url)
        bench.draws(server.url)
        tails(server.url)
        bench.hot_table(server.url)
        bench.redis_time(server.url)
        with redis.Redis.from_url(server.url) as client:
            client.flushall()
    cold_start()
    PLOT.write_text(plot.bars(bench.RATIOS))


if __name__ == "__main__":
    main()
