"""Start the service: `python -m service`."""

import errno
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from granian import Granian
from granian.constants import HTTPModes, Interfaces, Loops
from granian.http import HTTP1Settings

from service.settings import Settings, WrongSetting, read, without_password

PARENT_WATCH_S = 0.3
CONNECTIONS = 4_096
"""Of a worker. More wait to be accepted; event streams have a limit of their own, well below."""
HEADERS_MS = 30_000
"""Time in which a request's headers have to be here, and that a connection may be idle between two requests."""
OPEN_FILES = 65_536
PORT_WAIT_S = 5.0
"""A service that is just ending still has its port."""
STOP_S = 10
"""Time that running requests get to end when the service stops."""


def application() -> Any:
    """What each worker runs; imported there, since the parent serves nothing itself."""
    from service import app, logs  # noqa: PLC0415

    logs.configure()
    threading.Thread(target=follow_parent, args=(os.getppid(),), daemon=True).start()
    return app.create_app(read(os.environ))


def follow_parent(parent: int) -> None:
    """End with the parent, also after kill -9: a worker that stays would share the port with the next service."""
    while os.getppid() == parent:
        time.sleep(PARENT_WATCH_S)
    os.kill(os.getpid(), signal.SIGUSR1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(STOP_S)
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    multiprocessing.set_start_method("spawn")  # the embedded server's threads must not be forked
    try:
        settings = read(os.environ)
    except WrongSetting as error:
        sys.exit(f"emberdice: {error}")
    if settings.redis_url:
        check_address(settings.redis_url)
    claim_port(settings)
    with ExitStack() as around:
        if not settings.redis_url:
            os.environ["REDIS_URL"] = embedded(settings, around)
        if settings.metrics:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = around.enter_context(TemporaryDirectory(prefix="emberdice-metrics-"))
        serve(settings)


def claim_port(settings: Settings) -> None:
    """Workers share a port, and would share it with another service of this kind: each would get a part of the requests."""
    host, give_up_s = numeric(settings.host), time.monotonic() + PORT_WAIT_S
    while fault := port_fault(host, settings.port):
        if fault.errno != errno.EADDRINUSE or time.monotonic() > give_up_s:
            sys.exit(f"emberdice: HOST={settings.host}, PORT={settings.port}: {fault.strerror}")
        time.sleep(0.1)


def port_fault(host: str, port: int) -> OSError | None:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            return error
    return None


def check_address(redis_url: str) -> None:
    from service.store.connection import WrongAddress, check  # noqa: PLC0415  the parent needs it for nothing else

    try:
        check(redis_url)
    except WrongAddress as error:
        sys.exit(f"emberdice: REDIS_URL={without_password(redis_url)}: {error}")


def embedded(settings: Settings, around: ExitStack) -> str:
    """The address of a server of our own, which goes when `around` is left."""
    from service.store.embedded import EmbeddedServer, EmbeddedServerError  # noqa: PLC0415  needs a Unix

    try:
        return around.enter_context(EmbeddedServer(Path(settings.data_dir))).url
    except EmbeddedServerError as error:
        sys.exit(f"emberdice: {error}")


class Server(Granian):  # type: ignore[misc, valid-type]  # a class that granian picks for the interpreter
    """Granian waits for open connections when it stops: the workers are first told to end their event streams."""

    def shutdown(self, exit_code: int = 0) -> None:
        for worker in self.wrks:
            with suppress(ProcessLookupError):
                os.kill(worker.inner.pid, signal.SIGUSR1)
        super().shutdown(exit_code)


def allow_open_files() -> None:
    """A connection is an open file, and the usual limit of 1,024 is for programs that have few."""
    with suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415  not on Windows

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


def serve(settings: Settings) -> None:
    allow_open_files()
    here, told = local(settings), address(settings)
    where = f" (here {here})" if here != told else ""
    print(f"Emberdice: on {told}, documentation on {told}/docs{where}", flush=True)
    server = Server(
        "service.__main__:application",
        factory=True,
        address=numeric(settings.host),
        port=settings.port,
        workers=settings.workers,
        interface=Interfaces.ASGI,
        loop=Loops.uvloop,
        log_enabled=False,
        http=HTTPModes.http1,  # else a connection that says nothing has no timeout
        http1_settings=HTTP1Settings(header_read_timeout=HEADERS_MS),
        backlog=CONNECTIONS,
        backpressure=CONNECTIONS,
        websockets=False,
        respawn_failed_workers=True,
        workers_kill_timeout=STOP_S,
    )
    try:
        server.serve()
    finally:
        if server.interrupt_children and not server.interrupt_signal:  # its own words are off, with its access log
            print("emberdice: a worker died again, just after it was started: the service ends", file=sys.stderr, flush=True)


def numeric(host: str) -> str:
    """The address of a host's name, which is what the server binds to."""
    try:
        return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])
    except OSError as error:
        sys.exit(f"emberdice: HOST={host}: {error.strerror or error}")


def address(settings: Settings) -> str:
    return settings.public_url or local(settings)


def local(settings: Settings) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"


if __name__ == "__main__":
    main()
