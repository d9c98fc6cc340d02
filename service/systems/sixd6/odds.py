"""A4 and beyond: the exact odds of a pool and of a hit.

The service stops a pool at 1,000 dice, the odds never do: a pool gets there with a probability below 6^-900.
"""

from collections import defaultdict
from fractions import Fraction
from functools import cache, lru_cache
from math import comb
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import astuple

from service.systems.chance import Chance, chance
from service.systems.sixd6.damage import Composure, Grit, Hit, Points, Protection, Soak, Threat, soak
from service.systems.sixd6.pool import SUCCESSES_NEEDED, BaseDice, Difficulty, Outcome, RedDice

MOST_SUCCESSES = 20
"""`at_least` goes no further."""

MOST_SIXES = 6
"""A soak has use for no more: six of them stop all that a d12 can deal."""

Law = tuple[Fraction, ...]
"""Probability of exactly 0, 1, 2… of something."""


class SuccessesChance(Chance, frozen=True, kw_only=True):
    successes: Annotated[int, Meta(ge=1, le=MOST_SUCCESSES, description="At least so many.")]


class CardsChance(Chance, frozen=True, kw_only=True):
    cards: Annotated[int, Meta(ge=0, le=6, description="Exactly so many light complication cards.")]


class OutcomeChances(Struct, frozen=True, kw_only=True):
    """The lines of A3. Without a difficulty nothing is a failure."""

    fatal_error: Chance
    critical_failure: Chance
    failure: Chance
    absolute_domination: Chance
    critical_success: Chance
    success: Chance


class PoolOdds(Struct, frozen=True, kw_only=True):
    base: BaseDice
    red: RedDice
    difficulty: Difficulty | None
    at_least: Annotated[tuple[SuccessesChance, ...], Meta(min_length=1, max_length=MOST_SUCCESSES)]
    outcomes: OutcomeChances
    complications: Annotated[tuple[CardsChance, ...], Meta(min_length=1, max_length=7)]


class DiceChance(Chance, frozen=True, kw_only=True):
    dice: Annotated[int, Meta(ge=1, le=6, description="Dice in the pool.")]


class OddsRow(Struct, frozen=True, kw_only=True):
    difficulty: Difficulty
    successes: Annotated[int, Meta(ge=1, le=6, description="Successes needed.")]
    cells: Annotated[tuple[DiceChance, ...], Meta(min_length=6, max_length=6)]


class OddsTable(Struct, frozen=True, kw_only=True):
    rows: Annotated[tuple[OddsRow, ...], Meta(min_length=6, max_length=6)]


class WoundChance(Chance, frozen=True, kw_only=True):
    damage: Points
    trauma: Points


class Expectation(Struct, frozen=True, kw_only=True):
    fraction: Annotated[str, Meta(pattern=r"^\d+/\d+(?![\s\S])", max_length=200, description="Exact and in lowest terms.")]
    value: Annotated[float, Meta(ge=0, le=12, description="Rounded to three decimals.")]


class HitOdds(Struct, frozen=True, kw_only=True):
    """`wounds`: each that can happen, from the lightest damage on, then from the least trauma on."""

    die: Threat
    rolled_die: Threat | None
    wounds: Annotated[tuple[WoundChance, ...], Meta(min_length=1, max_length=49)]
    expected_damage: Expectation
    expected_trauma: Expectation
    complications: Annotated[tuple[CardsChance, ...], Meta(min_length=1, max_length=7)]


@lru_cache(maxsize=1024)
def pool_odds(base: int, red: int, difficulty: Difficulty | None, up_to: int = 6) -> PoolOdds:
    """`up_to` is from 1 to 20."""
    dice = base + red
    return PoolOdds(
        base=base,
        red=red,
        difficulty=difficulty,
        at_least=tuple(
            SuccessesChance(*astuple(chance(at_least(successes, dice))), successes=successes)
            for successes in range(1, up_to + 1)
        ),
        outcomes=OutcomeChances(**{each.value: chance(p) for each, p in outcomes(dice, difficulty).items()}),
        complications=_cards(binomial(red, RED_ONE_IN_A_CHAIN)),
    )


@cache
def odds_table() -> OddsTable:
    """A4, printed."""
    return OddsTable(
        rows=tuple(
            OddsRow(
                difficulty=difficulty,
                successes=needed,
                cells=tuple(DiceChance(*astuple(chance(at_least(needed, dice))), dice=dice) for dice in range(1, 7)),
            )
            for difficulty, needed in SUCCESSES_NEEDED.items()
        )
    )


@lru_cache(maxsize=1024)
def hit_odds(hit: Hit) -> HitOdds:
    die = hit.rolled_die
    left = damage_left(die, light=Protection.LIGHT in hit.protections)
    joint = wounds(hit.soak, left)
    return HitOdds(
        die=hit.die,
        rolled_die=die,
        wounds=tuple(
            WoundChance(*astuple(chance(p)), damage=damage, trauma=trauma) for (damage, trauma), p in sorted(joint.items())
        ),
        expected_damage=_expectation(sum((damage * p for (damage, _), p in joint.items()), Fraction(0))),
        expected_trauma=_expectation(sum((trauma * p for (_, trauma), p in joint.items()), Fraction(0))),
        complications=_cards(soak_cards(hit.soak, rolled=1 - left[0])),
    )


