"""R17: session time follows real time while the clock runs, moves by hand, and never goes back."""

import time
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import InvalidValue
from service.systems.sixd6.healing import Care
from service.table import healing
from service.table.clock import MOST_ADVANCED_MS, ClockAction, Moment, elapsed_ms, moment, moved, started
from service.table.healing import Asked
from service.table.records import Clock
from tests.table.played import Table, fallen

PAUSE, RESUME, ADVANCE = ClockAction
HOUR_MS = 3_600_000

# What is done, after so much real time, and the session time that has passed then.
STEPS = [
    # running at first, [(real ms that pass, action, ms by hand), …], session ms
    (True, [(0, None, 0)], 0),
    (True, [(5_400_000, None, 0)], 5_400_000),
    (False, [(5_400_000, None, 0)], 0),
    (True, [(1_000, PAUSE, 0), (9_000, None, 0)], 1_000),
    (True, [(1_000, PAUSE, 0), (9_000, PAUSE, 0), (9_000, None, 0)], 1_000),
    (True, [(1_000, PAUSE, 0), (9_000, RESUME, 0), (30, None, 0)], 1_030),
    (True, [(1_000, RESUME, 0), (30, None, 0)], 1_030),  # resuming a running clock loses nothing
    (False, [(1_000, RESUME, 0), (30, RESUME, 0), (4, None, 0)], 34),
    (True, [(1_000, ADVANCE, 8 * HOUR_MS), (30, None, 0)], 8 * HOUR_MS + 1_030),
    (False, [(1_000, ADVANCE, 8 * HOUR_MS), (30, None, 0)], 8 * HOUR_MS),  # a paused clock moves only by hand
    (False, [(5, ADVANCE, 7), (5, RESUME, 0), (5, ADVANCE, 7), (5, PAUSE, 0), (5, ADVANCE, 7)], 31),
]


def played(running, steps, began_ms=1_700_000_000_123):
    clock, now_ms = started(began_ms, running=running), began_ms
    for real_ms, action, by_hand_ms in steps:
        now_ms += real_ms
        if action is not None:
            clock = moved(clock, action, by_hand_ms, now_ms)
    return clock, now_ms


@pytest.mark.parametrize(("running", "steps", "session_ms"), STEPS)
def test_session_time(running, steps, session_ms):
    assert elapsed_ms(*played(running, steps)) == session_ms


def test_what_changes_nothing_leaves_the_same_clock():
    paused, running = Clock(7), Clock(7, since_ms=100)
    assert moved(paused, PAUSE, 0, 200) == paused
    assert moved(running, RESUME, 0, 200) == running


