"""A6 in rows: cares, and the two limits of two hours. All times are session time in milliseconds."""

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.dice import Dice, DieKind, FacesSource, GivenFaces
from service.errors import HealingCooldown, HealingWindowFull, NothingToHeal, TierSizeUnknown
from service.systems.sixd6.healing import (
    TRACK_HEALED,
    TWO_HOURS_MS,
    Care,
    RollLimit,
    Timers,
    Track,
    Treatment,
    Window,
    cooldown_ends_ms,
    next_roll_ms,
    treat,
)

TREAT_DAMAGE, CALM_SELF, CALM_OTHER = Care
DAMAGE, TRAUMA = Track
PER_CARE, PER_PATIENT = RollLimit
HOUR_MS = 3_600_000
COOLDOWN, FULL = HealingCooldown, HealingWindowFull


class NoDice(Dice):
    """A refused roll rolls nothing."""

    def throw(self, *throws):
        raise AssertionError(throws)


def asked(care, *, level=9, tier_size=3, limit=PER_CARE, base=4, red=0):
    told = {"level": level, "tier_size": tier_size, "roll_limit": limit, "base": base, "red": red}
    return Treatment(care=care, patient="zoe", **told)


def healed(treatment, timers, now_ms, successes):
    """The roll with so many fives among its dice."""
    dice = GivenFaces([5] * successes + [2] * (treatment.base - successes))
    facts, after = treat(treatment, timers, now_ms, dice)
    assert dice.finish() is FacesSource.PROVIDED
    return facts, after


def refused(error, treatment, timers, now_ms):
    with pytest.raises(error) as refusal:
        treat(treatment, timers, now_ms, NoDice())
    assert (refusal.value.care, refusal.value.patient) == (treatment.care, "zoe")
    return refusal.value.next_ms


WORKED = [
    # ms, care, successes, healed, lost, trauma left; or the refusal and when it ends
    (0, CALM_SELF, 1, 1, 0, 8),
    (3_600_000, CALM_OTHER, 4, 2, 2, 6),
    (7_199_999, CALM_SELF, COOLDOWN, 7_200_000),
    (7_200_000, CALM_SELF, 4, 3, 1, 3),
    (10_799_999, CALM_OTHER, COOLDOWN, 14_400_000),
    (10_800_000, CALM_OTHER, FULL, 14_400_000),
    (14_400_000, CALM_OTHER, 1, 1, 0, 2),
]


def test_the_worked_sequence_to_the_millisecond():
    timers, level = Timers(), 9
    for now_ms, care, said, *told in WORKED:
        if isinstance(said, int):
            facts, timers = healed(asked(care, level=level), timers, now_ms, said)
            assert [facts.before, facts.successes] == [level, said]
            assert [facts.healed, facts.lost, facts.after] == told
            level = facts.after
        else:
            assert [refused(said, asked(care, level=level), timers, now_ms)] == told


LEAST = [
    # tier size, level, healed in the window, successes, healed, lost
    (3, 9, 0, 0, 0, 0),
    (3, 9, 0, 2, 2, 0),
    (3, 9, 0, 3, 3, 0),
    (3, 9, 0, 4, 3, 1),  # the tier
    (3, 9, 2, 4, 1, 3),  # what is left of it
    (3, 2, 0, 4, 2, 2),  # the track
    (3, 1, 2, 4, 1, 3),  # both at once
    (3, 1, 1, 4, 1, 3),
    (1, 9, 0, 4, 1, 3),
    (20, 1_000, 0, 6, 6, 0),
    (20, 1_000, 19, 6, 1, 5),
]


@pytest.mark.parametrize("care", Care)
@pytest.mark.parametrize(("tier_size", "level", "before", "successes", "points", "lost"), LEAST)
def test_healed_is_the_least_of_successes_window_and_track(care, tier_size, level, before, successes, points, lost):
    track = TRACK_HEALED[care]
    timers = Timers(windows={track: Window(0, before)})
    facts, after = healed(asked(care, level=level, tier_size=tier_size, base=6), timers, 1, successes)
    assert (facts.healed, facts.lost, facts.after) == (points, lost, level - points)
    assert after.windows == {track: Window(0, before + points)}
    assert after.rolled_ms == {care: 1}


DICE = [
    # base, red, faces, successes, cards
    (0, 0, [], 0, 0),
    (2, 0, [5, 6, 6, 5], 4, 0),  # sixes are rolled again
    (2, 2, [1, 2, 1, 6, 1], 1, 2),  # R2, R3: red ones, rerolled too
    (1, 1, [1, 1], 0, 1),
    (3, 0, [1, 1, 1], 0, 0),
]


