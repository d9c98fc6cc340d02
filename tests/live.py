"""What tests of the running service share: a table to sit at, a process to kill, and a bad line to Redis."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Self

import httpx

from service.app import create_app
from service.settings import Settings

ROOT = Path(__file__).parents[1]
READY_S, END_S, POLL_S = 60.0, 20.0, 0.02


def until(happened: Callable[[], Any], within_s: float = END_S) -> Any:
    """What `happened` answers as soon as that is true."""
    give_up_s = time.monotonic() + within_s
    while not (answer := happened()):
        assert time.monotonic() < give_up_s, "it did not happen in time"
        time.sleep(POLL_S)
    return answer


# In this process.


class Transport(httpx.ASGITransport):
    """Straight to an application. httpx's timeouts do not reach that far."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        async with asyncio.timeout(END_S):
            return await super().handle_async_request(request)


@asynccontextmanager
async def in_process(redis_url: str, **settings: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an application in this process and on this event loop."""
    app = create_app(Settings(**{"redis_url": redis_url, "access_log": False, **settings}))
    async with _lifespan(app), httpx.AsyncClient(transport=Transport(app), base_url="http://emberdice") as client:
        yield client


@asynccontextmanager
async def _lifespan(app: Any) -> AsyncIterator[None]:
    told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    said: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    running = asyncio.create_task(app({"type": "lifespan", "asgi": {"version": "3.0"}}, told.get, said.put))
    await told.put({"type": "lifespan.startup"})
    assert (await said.get())["type"] == "lifespan.startup.complete"
    try:
        yield
    finally:
        await told.put({"type": "lifespan.shutdown"})
        await asyncio.wait_for(running, END_S)


class Table:
    """An open session, and what those who sit at it ask for."""

    def __init__(self, client: httpx.AsyncClient, opened: dict[str, Any]) -> None:
        self.client, self.id, self.opened = client, opened["id"], opened
        self.tokens: dict[str, str] = dict(opened["tokens"])

    @classmethod
    async def open(cls, client: httpx.AsyncClient, **wanted: Any) -> Self:
        answer = await client.post("/v1/sessions", json=wanted)
        assert answer.status_code == 201, answer.text
        return cls(client, answer.json())

    async def ask(
        self,
        line: str,
        body: Any = None,
        *,
        by: str = "gm",
        key: str | None = None,
        headers: dict[str, str] | None = None,
        **query: str | int,
    ) -> httpx.Response:
        """`line` is a method and a path below the session; `by` names a token of the table (or is one)."""
        method, _, path = line.partition(" ")
        told = {"Authorization": f"Bearer {self.tokens.get(by, by)}", **({"Idempotency-Key": key} if key else {})}
        return await self.client.request(
            method,
            f"/v1/sessions/{self.id}{path}",
            json=body,
            params=query or None,
            headers={**told, **(headers or {})},
        )

    async def get(self, path: str, **told: Any) -> Any:
        answer = await self.ask(f"GET {path}", **told)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def mint(self, name: str, role: str, **told: Any) -> dict[str, Any]:
        """A new token, asked with from now on as `by=name`."""
        answer = await self.ask("POST /tokens", {"role": role, **told})
        assert answer.status_code == 201, answer.text
        self.tokens[name] = answer.json()["token"]
        minted: dict[str, Any] = answer.json()
        return minted


# A process of its own.


class Service:
    """`python -m service` on a folder of its own. Its processes are one group, so that a kill leaves none of them."""

    def __init__(self, folder: Path, *, workers: int, **environ: str) -> None:
        self._folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        self.redis_url = f"unix://{folder / 'data' / 'socket' / 'redis.sock'}"
        own = {"PORT": str(port), "WORKERS": str(workers), "DATA_DIR": str(folder / "data")}
        self._environ = {**os.environ, **own, **environ}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    @property
    def log(self) -> str:
        return (self._folder / "service.log").read_text(errors="replace")

    def start(self) -> Self:
        with (self._folder / "service.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "service"],
                cwd=ROOT,
                env=self._environ,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            until(self.is_ready, READY_S)
        except BaseException:
            self.kill()
            raise
        return self

    def is_ready(self) -> bool:
        assert self._process
        assert self._process.poll() is None, self.log
        with suppress(httpx.TransportError):
            return httpx.get(f"{self.address}/health/ready", timeout=5).is_success
        return False

    def kill(self) -> None:
        """kill -9 of the service and of every worker."""
        assert self._process
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(END_S)

    def stop(self) -> int:
        assert self._process
        self._process.terminate()
        return self._process.wait(END_S)

    def client(self) -> httpx.AsyncClient:
        unlimited = httpx.Limits(max_connections=None, max_keepalive_connections=64)
        return httpx.AsyncClient(base_url=self.address, timeout=30, limits=unlimited)

    def workers(self) -> list[int]:
        """Processes that the service has started."""
        found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.pid)], capture_output=True, text=True, check=False)
        return [int(pid) for pid in found.stdout.split()]


# A bad line.


class Proxy:
    """Stands between a client and a Redis. Each reply to a command that holds `lost_after` is lost, `losses` times."""

    def __init__(self, redis_socket: str) -> None:
        self._redis_socket = redis_socket
        self.mend()

    def mend(self) -> None:
        self.refuses, self.delay_s = False, 0.0
        self.speaks = asyncio.Event()
        self.speaks.set()
        self.lost_after, self.losses, self.closes = b"", 0, False

    def lose(self, lost_after: bytes, losses: int, *, closes: bool) -> None:
        """Lose replies by closing the connection, or by saying nothing more on it."""
        self.lost_after, self.losses, self.closes = lost_after, losses, closes

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """Its address, as a URL of Redis."""
        self._lines: set[asyncio.Task[Any]] = set()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            await self.hang_up()

    async def hang_up(self) -> None:
        """Close every connection there is."""
        lines = [*self._lines]
        for line in lines:
            line.cancel()
        await asyncio.gather(*lines, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = asyncio.current_task()
        self._lines.add(line)
        try:
            if not self.refuses:
                await self._line(reader, writer)
        except (asyncio.CancelledError, OSError):
            pass
        finally:
            writer.close()
            self._lines.discard(line)

    async def _line(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        redis_reader, redis_writer = await asyncio.open_unix_connection(self._redis_socket)
        lost = asyncio.Event()
        ways = [self._asked(reader, redis_writer, lost), self._answered(redis_reader, writer, lost)]
        both = [asyncio.create_task(way) for way in ways]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            redis_writer.close()
            for way in both:
                way.cancel()
            await asyncio.gather(*both, return_exceptions=True)

    async def _asked(self, reader: asyncio.StreamReader, redis: asyncio.StreamWriter, lost: asyncio.Event) -> None:
        while said := await reader.read(65_536):
            if self.losses and self.lost_after in said:
                self.losses -= 1
                lost.set()
            await self._hold_up()
            redis.write(said)

    async def _answered(self, redis: asyncio.StreamReader, writer: asyncio.StreamWriter, lost: asyncio.Event) -> None:
        while said := await redis.read(65_536):
            await self._hold_up()
            if lost.is_set():
                if self.closes:
                    return
                continue
            writer.write(said)

    async def _hold_up(self) -> None:
        await asyncio.sleep(self.delay_s)
        await self.speaks.wait()