@pytest.mark.parametrize("running", [True, False])
def test_the_clock_is_moved_by_hand_as_far_as_it_can_be_read(running):
    clock, now_ms = played(running, [(3_000, ADVANCE, MOST_ADVANCED_MS - 10_000)])
    left_ms = 10_000 - (3_000 if running else 0)
    with pytest.raises(InvalidValue) as refusal:
        moved(clock, ADVANCE, left_ms + 1, now_ms)
    assert (refusal.value.field, refusal.value.data) == ("seconds", {"most": left_ms // 1_000})
    assert elapsed_ms(moved(clock, ADVANCE, left_ms, now_ms), now_ms + HOUR_MS) >= MOST_ADVANCED_MS  # and may run on


ACTIONS = st.lists(
    st.tuples(st.integers(0, 3 * HOUR_MS), st.sampled_from([None, *ClockAction]), st.integers(0, 3 * HOUR_MS)), max_size=30
)


@settings(deadline=None)
@given(running=st.booleans(), steps=ACTIONS)
def test_session_time_never_goes_back_and_is_what_was_told_it(running, steps):
    clock, now_ms, told_ms, runs = started(0, running=running), 0, 0, running
    for real_ms, action, by_hand_ms in steps:
        before_ms = elapsed_ms(clock, now_ms)
        now_ms += real_ms
        told_ms += real_ms if runs else 0
        assert elapsed_ms(clock, now_ms) == told_ms
        if action is not None:
            clock = moved(clock, action, by_hand_ms, now_ms)
            told_ms += by_hand_ms if action is ADVANCE else 0
            runs = action is RESUME or (runs and action is not PAUSE)
        assert elapsed_ms(clock, now_ms) == told_ms
        assert told_ms >= before_ms


# Seconds are whole and rounded up.
MOMENTS = [
    # clock, target in session ms, real ms, remaining s, at, epoch, at in session s
    (Clock(0, since_ms=0), 7_200_000, 0, 7_200, "1970-01-01T02:00:00Z", 7_200, 7_200),
    (Clock(0, since_ms=0), 7_200_000, 1, 7_200, "1970-01-01T02:00:00Z", 7_200, 7_200),
    (Clock(0, since_ms=0), 7_200_000, 999, 7_200, "1970-01-01T02:00:00Z", 7_200, 7_200),
    (Clock(0, since_ms=0), 7_200_000, 1_000, 7_199, "1970-01-01T02:00:00Z", 7_200, 7_200),
    (Clock(0, since_ms=0), 7_200_001, 0, 7_201, "1970-01-01T02:00:01Z", 7_201, 7_201),
    (Clock(0, since_ms=0), 7_200_000, 7_199_999, 1, "1970-01-01T02:00:00Z", 7_200, 7_200),
    (Clock(0, since_ms=0), 7_200_000, 7_200_000, 0, "1970-01-01T02:00:00Z", 7_200, 7_200),
    (Clock(0, since_ms=0), 7_200_000, 9_000_000, 0, "1970-01-01T02:30:00Z", 9_000, 7_200),  # it is over: now
    (Clock(400, since_ms=1_700_000_000_000), 1_000, 1_700_000_000_100, 1, "2023-11-14T22:13:21Z", 1_700_000_001, 1),
    (Clock(5_000), 7_200_000, 1_700_000_000_000, 7_195, None, None, 7_200),  # paused
    (Clock(7_199_999), 7_200_000, 0, 1, None, None, 7_200),
    (Clock(7_200_000), 7_200_000, 0, 0, None, None, 7_200),
]


@pytest.mark.parametrize(("clock", "target_ms", "now_ms", "remaining", "at", "epoch", "at_elapsed"), MOMENTS)
def test_moments(clock, target_ms, now_ms, remaining, at, epoch, at_elapsed):
    expected = Moment(remaining_seconds=remaining, at=at, epoch=epoch, at_elapsed_seconds=at_elapsed)
    assert moment(clock, target_ms, now_ms) == expected


@settings(deadline=None)
@given(
    clock=st.builds(Clock, st.integers(0, 10**10), st.none() | st.integers(0, 10**13)),
    target_ms=st.integers(0, 10**10),
    passed_ms=st.integers(0, 10**10),
)
def test_who_waits_as_long_as_a_moment_says_is_there(clock, target_ms, passed_ms):
    now_ms = (clock.since_ms or 0) + passed_ms
    there = moment(clock, target_ms, now_ms)
    left_ms = target_ms - elapsed_ms(clock, now_ms)
    assert 1_000 * there.remaining_seconds - max(0, left_ms) in range(1_000)
    if clock.since_ms is None:
        assert there.at is there.epoch is None
    else:
        assert elapsed_ms(clock, 1_000 * there.epoch) >= target_ms
        assert datetime.fromisoformat(there.at).timestamp() == there.epoch


@pytest.fixture
def paris(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Paris")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def utc_ms(text):
    return 1_000 * int(datetime.fromisoformat(text).timestamp())


SUMMER, WINTER = 1, 0
# Clocks in Paris are changed at 01:00 UTC.
CHANGES = [
    # rolled at, wall clock in Paris then, next roll at, wall clock in Paris then
    ("2026-03-29T00:30:00Z", (1, 30, WINTER), "2026-03-29T02:30:00Z", (4, 30, SUMMER)),
    ("2026-10-24T23:30:00Z", (1, 30, SUMMER), "2026-10-25T01:30:00Z", (2, 30, WINTER)),
    ("2026-10-25T00:30:00Z", (2, 30, SUMMER), "2026-10-25T02:30:00Z", (3, 30, WINTER)),
]


@pytest.mark.usefixtures("paris")
@pytest.mark.parametrize(("rolled", "wall", "free", "wall_then"), CHANGES)
def test_two_hours_are_two_hours_over_a_change_of_clocks(rolled, wall, free, wall_then):
    for text, (hour, minute, dst) in ((rolled, wall), (free, wall_then)):
        local = time.localtime(utc_ms(text) / 1_000)
        assert (local.tm_hour, local.tm_min, local.tm_isdst) == (hour, minute, dst)
    table = Table("Zoé", now_ms=utc_ms(rolled), tier_size=3)
    roll = table.play(healing.roll, "zoe", Asked(care=Care.CALM_SELF, base=1, level=9), fallen(5))
    assert (roll.next_roll.at, roll.next_roll.epoch, roll.next_roll.remaining_seconds) == (
        free,
        utc_ms(free) // 1_000,
        7_200,
    )
    table.wait(7_200_000)
    again = table.play(healing.roll, "zoe", Asked(care=Care.CALM_SELF, base=1), fallen(5))
    assert again.after == 7
