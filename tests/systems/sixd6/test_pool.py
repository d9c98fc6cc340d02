"""A1–A3 in rows. Faces stand in the book's order, waves between dots; b is a base die, r a red one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.dice import MOST_DICE, Dice, DieKind, FacesMismatch, FacesSource, GivenFaces, Throw
from service.systems.sixd6.pool import (
    SUCCESSES,
    SUCCESSES_NEEDED,
    Difficulty,
    Outcome,
    Pool,
    PoolDie,
    PoolRoll,
    reached,
    roll_pool,
)

EASY, NORMAL, HARD, EXCEPTIONAL, EXTREME, IMPOSSIBLE = Difficulty
FATAL, CRITICAL_FAILURE, FAILURE, DOMINATION, CRITICAL_SUCCESS, SUCCESS = Outcome
KINDS = {"b": DieKind.BASE, "r": DieKind.RED}


def fallen(notation):
    """Dice of "b6 r1 · b5": kind and face, wave by wave."""
    waves = notation.split("·") if notation else []
    return tuple(
        PoolDie(int(die[1]), 6, KINDS[die[0]], wave, int(die[1] in "56"))
        for wave, dice in enumerate(waves)
        for die in dice.split()
    )


def rolled(pool, faces):
    dice = GivenFaces(faces)
    roll = roll_pool(pool, dice)
    assert dice.finish() is FacesSource.PROVIDED
    return roll


WORKED = [
    # case, base, red, difficulty, dice, successes, needed, margin, passed, reached, outcome, all sixes, cards
    ("A-1", 1, 1, HARD, "b6 r6 · b5 r1", 3, 3, 0, True, HARD, CRITICAL_SUCCESS, True, 1),
    ("A-2", 1, 1, None, "b1 r1", 0, None, None, None, None, FATAL, False, 1),
    ("A-3", 1, 0, NORMAL, "b6 · b1", 1, 2, -1, False, EASY, FAILURE, True, 0),
    ("A-4", 0, 0, EASY, "", 0, 1, -1, False, None, CRITICAL_FAILURE, False, 0),
    (
        "A-5", 6, 2, IMPOSSIBLE, "b6 b6 b6 b6 b6 b6 r5 r2 · b1 b1 b1 b1 b1 b1",
        7, 6, 1, True, IMPOSSIBLE, DOMINATION, False, 0,
    ),
    ("A-6", 3, 0, EASY, "b2 b3 b4", 0, 1, -1, False, None, CRITICAL_FAILURE, False, 0),
    ("A-7", 2, 0, None, "b6 b6 · b6 b2 · b4", 3, None, None, None, HARD, CRITICAL_SUCCESS, True, 0),
    ("A-8", 0, 2, EASY, "r5 r1", 1, 1, 0, True, EASY, SUCCESS, False, 1),
]  # fmt: skip

RULINGS = [
    # ruling, then the same columns
    ("R0: six red dice", 0, 6, None, "r1 r1 r1 r1 r1 r5", 1, None, None, None, EASY, SUCCESS, False, 5),
    ("R1: ones on rerolls", 1, 0, None, "b6 · b1", 1, None, None, None, EASY, CRITICAL_SUCCESS, True, 0),
    ("R1: one six among ones", 1, 1, None, "b1 r6 · r1", 1, None, None, None, EASY, SUCCESS, False, 1),
    ("R1: rerolled sixes", 1, 0, None, "b6 · b6 · b6 · b6 · b6 · b6 · b4", 6, None, None, None, IMPOSSIBLE,
     CRITICAL_SUCCESS, True, 0),
    ("R1: sixth six on a reroll", 6, 0, None, "b6 b6 b6 b6 b6 b5 · b6 b2 b2 b2 b2 · b3", 7, None, None, None,
     IMPOSSIBLE, SUCCESS, False, 0),
    ("R1: red ones count", 1, 1, None, "b1 r2", 0, None, None, None, None, CRITICAL_FAILURE, False, 0),
    ("R1: red sixes count", 1, 1, None, "b6 r5 · b2", 2, None, None, None, NORMAL, SUCCESS, False, 0),
    ("R2: red again and again", 0, 1, None, "r6 · r6 · r1", 2, None, None, None, NORMAL, CRITICAL_SUCCESS, True, 1),
    ("R2: base stays base", 1, 1, None, "b6 r5 · b1", 2, None, None, None, NORMAL, SUCCESS, False, 0),
    ("R2: base rerolls first", 1, 2, None, "b6 r6 r6 · b1 r1 r5", 4, None, None, None, EXCEPTIONAL, CRITICAL_SUCCESS,
     True, 1),
    ("R2: the second red six", 1, 2, None, "b2 r3 r6 · r6 · r1", 2, None, None, None, NORMAL, SUCCESS, False, 1),
    ("R3: a card each", 1, 3, EASY, "b5 r1 r1 r1", 1, 1, 0, True, EASY, SUCCESS, False, 3),
    ("R3: initial and rerolled", 0, 2, None, "r1 r6 · r1", 1, None, None, None, EASY, SUCCESS, False, 2),
    ("R3: no card for base", 3, 1, None, "b1 b1 b1 r2", 0, None, None, None, None, CRITICAL_FAILURE, False, 0),
    ("R3: on a fatal error", 1, 3, EXTREME, "b1 r1 r1 r1", 0, 5, -5, False, None, FATAL, False, 3),
    ("R4: no dice", 0, 0, None, "", 0, None, None, None, None, CRITICAL_FAILURE, False, 0),
    ("R4: against all odds", 0, 0, IMPOSSIBLE, "", 0, 6, -6, False, None, CRITICAL_FAILURE, False, 0),
    ("R5: red sixes fall short", 0, 2, HARD, "r6 r6 · r1 r4", 2, 3, -1, False, NORMAL, FAILURE, True, 1),
    ("R5: five sixes fall short", 5, 0, IMPOSSIBLE, "b6 b6 b6 b6 b6 · b1 b2 b3 b4 b1", 5, 6, -1, False, EXTREME,
     FAILURE, True, 0),
    ("R5: a reroll gets there", 5, 0, IMPOSSIBLE, "b6 b6 b6 b6 b6 · b1 b2 b3 b4 b5", 6, 6, 0, True, IMPOSSIBLE,
     CRITICAL_SUCCESS, True, 0),
    ("A3: one die, fatal", 1, 0, EASY, "b1", 0, 1, -1, False, None, FATAL, False, 0),
    ("A3: fatal over failure", 2, 0, HARD, "b1 b1", 0, 3, -3, False, None, FATAL, False, 0),
    ("A3: ones and a five", 3, 0, NORMAL, "b1 b1 b5", 1, 2, -1, False, EASY, FAILURE, False, 0),
    ("A3: more than asked", 3, 0, EASY, "b5 b5 b5", 3, 1, 2, True, HARD, SUCCESS, False, 0),
    ("A3: exactly six sixes", 6, 0, IMPOSSIBLE, "b6 b6 b6 b6 b6 b6 · b1 b1 b1 b1 b1 b1", 6, 6, 0, True, IMPOSSIBLE,
     DOMINATION, True, 0),
    ("A3: six of eight, both kinds", 4, 4, EASY, "b6 b6 b6 b1 r6 r6 r6 r1 · b2 b2 b2 r2 r2 r1", 6, 1, 5, True,
     IMPOSSIBLE, DOMINATION, False, 2),
    ("A3: five of eight", 4, 4, EASY, "b6 b6 b6 b5 r6 r6 r5 r5 · b2 b2 b2 r2 r2", 8, 1, 7, True, IMPOSSIBLE, SUCCESS,
     False, 0),
    ("A3: all of seven", 6, 1, None, "b6 b6 b6 b6 b6 b6 r6 · b2 b2 b2 b2 b2 b2 r2", 7, None, None, None, IMPOSSIBLE,
     DOMINATION, True, 0),
    ("A3: six of twelve", 6, 6, None, "b6 b6 b6 b6 b6 b6 r1 r1 r1 r1 r1 r1 · b2 b2 b2 b2 b2 b2", 6, None, None, None,
     IMPOSSIBLE, DOMINATION, False, 6),
]  # fmt: skip


@pytest.mark.parametrize("row", WORKED + RULINGS, ids=lambda row: row[0])
def test_the_dice_are_read_by_the_book(row):
    _, base, red, difficulty, dice, successes, needed, margin, passed, highest, outcome, all_sixes, cards = row
    expected = PoolRoll(
        base=base,
        red=red,
        dice=fallen(dice),
        successes=successes,
        difficulty=difficulty,
        needed=needed,
        margin=margin,
        passed=passed,
        reached=highest,
        outcome=outcome,
        all_sixes=all_sixes,
        complications=cards,
        truncated=False,
    )
    assert rolled(Pool(base=base, red=red, difficulty=difficulty), [die.face for die in expected.dice]) == expected


# A2: successes of a face
@pytest.mark.parametrize(("face", "successes"), [(1, 0), (2, 0), (3, 0), (4, 0), (5, 1), (6, 1)])
def test_fives_and_sixes_are_successes(face, successes):
    assert SUCCESSES[face] == successes


# A3, first table
@pytest.mark.parametrize(
    ("difficulty", "needed"),
    [("easy", 1), ("normal", 2), ("hard", 3), ("exceptional", 4), ("extreme", 5), ("impossible", 6)],
)
def test_each_difficulty_asks_for_its_successes(difficulty, needed):
    assert SUCCESSES_NEEDED[Difficulty(difficulty)] == needed
    assert rolled(Pool(base=6, difficulty=Difficulty(difficulty)), [5] * (needed - 1) + [2] * (7 - needed)).passed is False
    assert rolled(Pool(base=6, difficulty=Difficulty(difficulty)), [5] * needed + [2] * (6 - needed)).passed is True


# A3: the highest difficulty that the successes reach
@pytest.mark.parametrize(
    ("successes", "highest"),
    [(0, None), (1, EASY), (2, NORMAL), (3, HARD), (4, EXCEPTIONAL), (5, EXTREME), (6, IMPOSSIBLE), (12, IMPOSSIBLE)],
)
def test_the_highest_difficulty_reached(successes, highest):
    assert reached(successes) is highest


TRUNCATED = [
    # base, red, faces, dice in the last wave (base, red), successes, cards, truncated
    (1, 0, [6] * 998 + [2], (1, 0), 998, 0, False),
    (1, 0, [6] * 999 + [5], (1, 0), 1000, 0, False),
    (1, 0, [6] * 1000, (1, 0), 1000, 0, True),  # one six is left that is not rolled again
    (0, 1, [6] * 999 + [1], (0, 1), 999, 1, False),
    (2, 6, [6] * 992 + [2] * 8, (2, 6), 992, 0, False),
    (2, 6, [6] * 999 + [2], (2, 6), 999, 0, True),
    (6, 6, [6] * 996 + [2] * 4, (4, 0), 996, 0, True),  # four of twelve rerolls; their own faces end the chain
    (6, 1, [6] * 994 + [2] * 6, (6, 0), 994, 0, True),
    (5, 2, [6] * 994 + [2] * 5 + [1], (5, 1), 994, 1, True),
    (3, 6, [6] * 999 + [1], (1, 0), 999, 0, True),
]


@pytest.mark.parametrize("row", TRUNCATED, ids=lambda row: f"{row[0]}+{row[1]}, {len(row[2])} faces")
def test_a_pool_stops_at_a_thousand_dice_and_says_so(row):
    base, red, faces, last, *expected = row
    roll = rolled(Pool(base=base, red=red), faces)
    assert [die.face for die in roll.dice] == faces
    final = [die.kind for die in roll.dice if die.wave == roll.dice[-1].wave]
    assert (final.count(DieKind.BASE), final.count(DieKind.RED)) == last
    assert [roll.successes, roll.complications, roll.truncated] == expected


def base_dice(wave, count):
    return Throw(6, DieKind.BASE, wave, count)


def red_dice(wave, count):
    return Throw(6, DieKind.RED, wave, count)


MISMATCHES = [
    # base, red, faces, position at fault, sides of the wrong die, needed there (nothing: too many)
    (2, 1, [], 0, None, (base_dice(0, 2), red_dice(0, 1))),
    (2, 1, [3], 1, None, (base_dice(0, 1), red_dice(0, 1))),
    (2, 1, [3, 3], 2, None, (red_dice(0, 1),)),
    (2, 1, [3, 3, 6], 3, None, (red_dice(1, 1),)),
    (2, 1, [6, 3, 6], 3, None, (base_dice(1, 1), red_dice(1, 1))),
    (2, 1, [6, 6, 6, 6], 4, None, (base_dice(1, 1), red_dice(1, 1))),
    (2, 1, [6, 6, 6, 6, 2, 6], 6, None, (base_dice(2, 1), red_dice(2, 1))),
    (1, 0, [6, 6, 6], 3, None, (base_dice(3, 1),)),
    (1, 0, [6] * 999, 999, None, (base_dice(999, 1),)),
    (6, 6, [6] * 996, 996, None, (base_dice(83, 4),)),
    (2, 1, [7, 3, 3], 0, 6, (base_dice(0, 2), red_dice(0, 1))),
    (2, 1, [3, 3, 0], 2, 6, (red_dice(0, 1),)),
    (2, 1, [6, 3, 6, 2, 7], 4, 6, (red_dice(1, 1),)),
    (2, 1, [3, 3, 3, 3], 3, None, ()),
    (2, 1, [6, 3, 3, 3, 3, 3], 4, None, ()),
    (1, 0, [6] * 1001, 1000, None, ()),
    (0, 0, [1], 0, None, ()),
]


@pytest.mark.parametrize("row", MISMATCHES, ids=lambda row: f"{row[0]}+{row[1]}, {len(row[2])} faces")
def test_faces_that_do_not_fit_the_pool(row):
    base, red, faces, *expected = row
    with pytest.raises(FacesMismatch) as refusal:
        rolled(Pool(base=base, red=red), faces)
    assert [refusal.value.at, refusal.value.sides, refusal.value.needed] == expected


class Twos(Dice):
    """Ends every chain."""

    def throw(self, *throws):
        return [2 for throw in throws for _ in range(throw.count)]


SOURCES = [
    # faces given, dice, source
    ([], "b2 r2", FacesSource.SERVICE),
    ([6], "b6 r2 · b2", FacesSource.MIXED),
    ([6, 6], "b6 r6 · b2 r2", FacesSource.MIXED),
    ([6, 6, 1], "b6 r6 · b1 r2", FacesSource.MIXED),
    ([6, 6, 1, 1], "b6 r6 · b1 r1", FacesSource.PROVIDED),
]


@pytest.mark.parametrize(("faces", "dice", "source"), SOURCES)
def test_given_faces_come_first_and_the_rest_is_rolled(faces, dice, source):
    given_first = GivenFaces(faces, rest=Twos())
    assert roll_pool(Pool(base=1, red=1), given_first).dice == fallen(dice)
    assert given_first.finish() is source


pools = st.builds(Pool, base=st.integers(0, 6), red=st.integers(0, 6), difficulty=st.none() | st.sampled_from(Difficulty))
chains = st.lists(st.integers(1, 6) | st.just(6), max_size=80).map(lambda faces: GivenFaces(faces, rest=Twos()))


@settings(deadline=None)
@given(pools, chains)
def test_its_own_faces_give_the_same_answer_again(pool, dice):
    roll = roll_pool(pool, dice)
    assert rolled(pool, [die.face for die in roll.dice]) == roll


@settings(deadline=None)
@given(pools, chains)
def test_a_wave_rerolls_the_sixes_of_the_wave_before(pool, dice):
    roll = roll_pool(pool, dice)
    waves = range(max((die.wave for die in roll.dice), default=-1) + 1)
    for kind, initial in ((DieKind.BASE, pool.base), (DieKind.RED, pool.red)):
        faces = [[die.face for die in roll.dice if (die.kind, die.wave) == (kind, wave)] for wave in waves]
        assert [len(wave) for wave in faces] + [0] == [initial] + [wave.count(6) for wave in faces]


@settings(deadline=None)
@given(pools, chains)
def test_successes_and_cards_are_what_lies_on_the_table(pool, dice):
    roll = roll_pool(pool, dice)
    faces = [die.face for die in roll.dice]
    assert roll.successes == faces.count(5) + faces.count(6) == sum(die.successes for die in roll.dice)
    assert roll.complications == [(die.kind, die.face) for die in roll.dice].count((DieKind.RED, 1))
    assert len(roll.dice) == pool.base + pool.red + faces.count(6) <= MOST_DICE


@settings(deadline=None)
@given(pools, chains)
def test_a_named_difficulty_changes_the_verdict_and_nothing_else(pool, dice):
    roll = roll_pool(pool, dice)
    plain = rolled(Pool(base=pool.base, red=pool.red), [die.face for die in roll.dice])
    assert (plain.dice, plain.successes, plain.reached, plain.complications, plain.all_sixes) == (
        roll.dice, roll.successes, roll.reached, roll.complications, roll.all_sixes,
    )  # fmt: skip
    assert roll.outcome is (FAILURE if roll.passed is False and roll.successes else plain.outcome)
