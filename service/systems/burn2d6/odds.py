"""B6: exact odds of an action, and what each burned point buys."""

from collections import Counter
from fractions import Fraction
from typing import Annotated

from msgspec import Meta, Struct

from service.systems.burn2d6.action import ActionOutcome, StatValue, outcome
from service.systems.chance import Chance, chance

DiceRolled = Annotated[int, Meta(ge=1, le=6, description="Dice rolled; six with the penalty of B-R3.")]


class OddsQuestion(Struct, frozen=True, kw_only=True):
    value: StatValue
    dice_count: DiceRolled = 2


class BurnOdds(Struct, frozen=True, kw_only=True):
    """The odds after `burn` dice were removed, whatever removed them: stat, slot, surge or helper."""

    burn: Annotated[int, Meta(ge=1, le=5)]
    dice_count: Annotated[int, Meta(ge=1, le=5)]
    success: Chance
    partial_success: Chance
    failure: Chance
    surge_regained: Chance


class ActionOdds(Struct, frozen=True, kw_only=True):
    value: StatValue
    dice_count: DiceRolled
    success: Chance
    partial_success: Chance
    failure: Chance
    surge_regained: Chance
    with_burns: Annotated[
        tuple[BurnOdds, ...], Meta(max_length=5, description="Down to one die, the least that is rolled (B-R4).")
    ]


def action_odds(question: OddsQuestion) -> ActionOdds:
    value, dice_count = question.value, question.dice_count
    return ActionOdds(
        value=value,
        dice_count=dice_count,
        **chances(value, dice_count),
        with_burns=tuple(
            BurnOdds(burn=burn, dice_count=dice_count - burn, **chances(value, dice_count - burn))
            for burn in range(1, dice_count)
        ),
    )


def chances(value: int, dice_count: int) -> dict[str, Chance]:
    """The chance of each outcome against `value`, and of regaining the surge."""
    ways: Counter[ActionOutcome] = Counter()
    for total, count in totals(dice_count).items():
        ways[outcome(total, value)] += count
    every = 6**dice_count
    odds = {each.value: chance(Fraction(ways[each], every)) for each in ActionOutcome}
    return {**odds, "surge_regained": chance(Fraction(1, every))}


def totals(dice_count: int) -> Counter[int]:
    """In how many ways so many dice give each total, one die folded in after another."""
    ways = Counter({0: 1})
    for _ in range(dice_count):
        more: Counter[int] = Counter()
        for total, count in ways.items():
            for face in range(1, 7):
                more[total + face] += count
        ways = more
    return ways
