"""R17: session time. It follows real time while the clock runs, and moves by hand; it never goes back."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from service.errors import InvalidValue
from service.systems.sixd6.healing import MOST_MS
from service.table.records import Clock

MOST_ADVANCED_MS = MOST_MS // 10
"""Session time up to which the clock is moved by hand: three centuries. By itself it may run on."""


class Moment(Struct, frozen=True, kw_only=True):
    """A point of session time in whole seconds, rounded up; `at` and `epoch` are null while the clock is paused."""

    remaining_seconds: Annotated[int, Meta(ge=0)]
    at: Annotated[str, Meta(max_length=20, description="RFC 3339, UTC.")] | None
    epoch: Annotated[int, Meta(ge=0, description="Seconds since 1970.")] | None
    at_elapsed_seconds: Annotated[int, Meta(ge=0, description="In session time.")]


class ClockAction(StrEnum):
    PAUSE = "pause"
    RESUME = "resume"
    ADVANCE = "advance"


def started(now_ms: int, *, running: bool) -> Clock:
    return Clock(since_ms=now_ms if running else None)


def elapsed_ms(clock: Clock, now_ms: int) -> int:
    return clock.elapsed_ms + (0 if clock.since_ms is None else max(0, now_ms - clock.since_ms))


def moved(clock: Clock, action: ClockAction, advance_ms: int, now_ms: int) -> Clock:
    """Pausing a paused clock and resuming a running one change nothing. Raises InvalidValue beyond MOST_ADVANCED_MS."""
    if action is ClockAction.ADVANCE:
        left_ms = max(0, MOST_ADVANCED_MS - elapsed_ms(clock, now_ms))
        if advance_ms > left_ms:
            raise InvalidValue("seconds", "too_high", most=left_ms // 1_000)
        return replace(clock, elapsed_ms=clock.elapsed_ms + advance_ms)
    if action is ClockAction.PAUSE:
        return Clock(elapsed_ms(clock, now_ms))
    return clock if clock.since_ms is not None else replace(clock, since_ms=now_ms)


def moment(clock: Clock, target_ms: int, now_ms: int) -> Moment:
    """When session time reaches `target_ms`."""
    remaining_ms = max(0, target_ms - elapsed_ms(clock, now_ms))
    epoch = None if clock.since_ms is None else _seconds_up(now_ms + remaining_ms)
    return Moment(
        remaining_seconds=_seconds_up(remaining_ms),
        at=None if epoch is None else rfc3339(epoch),
        epoch=epoch,
        at_elapsed_seconds=_seconds_up(target_ms),
    )


def _seconds_up(ms: int) -> int:
    return -(-ms // 1_000)


def rfc3339(epoch: int) -> str:
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
