"""Logs: one JSON object a line, on standard error. No bodies, no queries, no tokens."""

import atexit
import logging
import logging.config
import os
import select
import threading
import time
from collections import deque
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache

import msgspec
from msgspec import Struct

STDERR = 2
MOST_LINE_BYTES = 4_096
"""What a pipe takes in one piece: lines of several workers do not mix."""
MOST_LINES = 10_000
GATHER_S = 0.01
END_S = 0.5
KNOWN_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_encode = msgspec.json.Encoder().encode


class Writer:
    """Writes lines from a thread: where nobody reads the pipe, the event loop must not stand still.

    What does not fit meanwhile is lost, and counted in a line of its own. Some at once are cheaper than each by itself.
    """

    def __init__(self, descriptor: int, most: int = MOST_LINES) -> None:
        self._descriptor, self._most = descriptor, most
        self._lines: deque[bytes] = deque()
        self._lost = self._told = 0
        self._wake, self._busy = threading.Event(), False
        self._starting, self._started = threading.Lock(), False

    def write(self, line: bytes) -> None:
        if len(self._lines) >= self._most:
            self._lost += 1
            return
        self._lines.append(line)
        if not self._wake.is_set():
            self._wake.set()
        if not self._started:
            self._start()

    def flush(self, within_s: float = END_S) -> None:
        give_up_s = time.monotonic() + within_s
        while (self._wake.is_set() or self._busy) and time.monotonic() < give_up_s:
            time.sleep(0.001)

    def _start(self) -> None:
        with self._starting:
            if not self._started:
                self._started = True
                threading.Thread(target=self._run, name="log", daemon=True).start()
                atexit.register(self.flush)

    def _run(self) -> None:
        while True:
            self._wake.wait()
            time.sleep(GATHER_S)
            self._busy = True
            self._wake.clear()
            while piece := self._piece():
                with suppress(OSError):  # nobody reads it any more
                    self._put(piece)
            self._busy = False

    def _piece(self) -> bytes:
        piece = self._loss()
        while self._lines and len(piece) + len(self._lines[0]) <= MOST_LINE_BYTES:
            piece += self._lines.popleft()
        return piece

    def _loss(self) -> bytes:
        lost = self._lost - self._told
        self._told += lost
        return _line(time.time(), "warning", "emberdice", f"{lost} lines lost: nobody read them") + b"\n" if lost else b""

    def _put(self, piece: bytes) -> None:
        while True:
            try:
                os.write(self._descriptor, piece)
                return
            except BlockingIOError:  # somebody who shares it made it so
                select.select((), (self._descriptor,), ())


def _line(at_s: float, level: str, logger: str, message: str, **more: str) -> bytes:
    """Of what is too long, the end is kept: there a traceback says what happened."""
    told = {"at": _moment(at_s), "level": level, "logger": logger, "message": message, **more}
    for name in (*more, "message"):
        over = len(_encode(told)) + 1 - MOST_LINE_BYTES
        if over > 0:
            told[name] = "…" + told[name].encode()[over + len("…".encode()) :].decode(errors="ignore")
    return _encode(told)


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        more = {"exception": self.formatException(record.exc_info)} if record.exc_info else {}
        return _line(record.created, record.levelname.lower(), record.name, record.getMessage(), **more).decode()


writer = Writer(STDERR)


class Written(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        try:
            writer.write(self.format(record).encode() + b"\n")
        except Exception:  # as every handler does: what cannot be logged is no reason to fail
            self.handleError(record)


class Answered(Struct, frozen=True, kw_only=True):
    """A line of the access log."""

    at: str
    level: str = "info"
    logger: str = "emberdice.access"
    message: str = "answered"
    request_id: str
    method: str
    path: str
    status: int
    ms: float


def answered(request_id: str, method: str, path: str, status: int, took_s: float) -> None:
    """Not through the logging module, which costs as much as a roll."""
    at, ms = _moment(time.time()), round(took_s * 1_000, 1)
    shown = method if method in KNOWN_METHODS else "other"  # it may be long, or hold a token
    line = Answered(at=at, request_id=request_id, method=shown, path=path, status=status, ms=ms)
    writer.write(_encode(line) + b"\n")


def _moment(epoch: float) -> str:
    return f"{_second(int(epoch))}.{int(epoch % 1 * 1_000):03}Z"


@lru_cache(2)
def _second(epoch: int) -> str:
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def configure() -> None:
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"json": {"()": JsonLines}},
            "handlers": {"stderr": {"()": Written, "formatter": "json"}},
            "root": {"level": "WARNING", "handlers": ["stderr"]},
            "loggers": {"emberdice": {"level": "INFO"}},
        }
    )
