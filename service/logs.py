"""Logs: one JSON object a line, on standard error. No bodies, no queries, no tokens."""

import logging
import logging.config
from datetime import UTC, datetime
from functools import lru_cache

import msgspec

ACCESS = "emberdice.access"
MEMBERS = ("request_id", "method", "path", "status", "ms")

_encode = msgspec.json.Encoder().encode


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, object] = {
            "at": f"{_second(int(record.created))}.{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        told |= {name: getattr(record, name) for name in MEMBERS if hasattr(record, name)}
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        return _encode(told).decode()


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
