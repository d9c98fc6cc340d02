"""Logs: one JSON object a line, on standard error. No bodies, no queries, no tokens."""

import logging
import logging.config
import os
import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache

import msgspec
from msgspec import Struct

STDERR = 2

_encode = msgspec.json.Encoder().encode


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, object] = {
            "at": _moment(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        return _encode(told).decode()


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
    """Straight to standard error, in one piece: the logging module costs as much as a roll."""
    at, ms = _moment(time.time()), round(took_s * 1_000, 1)
    line = Answered(at=at, request_id=request_id, method=method, path=path, status=status, ms=ms)
    with suppress(OSError):  # nobody reads it any more
        os.write(STDERR, _encode(line) + b"\n")


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
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
            "root": {"level": "WARNING", "handlers": ["stderr"]},
            "loggers": {"emberdice": {"level": "INFO"}},
        }
    )