@pytest.mark.parametrize(("base", "red", "faces", "successes", "cards"), DICE)
def test_dice_are_read_as_in_a_pool(base, red, faces, successes, cards):
    dice = GivenFaces(faces)
    facts, _ = treat(asked(TREAT_DAMAGE, tier_size=20, base=base, red=red), Timers(), 0, dice)
    assert dice.finish() is FacesSource.PROVIDED
    assert (facts.successes, facts.healed, facts.complications) == (successes, successes, cards)
    assert [die.face for die in facts.dice] == faces
    assert [die.kind for die in facts.dice[: base + red]] == [DieKind.BASE] * base + [DieKind.RED] * red


# R14: the second roll comes so long after the first; refused ones say when it may be made.
LIMITS = [
    # limit, first care, second care, gap, allowed
    (PER_CARE, CALM_SELF, CALM_SELF, 0, False),
    (PER_CARE, CALM_SELF, CALM_SELF, TWO_HOURS_MS - 1, False),
    (PER_CARE, CALM_SELF, CALM_SELF, TWO_HOURS_MS, True),
    (PER_CARE, CALM_SELF, CALM_OTHER, 0, True),
    (PER_CARE, CALM_OTHER, TREAT_DAMAGE, 0, True),
    (PER_CARE, TREAT_DAMAGE, TREAT_DAMAGE, TWO_HOURS_MS - 1, False),
    (PER_CARE, TREAT_DAMAGE, TREAT_DAMAGE, TWO_HOURS_MS, True),
    (PER_PATIENT, CALM_SELF, CALM_SELF, TWO_HOURS_MS - 1, False),
    (PER_PATIENT, CALM_SELF, CALM_OTHER, 0, False),
    (PER_PATIENT, CALM_OTHER, TREAT_DAMAGE, TWO_HOURS_MS - 1, False),
    (PER_PATIENT, CALM_OTHER, TREAT_DAMAGE, TWO_HOURS_MS, True),
    (PER_PATIENT, TREAT_DAMAGE, CALM_OTHER, TWO_HOURS_MS, True),
]


@pytest.mark.parametrize("began_ms", [0, 12_345])
@pytest.mark.parametrize(("limit", "first", "second", "gap_ms", "allowed"), LIMITS)
def test_one_roll_per_two_hours(limit, first, second, gap_ms, allowed, began_ms):
    _, timers = healed(asked(first, limit=limit), Timers(), began_ms, 0)
    now_ms = began_ms + gap_ms
    if allowed:
        assert healed(asked(second, limit=limit), timers, now_ms, 1)[0].healed == 1
    else:
        assert refused(COOLDOWN, asked(second, limit=limit), timers, now_ms) == began_ms + TWO_HOURS_MS


def test_per_patient_counts_from_the_last_of_all_rolls():
    timers = Timers(rolled_ms={CALM_OTHER: 2 * HOUR_MS, CALM_SELF: HOUR_MS, TREAT_DAMAGE: 0})
    ends = [cooldown_ends_ms(timers, care, PER_CARE) for care in Care]
    assert ends == [TWO_HOURS_MS, 3 * HOUR_MS, 4 * HOUR_MS]
    assert {cooldown_ends_ms(timers, care, PER_PATIENT) for care in Care} == {4 * HOUR_MS}
    assert cooldown_ends_ms(Timers(), CALM_SELF, PER_PATIENT) is None


# R15: rolls on one track, and the window that each leaves.
WINDOWS = [
    # ms, care, successes, window opened at, healed in it
    (1_000, CALM_SELF, 0, 1_000, 0),  # it opens without success too
    (1_000 + HOUR_MS, CALM_OTHER, 2, 1_000, 2),  # both calming cares share it
    (1_000 + 2 * HOUR_MS, CALM_SELF, 1, 1_000 + 2 * HOUR_MS, 1),  # its end is the next one's beginning
    (1_000 + 3 * HOUR_MS, CALM_OTHER, 4, 1_000 + 2 * HOUR_MS, 3),  # nothing was carried over
    (1_000 + 9 * HOUR_MS, CALM_OTHER, 4, 1_000 + 9 * HOUR_MS, 3),  # windows follow rolls, not hours
]


def test_a_window_opens_with_the_first_roll_and_lasts_two_hours():
    timers = Timers()
    for now_ms, care, successes, opened_ms, points in WINDOWS:
        _, timers = healed(asked(care), timers, now_ms, successes)
        assert timers.windows == {TRAUMA: Window(opened_ms, points)}


def test_tracks_have_windows_of_their_own():
    _, timers = healed(asked(CALM_SELF), Timers(), 0, 3)
    facts, timers = healed(asked(TREAT_DAMAGE), timers, 1, 3)
    assert facts.healed == 3
    assert timers.windows == {TRAUMA: Window(0, 3), DAMAGE: Window(1, 3)}


