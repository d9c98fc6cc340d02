"""`make bench`: the service beside its floor, in alternating pairs; ratios, since machines are noisy."""

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import redis

from service.store.embedded import EmbeddedServer

PAIRS = 5
RATIOS: list[tuple[str, float]] = []
"""What was measured beside a floor, for the plot."""

DRAWS = "/decks/light/draws"
ROLL = json.dumps({"base": 5, "red": 1, "difficulty": "hard"})


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def served(command: list[str], environment: dict[str, str], path: str, wait_s: float = 30) -> Iterator[int]:
    """A server on a free port, ended by its own id."""
    port = free_port()
    told = {**os.environ, **environment, "PORT": str(port)}
    command = [each.replace("PORT", str(port)) for each in command]
    with tempfile.TemporaryFile() as log, subprocess.Popen(command, env=told, stdout=log, stderr=log) as process:
        try:
            wait_for(f"http://127.0.0.1:{port}{path}", wait_s)
            yield port
        finally:
            process.terminate()
            process.wait(20)


def wait_for(url: str, wait_s: float) -> None:
    end_s = time.monotonic() + wait_s
    while True:
        try:
            urllib.request.urlopen(url, timeout=2).close()  # noqa: S310  our own address
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            if time.monotonic() > end_s:
                raise
            time.sleep(0.05)


def service(redis_url: str, **environment: str) -> ExitStack:
    return served([sys.executable, "-m", "service"], {"REDIS_URL": redis_url, **environment}, "/health/ready")


def floor(redis_url: str) -> ExitStack:
    granian = [str(Path(sys.executable).with_name("granian")), "--interface", "asgi", "--loop", "uvloop", "--factory"]
    command = [*granian, "--no-ws", "--port", "PORT", "--no-log", "tests.bench.floor:application"]
    return served(command, {"REDIS_URL": redis_url}, "/")


Table = tuple[str, str]
"""A session's path, and its gm token."""


def load(port: int, path: str, body: str = "{}", tables: list[Table] | None = None, **told: float) -> dict[str, float]:
    """Requests of one path, below each of the tables where there are some."""
    command = [sys.executable, "-m", "tests.bench.load", "--port", str(port), "--body", body]
    command += [part for name, value in told.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    for table, token in tables or []:
        command += ["--path", table + path, "--token", token]
    command += [] if tables else ["--path", path]
    measured = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    wrong = {status: count for status, count in measured["statuses"].items() if status != "200"}
    if wrong:
        sys.exit(f"{path} answered {wrong}")
    return measured


def paired(title: str, ours: Callable[[], dict[str, float]], beside: Callable[[], dict[str, float]]) -> None:
    """Alternating pairs; the ratio of each, their median and their spread."""
    pairs = [(ours(), beside()) for _ in range(PAIRS)]
    ratios = sorted(one["per_second"] / other["per_second"] for one, other in pairs)
    tails = sorted((one["p99_ms"] / one["p50_ms"]) / (other["p99_ms"] / other["p50_ms"]) for one, other in pairs)
    RATIOS.append((title, statistics.median(ratios)))
    rates = [statistics.median(each["per_second"] for each in side) for side in zip(*pairs, strict=True)]
    print(
        f"{title}: ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f}); "
        f"{rates[0]:,.0f}/s beside {rates[1]:,.0f}/s; p99/p50 ratio {statistics.median(tails):.2f}",
        flush=True,
    )


def opened(port: int, deck: int | None = None) -> tuple[str, str]:
    """A table's path and its gm token; with an own deck of so many cards."""
    told = call(port, "POST", "/v1/sessions", {"characters": ["Zoé"]})
    path, token = f"/v1/sessions/{told['id']}", told["tokens"]["gm"]
    if deck:
        cards = [{"card": f"c{n}", "name": f"Card {n}", "effect": "x" * 60} for n in range(deck)]
        call(port, "PUT", f"{path}/decks/own", {"name": "Own", "cards": cards}, token)
    return path, token


def call(port: int, method: str, path: str, body: object, token: str | None = None) -> dict:
    headers = {"content-type": "application/json", **({"authorization": f"Bearer {token}"} if token else {})}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), headers, method=method)
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
        return json.load(answer)


