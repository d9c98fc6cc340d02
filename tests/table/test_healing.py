"""A6 at a table: the request or the sheet gives the level, the session the limits, the clock the time."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.dice import FacesMismatch
from service.errors import (
    HealingCooldown,
    HealingWindowFull,
    InvalidValue,
    NotAllowed,
    NothingToHeal,
    NotThere,
    TierSizeUnknown,
)
from service.systems.sixd6.character import Aptitude, Qualification
from service.systems.sixd6.healing import TRACK_HEALED, TWO_HOURS_MS, Care, RollLimit, Timers, Track, Window
from service.table import characters, healing, sheets
from service.table.audience import Visibility
from service.table.clock import ClockAction, Moment
from service.table.healing import Asked, CareStatus, WindowFacts
from service.table.rolls import Cast
from service.table.session import SettingsChange, change
from tests.table.played import CHAT, GM, OF_ZOE, PLAYER, Scripted, Table, d6, fallen

TREAT_DAMAGE, CALM_SELF, CALM_OTHER = Care
DAMAGE, TRAUMA = Track
PAUSE, RESUME, ADVANCE = ClockAction
HOUR_MS = 3_600_000
NO_DICE = Scripted()


def asks(care, **told):
    return Asked(care=care, **{"base": 4, "carer": "max" if care is CALM_OTHER else None, **told})


def heals(table, care, successes=1, patient="zoe", **told):
    """The roll with so many fives among its four dice."""
    faces = [5] * successes + [2] * (4 - successes)
    return table.play(healing.roll, patient, asks(care, **told), fallen(*faces))


def is_refused(table, error, care, patient="zoe", **told):
    """A refused roll asks for no dice."""
    with pytest.raises(error) as refusal:
        table.play(healing.roll, patient, asks(care, **told), Cast(), chance=NO_DICE)
    return refusal.value


WORKED = [
    # session ms, care, successes, healed, lost, trauma left; or the refusal and when it ends
    (0, CALM_SELF, 1, 1, 0, 8),
    (3_600_000, CALM_OTHER, 4, 2, 2, 6),
    (7_199_999, CALM_SELF, HealingCooldown, 7_200),
    (7_200_000, CALM_SELF, 4, 3, 1, 3),
    (10_799_999, CALM_OTHER, HealingCooldown, 14_400),
    (10_800_000, CALM_OTHER, HealingWindowFull, 14_400),
    (14_400_000, CALM_OTHER, 1, 1, 0, 2),
]


@pytest.mark.parametrize("by_hand", [True, False])
def test_the_worked_sequence(by_hand):
    table = Table(tier_size=3, running=not by_hand)
    for at_ms, care, said, *told in WORKED:
        passed_ms = at_ms - table.elapsed_ms
        table.move(ADVANCE, passed_ms) if by_hand else table.wait(passed_ms)
        level = 9 if at_ms == 0 else None
        if isinstance(said, int):
            roll = heals(table, care, said, level=level)
            assert [roll.healed, roll.lost, roll.after] == told
        else:
            next_roll = is_refused(table, said, care).next_roll
            assert [next_roll.at_elapsed_seconds] == told
            assert (next_roll.at is None) is by_hand


def test_what_a_roll_tells():
    table = Table(tier_size=3, now_ms=1_700_000_000_000)
    table.wait(500)
    roll = table.play(healing.roll, "zoe", asks(CALM_OTHER, level=9), fallen(5, 6, 2, 2, 1))
    assert (roll.care, roll.patient, roll.patient_name, roll.carer, roll.track) == (CALM_OTHER, "zoe", "Zoé", "max", TRAUMA)
    assert (roll.before, roll.after, roll.successes, roll.healed, roll.lost) == (9, 7, 2, 2, 0)
    # Two hours after half a second past, in seconds rounded up.
    later = Moment(remaining_seconds=7_200, at="2023-11-15T00:13:21Z", epoch=1_700_007_201, at_elapsed_seconds=7_201)
    assert roll.window == WindowFacts(healed=2, tier_size=3, closes=later)
    assert roll.next_roll == later
    told = table.events[-1]
    assert (told.type, told.character, told.data, told.elapsed_ms) == ("sixd6.healing", "zoe", roll, 500)


# The setting can be changed while timers run.
def test_one_healing_roll_in_all_where_the_table_wants_it():
    table = Table(tier_size=3, roll_limit="per_patient")
    heals(table, CALM_SELF, level=9)
    table.wait(HOUR_MS)
    assert is_refused(table, HealingCooldown, TREAT_DAMAGE, level=9).next_ms == TWO_HOURS_MS
    heals(table, TREAT_DAMAGE, patient="max", level=9)  # another patient
    table.play(change, {}, SettingsChange(roll_limit=RollLimit.PER_CARE))
    heals(table, TREAT_DAMAGE, level=9)
    assert is_refused(table, HealingCooldown, CALM_SELF).next_ms == TWO_HOURS_MS


CARERS = [
    # care, carer asked for, who rolls or what is wrong
    (TREAT_DAMAGE, None, "zoe"),
    (TREAT_DAMAGE, "zoe", "zoe"),
    (TREAT_DAMAGE, "max", "max"),
    (TREAT_DAMAGE, "MAX ", "max"),  # by its name
    (CALM_SELF, None, "zoe"),
    (CALM_SELF, "zoe", "zoe"),
    (CALM_SELF, "ＺＯÉ", "zoe"),
    (CALM_OTHER, "max", "max"),
    (CALM_SELF, "max", "carer_is_patient"),
    (CALM_OTHER, None, "missing"),
    (CALM_OTHER, "zoe", "carer_is_other"),
]


@pytest.mark.parametrize(("care", "carer", "who"), CARERS)
def test_who_rolls(care, carer, who):
    table = Table(tier_size=3)
    if who in ("zoe", "max"):
        assert heals(table, care, carer=carer, level=9).carer == who
    else:
        refusal = is_refused(table, InvalidValue, care, carer=carer, level=9)
        assert (refusal.field, refusal.problem) == ("carer", who)


def test_nobody_heals_who_is_not_there():
    table = Table(tier_size=3)
    assert is_refused(table, NotThere, TREAT_DAMAGE, patient="zoë", level=9).nearest[0] == "zoe"
    assert is_refused(table, NotThere, TREAT_DAMAGE, carer="maxx", level=9).nearest == ("Max",)


def test_a_carer_may_treat_several_patients():
    table = Table("Zoé", "Max", "Ana", tier_size=3)
    for patient in ("zoe", "max", "ana"):
        assert heals(table, TREAT_DAMAGE, patient=patient, carer="ana", level=9).healed == 1


BOUND = [
    # patient, care, carer; whether Zoé's player may roll
    ("zoe", CALM_SELF, None, True),
    ("zoe", TREAT_DAMAGE, "max", True),  # as the patient
    ("max", TREAT_DAMAGE, "zoe", True),  # as the carer
    ("max", CALM_OTHER, "zoe", True),
    ("max", CALM_SELF, None, False),
    ("max", TREAT_DAMAGE, None, False),
    ("max", CALM_OTHER, "ana", False),
]


@pytest.mark.parametrize(("patient", "care", "carer", "allowed"), BOUND)
def test_whoever_plays_the_carer_or_the_patient_may_roll(patient, care, carer, allowed):
    table = Table("Zoé", "Max", "Ana", tier_size=3)
    if allowed:
        roll = table.play(healing.roll, patient, asks(care, carer=carer, level=9), fallen(5, 5, 2, 2), by=OF_ZOE)
        assert roll.roller == "of-zoe"
    else:
        with pytest.raises(NotAllowed) as refusal:
            table.play(healing.roll, patient, asks(care, carer=carer, level=9), Cast(), by=OF_ZOE, chance=NO_DICE)
        assert refusal.value.reason == "character"


# Cards of red ones go to whoever rolled.
RED = [
    # care, carer, cast, who holds the two cards
    (TREAT_DAMAGE, "max", {}, "max"),
    (TREAT_DAMAGE, None, {}, "zoe"),
    (CALM_SELF, None, {}, "zoe"),
    (CALM_OTHER, "max", {}, "max"),
    (CALM_OTHER, "max", {"deal": False}, None),
    (CALM_OTHER, "max", {"visibility": Visibility.GM}, None),
]


@pytest.mark.parametrize(("care", "carer", "cast", "holder"), RED)
def test_red_ones_draw_cards_for_the_carer(care, carer, cast, holder):
    table = Table(tier_size=3)
    dice = Cast(faces=(5, 1, 6, 1, 1), **cast)
    roll = table.play(healing.roll, "zoe", asks(care, carer=carer, level=9, base=2, red=2), dice)
    assert (roll.complications, roll.undealt) == (2, 0)
    assert [card.holder for card in roll.drawn] == [holder] * 2 if holder else not roll.drawn
    assert set(table.piles("light")[2].values()) == ({holder} if holder else set())


def test_levels_are_remembered_for_each_track():
    table = Table(tier_size=3)
    refusal = is_refused(table, InvalidValue, CALM_SELF)
    assert (refusal.field, refusal.problem) == ("trauma", "level_unknown")
    assert heals(table, CALM_SELF, 2, level=9).after == 7
    assert is_refused(table, InvalidValue, TREAT_DAMAGE).field == "damage"
    assert heals(table, CALM_OTHER).before == 7  # remembered
    assert heals(table, TREAT_DAMAGE, level=1).after == 0
    table.wait(TWO_HOURS_MS)
    assert heals(table, CALM_SELF, level=4).after == 3  # told anew
    is_refused(table, NothingToHeal, TREAT_DAMAGE)
    assert table.get("c:zoe").levels == {DAMAGE: 0, TRAUMA: 3}
    assert table.get("c:max").levels == {}


def test_a_sheet_s_level_counts_and_is_written():
    table = Table(tier_size=3)
    table.play(sheets.put, "zoe", sheets.Sheet(trauma=5))
    refusal = is_refused(table, InvalidValue, CALM_SELF, level=5)
    assert (refusal.field, refusal.problem) == ("trauma", "level_on_sheet")
    assert heals(table, CALM_SELF, 2).after == 3
    assert table.get("s:zoe").trauma == 3
    is_refused(table, NothingToHeal, TREAT_DAMAGE)


POOLS = [
    # care, carer, base dice from the carer's sheet
    (TREAT_DAMAGE, "max", 3 + 2),  # control + wetware
    (CALM_OTHER, "max", 1 + 0),  # social + ascendancy
    (CALM_SELF, None, 0 + 1),  # control + resilience
]


@pytest.mark.parametrize(("care", "carer", "base"), POOLS)
def test_base_dice_come_from_the_carer_s_sheet(care, carer, base):
    table = Table(tier_size=3)
    table.play(sheets.put, "zoe", sheets.Sheet(qualifications={Qualification.RESILIENCE: 1}, damage=9, trauma=9))
    strong = {Aptitude.CONTROL: 3, Aptitude.SOCIAL: 1}
    table.play(sheets.put, "max", sheets.Sheet(aptitudes=strong, qualifications={Qualification.WETWARE: 2}))
    roll = table.play(healing.roll, "zoe", asks(care, carer=carer, base=None), fallen(*[2] * base))
    assert len(roll.dice) == base


TIERS = [
    # the session's, the request's, the one that counts or the refusal
    (None, None, TierSizeUnknown),
    (None, 2, 2),
    (3, None, 3),
    (3, 3, 3),
    (3, 2, InvalidValue),
]


@pytest.mark.parametrize(("own", "told", "counts"), TIERS)
def test_a_request_brings_a_tier_size_only_where_the_session_has_none(own, told, counts):
    table = Table(tier_size=own)
    if isinstance(counts, int):
        roll = heals(table, CALM_SELF, 4, level=9, tier_size=told)
        assert (roll.healed, roll.window.tier_size) == (counts, counts)
        assert table.get("head").settings.tier_size == own  # it is not remembered
    else:
        is_refused(table, counts, CALM_SELF, level=9, tier_size=told)


def after_a_full_window(**settings):
    table = Table(**settings)
    heals(table, CALM_OTHER, 4, level=9, tier_size=3)
    table.wait(5)
    heals(table, TREAT_DAMAGE, 4, level=9, tier_size=3)
    return table


# A6: invalid request, tier size unknown, nothing to heal, cooldown, window full. Rows fit later reasons too.
ORDER = [
    # session's tier size, what is asked for, refusal, next in session ms
    (None, {"care": CALM_OTHER, "base": None, "level": 0}, InvalidValue, None),
    (None, {"care": CALM_OTHER, "carer": "zoe", "level": 0}, InvalidValue, None),
    (3, {"care": CALM_OTHER, "tier_size": 2, "level": 0}, InvalidValue, None),
    (None, {"care": CALM_OTHER, "level": 0}, TierSizeUnknown, None),
    (None, {"care": CALM_OTHER}, TierSizeUnknown, None),
    (3, {"care": CALM_OTHER, "level": 0}, NothingToHeal, None),
    (None, {"care": CALM_OTHER, "level": 0, "tier_size": 3}, NothingToHeal, None),
    (3, {"care": CALM_OTHER}, HealingCooldown, TWO_HOURS_MS),
    (3, {"care": CALM_SELF}, HealingWindowFull, TWO_HOURS_MS),
    (3, {"care": TREAT_DAMAGE}, HealingCooldown, TWO_HOURS_MS + 5),
]


@pytest.mark.parametrize(("own", "told", "error", "next_ms"), ORDER)
def test_refusals_come_in_their_order(own, told, error, next_ms):
    table = after_a_full_window(tier_size=own)
    refusal = is_refused(table, error, **told)
    if error is not InvalidValue:
        assert (refusal.care, refusal.patient, refusal.patient_name) == (told["care"], "zoe", "Zoé")
        assert refusal.next_ms == next_ms
        assert (refusal.next_roll is None) is (next_ms is None)


def test_an_unknown_level_is_an_invalid_request_before_anything_else():
    assert is_refused(Table(), InvalidValue, CALM_SELF).problem == "level_unknown"


@pytest.mark.parametrize("running", [True, False])
def test_a_refusal_tells_the_moment_in_real_time_while_the_clock_runs(running):
    table = Table(tier_size=3, running=running, now_ms=1_700_000_000_000)
    heals(table, CALM_SELF, level=9)
    table.wait(1)
    next_roll = is_refused(table, HealingCooldown, CALM_SELF).next_roll
    assert (next_roll.remaining_seconds, next_roll.at_elapsed_seconds) == (7_200, 7_200)
    assert (next_roll.at, next_roll.epoch) == (("2023-11-15T00:13:20Z", 1_700_007_200) if running else (None, None))


# What a request brought with it is not kept where the roll is refused.
def test_a_refused_roll_changes_nothing():
    table = Table()
    is_refused(table, TierSizeUnknown, CALM_SELF, level=5)
    assert is_refused(table, InvalidValue, CALM_SELF, tier_size=3).problem == "level_unknown"
    heals(table, CALM_SELF, level=9, tier_size=3)
    before = table.get("c:zoe")
    for told in ({"level": 5}, {"level": 0}, {"level": 5, "tier_size": 3}):
        is_refused(table, (HealingCooldown, NothingToHeal, TierSizeUnknown), CALM_SELF, **told)
    assert table.get("c:zoe") == before
    assert len(table.events) == 1


FACES = [
    # faces of four dice, what is needed at which place
    ((5, 5, 5), 3),
    ((5, 5, 5, 7), 3),
    ((5, 5, 5, 5, 5), 4),
]


@pytest.mark.parametrize(("faces", "at"), FACES)
def test_faces_that_do_not_fit_change_nothing_and_are_looked_at_last(faces, at):
    table = Table(tier_size=3)
    with pytest.raises(FacesMismatch) as refusal:
        table.play(healing.roll, "zoe", asks(CALM_SELF, level=9), fallen(*faces))
    assert refusal.value.at == at
    assert table.get("c:zoe").timers == Timers()
    heals(table, CALM_SELF, level=9)
    with pytest.raises(HealingCooldown):
        table.play(healing.roll, "zoe", asks(CALM_SELF), fallen(*faces))


def test_the_table_s_dice_roll_where_no_faces_are_given():
    table = Table(tier_size=3)
    dice = Scripted(*d6(6, 2, 1, 5, 4))
    roll = table.play(healing.roll, "zoe", asks(CALM_SELF, level=9), Cast(), chance=dice)
    assert [die.face for die in roll.dice] == [6, 2, 1, 5, 4]
    assert (roll.source, roll.healed, dice.left) == ("service", 2, [])


# R17: a roll at 0, then so much happens, and whether the same care may be rolled again.
EDGE = [
    # [(real ms that pass, action, ms by hand), …], allowed
    ([(TWO_HOURS_MS - 1, None, 0)], False),
    ([(TWO_HOURS_MS, None, 0)], True),
    ([(0, ADVANCE, TWO_HOURS_MS - 1)], False),
    ([(0, ADVANCE, TWO_HOURS_MS)], True),
    ([(1, ADVANCE, TWO_HOURS_MS - 1)], True),
    ([(0, ADVANCE, 8 * HOUR_MS)], True),
    ([(0, PAUSE, 0), (TWO_HOURS_MS, None, 0)], False),
    ([(0, PAUSE, 0), (TWO_HOURS_MS, RESUME, 0), (TWO_HOURS_MS - 1, None, 0)], False),
    ([(0, PAUSE, 0), (TWO_HOURS_MS, RESUME, 0), (TWO_HOURS_MS, None, 0)], True),
    ([(TWO_HOURS_MS - 1, PAUSE, 0), (HOUR_MS, ADVANCE, 1)], True),
    ([(TWO_HOURS_MS - 1, PAUSE, 0), (HOUR_MS, RESUME, 0)], False),
    ([(TWO_HOURS_MS - 1, PAUSE, 0), (HOUR_MS, RESUME, 0), (1, None, 0)], True),
    ([(HOUR_MS, PAUSE, 0), (0, ADVANCE, HOUR_MS - 1), (HOUR_MS, PAUSE, 0)], False),
    ([(HOUR_MS, PAUSE, 0), (0, ADVANCE, HOUR_MS - 1), (HOUR_MS, RESUME, 0), (1, PAUSE, 0)], True),
    ([(HOUR_MS, RESUME, 0), (HOUR_MS - 1, RESUME, 0)], False),
    ([(HOUR_MS, RESUME, 0), (HOUR_MS, RESUME, 0)], True),
]


@pytest.mark.parametrize(("steps", "allowed"), EDGE)
def test_two_hours_of_session_time(steps, allowed):
    table = Table(tier_size=3)
    heals(table, CALM_SELF, 3, level=9)
    for real_ms, action, by_hand_ms in steps:
        table.wait(real_ms)
        if action is not None:
            table.move(action, by_hand_ms)
    if allowed:
        assert heals(table, CALM_SELF, 4).healed == 3
    else:
        assert is_refused(table, HealingCooldown, CALM_SELF).next_ms == TWO_HOURS_MS
        assert is_refused(table, HealingWindowFull, CALM_OTHER).next_ms == TWO_HOURS_MS


def test_a_night_s_sleep_leaves_time_for_four_rolls_only_two_hours_apart():
    table = Table(tier_size=3)
    heals(table, CALM_SELF, 1, level=20)
    table.move(ADVANCE, 8 * HOUR_MS)
    heals(table, CALM_SELF)
    is_refused(table, HealingCooldown, CALM_SELF)
    for _ in range(4):
        table.move(ADVANCE, 2 * HOUR_MS)
        heals(table, CALM_SELF)


MOVES = st.tuples(
    st.sampled_from([0, 1, HOUR_MS, TWO_HOURS_MS - 1, TWO_HOURS_MS]),
    st.sampled_from([None, *ClockAction, *Care, *Care]),
    st.integers(0, 4) | st.just(HOUR_MS),
)


@settings(deadline=None)
@given(steps=st.lists(MOVES, max_size=15), tier_size=st.integers(1, 6))
def test_no_window_of_session_time_heals_more_than_a_tier(steps, tier_size):
    table = Table(tier_size=tier_size)
    made, seen_ms = [], [0]
    for real_ms, what, much in steps:
        table.wait(real_ms)
        if isinstance(what, ClockAction):
            table.move(what, much)
        elif what is not None:
            try:
                roll = heals(table, what, min(much, 4), level=20)
            except (HealingCooldown, HealingWindowFull):
                roll = None
            made += [(table.elapsed_ms, what, roll.healed)] if roll else []
        seen_ms.append(table.elapsed_ms)
    assert all(later >= earlier for earlier, later in pairwise(seen_ms))
    for track in Track:
        opened_ms, points = -TWO_HOURS_MS, 0
        for at_ms, care, won in made:
            if TRACK_HEALED[care] is track:
                opened_ms, points = (at_ms, 0) if at_ms >= opened_ms + TWO_HOURS_MS else (opened_ms, points)
                points += won
                assert points <= tier_size


def ready(table, patient="zoe"):
    """Cares that may be rolled now, and in how many seconds the others may."""
    return {each.care: each.ready or each.next_roll.remaining_seconds for each in table.play(healing.status, patient).cares}


def test_the_status_tells_each_care_and_each_window():
    table = Table(tier_size=3)
    assert ready(table) == {TREAT_DAMAGE: True, CALM_SELF: True, CALM_OTHER: True}
    heals(table, CALM_SELF, 3, level=9)
    table.wait(HOUR_MS)
    status = table.play(healing.status, "zoe", by=CHAT)
    at = Moment(remaining_seconds=3_600, at="1970-01-01T02:00:00Z", epoch=7_200, at_elapsed_seconds=7_200)
    assert status.cares[1:] == tuple(CareStatus(care=each, ready=False, next_roll=at) for each in (CALM_SELF, CALM_OTHER))
    assert status.cares[0].ready
    damage, trauma = status.tracks
    assert (damage.track, damage.level, damage.window) == (DAMAGE, None, WindowFacts(healed=0, tier_size=3, closes=None))
    assert (trauma.track, trauma.level, trauma.window) == (TRAUMA, 6, WindowFacts(healed=3, tier_size=3, closes=at))
    table.wait(HOUR_MS)
    assert ready(table) == {TREAT_DAMAGE: True, CALM_SELF: True, CALM_OTHER: True}
    assert table.play(healing.status, "zoe").tracks[1].window == WindowFacts(healed=0, tier_size=3, closes=None)


# The gm's corrections, an hour after calm_self healed two of three.
SET = [
    # care, rolled so long ago, healed; then the seconds until each care: damage, self, other
    (CALM_SELF, 0, 2, [True, 7_200, True]),
    (CALM_SELF, 0, 3, [True, 7_200, 7_200]),
    (CALM_SELF, HOUR_MS, 3, [True, 3_600, 3_600]),
    (CALM_SELF, TWO_HOURS_MS - 1, 3, [True, 1, 1]),
    (CALM_SELF, TWO_HOURS_MS, 3, [True, True, True]),  # before the session began
    (CALM_OTHER, HOUR_MS // 2, 0, [True, 3_600, 5_400]),
    (TREAT_DAMAGE, HOUR_MS, 20, [3_600, 3_600, True]),
]


@pytest.mark.parametrize(("care", "ago_ms", "points", "seconds"), SET)
def test_the_gm_can_set_a_timer(care, ago_ms, points, seconds):
    table = Table(tier_size=3, now_ms=1_700_000_000_000)
    heals(table, CALM_SELF, 2, level=9)
    table.wait(HOUR_MS)
    status = table.play(healing.set_timer, "zoe", care, rolled_ago_ms=ago_ms, healed=points)
    assert [each.ready or each.next_roll.remaining_seconds for each in status.cares] == seconds
    assert list(ready(table).values()) == seconds
    assert (table.events[-1].type, table.events[-1].character) == ("sixd6.timer", "zoe")
    assert table.get("c:zoe").levels == {TRAUMA: 7}


def test_a_set_window_counts_for_the_next_roll():
    table = Table(tier_size=3)
    table.play(healing.set_timer, "zoe", CALM_SELF, rolled_ago_ms=HOUR_MS, healed=2)
    roll = heals(table, CALM_OTHER, 4, level=9)
    assert (roll.healed, roll.window.closes.at_elapsed_seconds) == (1, 3_600)


def test_the_gm_can_clear_a_timer():
    table = Table(tier_size=3)
    heals(table, CALM_SELF, 3, level=9)
    heals(table, TREAT_DAMAGE, 3, level=9)
    table.wait(1)
    table.play(healing.clear_timer, "zoe", CALM_SELF)
    assert list(ready(table).values()) == [7_200, True, True]
    assert table.get("c:zoe").timers == Timers(rolled_ms={TREAT_DAMAGE: 0}, windows={DAMAGE: Window(0, 3)})
    assert heals(table, CALM_SELF, 4).healed == 3
    table.play(healing.clear_timer, "max", CALM_SELF)  # one that was never set
    assert table.get("c:max").timers == Timers()


@pytest.mark.parametrize("play", [healing.set_timer, healing.clear_timer])
def test_only_the_gm_corrects(play):
    table, told = Table(tier_size=3), {"rolled_ago_ms": 0, "healed": 0} if play is healing.set_timer else {}
    for token in (PLAYER, CHAT, OF_ZOE):
        with pytest.raises(NotAllowed):
            table.play(play, "zoe", CALM_SELF, **told, by=token)
    with pytest.raises(NotThere):
        table.play(play, "nobody", CALM_SELF, **told, by=GM)


def test_timers_and_levels_stay_with_a_replaced_character():
    table = Table(tier_size=3)
    heals(table, CALM_SELF, level=9)
    table.play(characters.put, "zoe", characters.Profile(name="Zoé II"))
    assert is_refused(table, HealingCooldown, CALM_SELF).patient_name == "Zoé II"
    table.wait(TWO_HOURS_MS)
    assert heals(table, CALM_SELF).before == 8