# Each row could be refused for every later reason too.
EVERYTHING_WRONG = Timers(rolled_ms={CALM_SELF: 10}, windows={TRAUMA: Window(5, 3)})
ORDER = [
    # tier size, level, timers, now, refusal, next
    (None, 0, EVERYTHING_WRONG, 20, TierSizeUnknown, None),
    (None, 9, EVERYTHING_WRONG, 20, TierSizeUnknown, None),
    (3, 0, EVERYTHING_WRONG, 20, NothingToHeal, None),
    (3, 9, EVERYTHING_WRONG, 20, COOLDOWN, 10 + TWO_HOURS_MS),
    (3, 9, Timers(rolled_ms={CALM_SELF: 10}, windows={TRAUMA: Window(15, 3)}), 20, COOLDOWN, 15 + TWO_HOURS_MS),
    (3, 9, Timers(rolled_ms={CALM_SELF: 10}, windows={TRAUMA: Window(15, 2)}), 20, COOLDOWN, 10 + TWO_HOURS_MS),
    (3, 9, Timers(rolled_ms={CALM_OTHER: 10}, windows={TRAUMA: Window(5, 3)}), 20, FULL, 5 + TWO_HOURS_MS),
    (2, 9, Timers(rolled_ms={CALM_OTHER: 10}, windows={TRAUMA: Window(5, 3)}), 20, FULL, 5 + TWO_HOURS_MS),
    (3, 9, Timers(windows={TRAUMA: Window(5, 3)}), TWO_HOURS_MS + 4, FULL, TWO_HOURS_MS + 5),
]


@pytest.mark.parametrize(("tier_size", "level", "timers", "now_ms", "error", "next_ms"), ORDER)
def test_refusals_come_in_their_order_with_the_later_of_both_ends(tier_size, level, timers, now_ms, error, next_ms):
    assert refused(error, asked(CALM_SELF, level=level, tier_size=tier_size), timers, now_ms) == next_ms


def test_a_roll_that_may_be_made_now_is_possible_now():
    assert next_roll_ms(EVERYTHING_WRONG, CALM_SELF, PER_CARE, 3, 10 + TWO_HOURS_MS) == 10 + TWO_HOURS_MS
    assert next_roll_ms(Timers(), CALM_SELF, PER_PATIENT, 3, 77) == 77
    assert next_roll_ms(EVERYTHING_WRONG, TREAT_DAMAGE, PER_CARE, 3, 77) == 77


GAPS_MS = st.sampled_from([0, 1, HOUR_MS, TWO_HOURS_MS - 1, TWO_HOURS_MS, TWO_HOURS_MS + 1]) | st.integers(0, 9_000_000)
TRIES = st.lists(st.tuples(GAPS_MS, st.sampled_from(Care), st.integers(0, 4)), max_size=25)


def rolls_of(tries, tier_size, limit):
    """Every roll that was made, as (ms, care, points healed)."""
    timers, now_ms, made = Timers(), 0, []
    for gap_ms, care, successes in tries:
        now_ms += gap_ms
        treatment = asked(care, tier_size=tier_size, limit=limit)
        try:
            facts, timers = healed(treatment, timers, now_ms, successes)
        except (COOLDOWN, FULL):
            continue
        made.append((now_ms, care, facts.healed))
    return made, timers


@settings(deadline=None)
@given(tries=TRIES, tier_size=st.integers(1, 20), limit=st.sampled_from(RollLimit))
def test_no_two_rolls_of_a_care_within_two_hours(tries, tier_size, limit):
    made, _ = rolls_of(tries, tier_size, limit)
    for care in Care:
        times = [at for at, each, _ in made if each is care or limit is PER_PATIENT]
        assert all(later - earlier >= TWO_HOURS_MS for earlier, later in pairwise(times))


@settings(deadline=None)
@given(tries=TRIES, tier_size=st.integers(1, 20), limit=st.sampled_from(RollLimit))
def test_no_window_heals_more_than_a_tier(tries, tier_size, limit):
    made, _ = rolls_of(tries, tier_size, limit)
    for track in Track:
        opened_ms, points = None, 0
        for at, care, won in made:
            if TRACK_HEALED[care] is not track:
                continue
            if opened_ms is None or at >= opened_ms + TWO_HOURS_MS:
                opened_ms, points = at, 0
            assert points < tier_size  # a roll that could heal nothing is never made
            points += won
            assert points <= tier_size


@settings(deadline=None)
@given(tries=TRIES, tier_size=st.integers(1, 20), limit=st.sampled_from(RollLimit), care=st.sampled_from(Care))
def test_a_refusal_names_the_first_moment_that_is_free(tries, tier_size, limit, care):
    made, timers = rolls_of(tries, tier_size, limit)
    now_ms = made[-1][0] if made else 0
    treatment = asked(care, tier_size=tier_size, limit=limit)
    free_ms = next_roll_ms(timers, care, limit, tier_size, now_ms)
    if free_ms > now_ms:
        assert refused((COOLDOWN, FULL), treatment, timers, free_ms - 1) == free_ms
    healed(treatment, timers, free_ms, 0)


@settings(deadline=None)
@given(tries=TRIES)
def test_timers_are_kept_as_they_are(tries):
    _, timers = rolls_of(tries, 3, PER_CARE)
    assert msgspec.json.decode(msgspec.json.encode(timers), type=Timers) == timers
