"""B6: the odds, against every throw of the dice written out."""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import pairwise, product

import msgspec
import pytest

from service.systems.burn2d6.action import ActionOutcome
from service.systems.burn2d6.odds import ActionOdds, OddsQuestion, action_odds
from service.systems.chance import Chance, chance

VALUES = range(1, 21)
DICE = range(1, 7)

ODDS = [
    # value, dice, success, partial success, failure and surge regained
    (7, 2, ["5/12", "1/6", "5/12", "1/36"]),
    (7, 1, ["1/1", "0/1", "0/1", "1/6"]),
    (6, 1, ["5/6", "1/6", "0/1", "1/6"]),
    (1, 1, ["0/1", "1/6", "5/6", "1/6"]),
    (1, 2, ["0/1", "0/1", "1/1", "1/36"]),
    (12, 2, ["35/36", "1/36", "0/1", "1/36"]),
    (11, 3, ["1/2", "1/8", "3/8", "1/216"]),
    (20, 6, ["5647/15552", "469/5184", "4249/7776", "1/46656"]),
]


@cache
def throws(dice_count):
    """How many of all throws show each total, and how many of them show only sixes."""
    every = list(product(range(1, 7), repeat=dice_count))
    return Counter(map(sum, every)), sum(set(throw) == {6} for throw in every), len(every)


def share(dice_count, wins):
    totals, _, every = throws(dice_count)
    return Fraction(sum(count for total, count in totals.items() if wins(total)), every)


def told(odds):
    return [each.fraction for each in (odds.success, odds.partial_success, odds.failure, odds.surge_regained)]


def exact(odds):
    return [Fraction(fraction) for fraction in told(odds)]


@pytest.mark.parametrize(("value", "dice_count", "fractions"), ODDS)
def test_odds(value, dice_count, fractions):
    assert told(action_odds(OddsQuestion(value=value, dice_count=dice_count))) == fractions


@pytest.mark.parametrize("dice_count", DICE)
@pytest.mark.parametrize("value", VALUES)
def test_odds_are_the_share_of_all_throws(value, dice_count):
    odds = action_odds(OddsQuestion(value=value, dice_count=dice_count))
    sixes, every = throws(dice_count)[1:]
    assert exact(odds) == [
        share(dice_count, lambda total: total < value),
        share(dice_count, lambda total: total == value),
        share(dice_count, lambda total: total > value),
        Fraction(sixes, every),
    ]
    assert sum(exact(odds)[: len(ActionOutcome)]) == 1


@pytest.mark.parametrize("dice_count", DICE)
@pytest.mark.parametrize("value", VALUES)
def test_each_burn_is_an_action_with_a_die_less(value, dice_count):
    odds = action_odds(OddsQuestion(value=value, dice_count=dice_count))
    assert [(each.burn, each.dice_count) for each in odds.with_burns] == [
        (burn, dice_count - burn) for burn in range(1, dice_count)
    ]
    for each in odds.with_burns:
        assert exact(each) == exact(action_odds(OddsQuestion(value=value, dice_count=each.dice_count)))


@pytest.mark.parametrize("value", VALUES)
def test_a_burn_more_never_lowers_the_chance_of_success(value):
    odds = action_odds(OddsQuestion(value=value, dice_count=6))
    assert all(exact(fewer)[0] >= exact(more)[0] for more, fewer in pairwise([odds, *odds.with_burns]))


def test_two_dice_unless_asked():
    assert msgspec.json.decode(b'{"value": 7}', type=OddsQuestion) == OddsQuestion(value=7, dice_count=2)


def test_an_answer_stays_within_its_contract():
    for value, dice_count in product(VALUES, DICE):
        odds = action_odds(OddsQuestion(value=value, dice_count=dice_count))
        assert msgspec.json.decode(msgspec.json.encode(odds), type=ActionOdds) == odds


@pytest.mark.parametrize("body", [{}, {"value": 0}, {"value": 21}, {"value": 7, "dice_count": 0}])
def test_bounds_of_a_request(body):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(body, OddsQuestion)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"value": 7, "dice_count": 7}, OddsQuestion)


CHANCES = [
    # probability, fraction, percent
    (Fraction(15, 36), "5/12", 41.667),
    (Fraction(0), "0/1", 0.0),
    (Fraction(1), "1/1", 100.0),
    (Fraction(2, 3), "2/3", 66.667),
    (Fraction(1, 3), "1/3", 33.333),
    (Fraction(1, 6**6), "1/46656", 0.002),
    (Fraction(1, 6**7), "1/279936", 0.0),
    (Fraction(5, 1_000_000), "1/200000", 0.0),  # half to even
    (Fraction(15, 1_000_000), "3/200000", 0.002),
    (Fraction(15, 1_000_000) - Fraction(1, 10**40), None, 0.001),  # from the fraction, not from a float near it
    (1 - Fraction(1, 10**9), "999999999/1000000000", 100.0),
]


@pytest.mark.parametrize(("probability", "fraction", "percent"), CHANCES)
def test_chance(probability, fraction, percent):
    assert chance(probability).percent == percent
    assert fraction in (None, chance(probability).fraction)
    assert Fraction(chance(probability).fraction) == probability


@pytest.mark.parametrize("fraction", ["", "1", "1/2\n", "1 / 2", "-1/2", "x1/2"])
def test_a_fraction_is_written_as_two_numbers(fraction):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"fraction": fraction, "percent": 50.0}, Chance)