# A4: successes of one die, its rerolls included.
NO_SUCCESS = Fraction(4, 6)
ONE_SUCCESS = Fraction(1, 6) + Fraction(1, 6) * NO_SUCCESS
SUCCESSES_OF_A_DIE = (NO_SUCCESS, *(ONE_SUCCESS / 6**more for more in range(MOST_SUCCESSES)))

# A5: sixes of one die; grit does not roll them again, composure does.
SIXES_OF_A_GRIT_DIE = (Fraction(5, 6), Fraction(1, 6), *[Fraction(0)] * (MOST_SIXES - 2))
SIXES_OF_A_COMPOSURE_DIE = tuple(Fraction(5, 6) / 6**sixes for sixes in range(MOST_SIXES))

# A4: a red die shows its 1 on the last throw of its chain of sixes, or on its only throw (grit).
RED_ONE_IN_A_CHAIN = Fraction(1, 5)
RED_ONE_IN_A_THROW = Fraction(1, 6)


@cache
def law_of_sum(one: Law, dice: int) -> Law:
    """What `dice` dice give together if each gives by the law `one`; cut where that one is."""
    if not dice:
        return (Fraction(1), *[Fraction(0)] * (len(one) - 1))
    fewer = law_of_sum(one, dice - 1)
    return tuple(sum((fewer[n - k] * one[k] for k in range(n + 1)), Fraction(0)) for n in range(len(one)))


def at_least(successes: int, dice: int) -> Fraction:
    return 1 - sum(law_of_sum(SUCCESSES_OF_A_DIE, dice)[: max(0, successes)], Fraction(0))


def outcomes(dice: int, difficulty: Difficulty | None) -> dict[Outcome, Fraction]:
    """A3 line by line; only the faces of the initial dice make the extremes (R1)."""
    needed = SUCCESSES_NEEDED[difficulty] if difficulty else 1
    all_alike = Fraction(1, 6**dice) if dice else Fraction(0)  # R4
    six_sixes = sum(binomial(dice, Fraction(1, 6))[6:], Fraction(0))  # they always pass: nothing needs more than six
    all_sixes_that_pass = all_alike * at_least(needed - dice, dice)  # R5: with what their rerolls bring
    chances = {
        Outcome.FATAL_ERROR: all_alike,
        Outcome.CRITICAL_FAILURE: 1 - at_least(1, dice) - all_alike,
        Outcome.FAILURE: at_least(1, dice) - at_least(needed, dice),
        Outcome.ABSOLUTE_DOMINATION: six_sixes,
        Outcome.CRITICAL_SUCCESS: all_sixes_that_pass if dice < 6 else Fraction(0),
    }
    return {**chances, Outcome.SUCCESS: 1 - sum(chances.values(), Fraction(0))}


def damage_left(die: Threat | None, *, light: bool) -> Law:
    """Damage that protection leaves, from 0 to 12 (R7, R8)."""
    faces = range(1, die.sides + 1) if die else (0,)
    left = [max(0, face - light) for face in faces]
    return tuple(Fraction(left.count(damage), len(left)) for damage in range(13))


def wounds(chosen: Soak | None, left: Law) -> dict[tuple[int, int], Fraction]:
    """Probability of each (damage, trauma)."""
    joint: defaultdict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for damage, p in enumerate(left):
        for sixes, q in enumerate(soak_sixes(chosen)):
            after = soak(chosen, damage, sixes)
            joint[after.after, after.trauma] += p * q
    return {wound: p for wound, p in joint.items() if p}


def soak_sixes(chosen: Soak | None) -> Law:
    """Sixes of the soak; the last entry is for MOST_SIXES or more."""
    if chosen is None:
        return (Fraction(1),)
    one = SIXES_OF_A_GRIT_DIE if isinstance(chosen, Grit) else SIXES_OF_A_COMPOSURE_DIE
    law = law_of_sum(one, chosen.base + chosen.red)
    return (*law, 1 - sum(law, Fraction(0)))


def soak_cards(chosen: Soak | None, rolled: Fraction) -> Law:
    """Red ones of a soak that is `rolled` with this probability (R10)."""
    if chosen is None:
        return (Fraction(1),)
    law = binomial(chosen.red, RED_ONE_IN_A_CHAIN if isinstance(chosen, Composure) else RED_ONE_IN_A_THROW)
    return (1 - rolled + rolled * law[0], *(rolled * p for p in law[1:]))


def binomial(dice: int, p: Fraction) -> Law:
    """How many of `dice` dice show what each shows with probability `p`."""
    return tuple(comb(dice, k) * p**k * (1 - p) ** (dice - k) for k in range(dice + 1))


def _cards(law: Law) -> tuple[CardsChance, ...]:
    return tuple(CardsChance(*astuple(chance(p)), cards=cards) for cards, p in enumerate(law))


def _expectation(mean: Fraction) -> Expectation:
    return Expectation(fraction=f"{mean.numerator}/{mean.denominator}", value=float(round(mean, 3)))