def rolls(redis_url: str) -> None:
    bare = {"EMBERDICE_METRICS": "false", "EMBERDICE_ACCESS_LOG": "false"}
    for title, settings in (("shipped", {}), ("bare", bare)):
        with service(redis_url, **settings) as ours, floor(redis_url) as beside:
            paired(
                f"POST /v1/sixd6/rolls, {title}, to an empty handler",
                lambda ours=ours: load(ours, "/v1/sixd6/rolls", ROLL),
                lambda beside=beside: load(beside, "/empty", ROLL),
            )


def draws(redis_url: str) -> None:
    with service(redis_url) as ours, floor(redis_url) as beside:
        tables = [opened(ours) for _ in range(16)]
        paired(
            "a session draw, shipped, to a handler with one call of a script that writes",
            lambda: load(ours, DRAWS, "{}", tables),
            lambda: load(beside, "/one-call", "{}"),
        )


def hot_table(redis_url: str) -> None:
    with service(redis_url, WORKERS="4", **NO_LIMITS) as ours:
        measured = load(ours, DRAWS, "{}", [opened(ours)], seconds=4, connections=32)
        print(
            f"one hot table, four processes: {measured['per_second']:,.0f} steps/s, p99 {measured['p99_ms']:.0f} ms",
            flush=True,
        )


def step_us(redis_url: str, port: int, table: Table, deck: str) -> float:
    """Redis' own time for one step, from its statistics of scripts."""
    with redis.Redis.from_url(redis_url) as client:
        load(port, f"/decks/{deck}/draws", "{}", [table], seconds=0.5)
        client.config_resetstat()
        load(port, f"/decks/{deck}/draws", "{}", [table], seconds=1.5)
        told = client.info("commandstats")["cmdstat_evalsha"]
        return float(told["usec_per_call"])


NO_LIMITS = {"EMBERDICE_STEPS_PER_SECOND": "0", "EMBERDICE_TOKEN_STEPS_PER_SECOND": "0"}
"""For one table that is played as fast as can be."""


def redis_time(redis_url: str) -> None:
    with service(redis_url, **NO_LIMITS) as ours:
        small, large = opened(ours, deck=10), opened(ours, deck=500)
        pairs = [(step_us(redis_url, ours, large, "own"), step_us(redis_url, ours, small, "own")) for _ in range(3)]
        ratio = statistics.median(one / other for one, other in pairs)
        print(
            f"Redis time per step, deck of 500 to deck of 10: ratio {ratio:.2f} ({pairs[0][0]:.0f} µs, {pairs[0][1]:.0f} µs)"
        )
        table = opened(ours)
        few = statistics.median(step_us(redis_url, ours, table, "light") for _ in range(3))
        seed(redis_url, table[0].rsplit("/", 1)[1], 100_000)
        many = statistics.median(step_us(redis_url, ours, table, "light") for _ in range(3))
        print(
            f"Redis time per step, 100,000 sessions to 1: ratio {many / few:.2f} ({many:.0f} µs, {few:.0f} µs)", flush=True
        )


def seed(redis_url: str, session: str, count: int) -> None:
    """Copies of a session under other names."""
    with redis.Redis.from_url(redis_url) as client:
        dumped = client.dump(f"emberdice:{{{session}}}")
        for start in range(0, count, 5_000):
            pipeline = client.pipeline(transaction=False)
            for n in range(start, start + 5_000):
                pipeline.restore(f"emberdice:{{seed{n}}}", 3_600_000, dumped)
            pipeline.execute()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, EmbeddedServer(Path(folder)) as server:
        rolls(server.url)
        draws(server.url)
        hot_table(server.url)
        redis_time(server.url)


if __name__ == "__main__":
    main()
