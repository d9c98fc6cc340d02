"""The facts of 6d6 System as sentences. What was rolled comes last: a sentence cut short keeps what it came to."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Protocol

from service.dice import DieKind
from service.systems.sixd6.damage import Wound
from service.systems.sixd6.odds import HitOdds, OddsTable, PoolOdds
from service.systems.sixd6.pool import SUCCESSES_NEEDED, PoolRoll
from service.words import Words

MOST_SHOWN = 30
"""Dice that a sentence lists; the others are counted."""

FACES = tuple(map(str, range(13)))


class ShownDie(Protocol):
    @property
    def face(self) -> int: ...
    @property
    def kind(self) -> DieKind: ...
    @property
    def wave(self) -> int: ...


def say_pool(roll: PoolRoll, words: Words) -> str:
    successes = words.count("say.successes", roll.successes)
    difficulty = roll.difficulty or roll.reached
    against = "" if difficulty is None else _against(roll, words.label("difficulty", difficulty), words)
    outcome = words.label("outcome", roll.outcome)
    return _sentence(
        words("say.pool", outcome=outcome, successes=successes, against=against),
        cards(roll.complications, words),
        words("say.truncated") if roll.truncated else "",
        words("say.dice", dice=listed(roll.dice, words)) if roll.dice else words("say.no_dice"),
    )


def _against(roll: PoolRoll, difficulty: str, words: Words) -> str:
    if roll.difficulty is None:
        return words("say.reaches", difficulty=difficulty)
    return words.count("say.asks", roll.needed or 0, difficulty=difficulty)


def say_wound(wound: Wound, words: Words) -> str:
    trauma = words("say.and_trauma", trauma=wound.trauma) if wound.trauma else ""
    return _sentence(
        words.count("say.wound", wound.damage, trauma=trauma),
        cards(wound.complications, words),
        words("say.destroyed", protections=_protections(wound, words)) if wound.protections_destroyed else "",
        _calculation(wound, words),
        words("say.truncated") if wound.truncated else "",
    )


def _protections(wound: Wound, words: Words) -> str:
    return words.listed(words.label("protection", each).lower() for each in wound.protections_destroyed)


def _calculation(wound: Wound, words: Words) -> str:
    if wound.rolled_die is None or wound.rolled is None:
        return words("say.no_damage_die")
    soaked = [die for die in wound.dice if die.kind is not DieKind.DAMAGE]
    rolled = words("say.damage_die", die=wound.rolled_die.upper(), face=wound.rolled)
    return rolled + (words("say.soak_dice", dice=listed(soaked, words)) if soaked else ".")


def cards(count: int, words: Words) -> str:
    return words.count("say.cards", count) if count else ""


def listed(dice: Sequence[ShownDie], words: Words) -> str:
    """6 5 + red 1 → 4: base dice, red dice, and after each arrow the rerolls that the sixes before it earned."""
    waves = [_wave(list(wave), words) for _, wave in groupby(dice[:MOST_SHOWN], key=attrgetter("wave"))]
    more = words("say.more_dice", n=len(dice) - MOST_SHOWN) if len(dice) > MOST_SHOWN else ""
    return " → ".join(waves) + more


def _wave(wave: Sequence[ShownDie], words: Words) -> str:
    of_red = DieKind.RED
    base = " ".join([FACES[die.face] for die in wave if die.kind is not of_red])
    red = " ".join([FACES[die.face] for die in wave if die.kind is of_red])
    if not red:
        return base
    said = words("say.red", faces=red)
    return f"{base} + {said}" if base else said


def say_pool_odds(odds: PoolOdds, words: Words) -> str:
    chances = " · ".join(
        words("say.at_least", n=each.successes, percent=words.number(each.percent)) for each in odds.at_least[:6]
    )
    said = words.count("say.pool_odds", odds.base + odds.red, chances=chances)
    if odds.difficulty is None:
        return said
    needed = SUCCESSES_NEEDED[odds.difficulty]
    percent = next((each.percent for each in odds.at_least if each.successes == needed), 0.0)
    asked = words("say.odds_of", difficulty=words.label("difficulty", odds.difficulty), percent=words.number(percent))
    return _sentence(asked, said)


def say_odds_table(table: OddsTable, words: Words) -> str:
    rows = (
        words(
            "say.odds_row",
            difficulty=words.label("difficulty", row.difficulty),
            cells=" / ".join(words.number(cell.percent) for cell in row.cells),
        )
        for row in table.rows
    )
    return words("say.odds_table", rows=" ".join(rows))


def say_hit_odds(odds: HitOdds, words: Words) -> str:
    likeliest = max(odds.wounds, key=lambda each: each.percent)
    return words(
        "say.hit_odds",
        die=odds.die.upper(),
        damage=words.number(odds.expected_damage.value),
        trauma=words.number(odds.expected_trauma.value),
        likeliest=words("say.likeliest", damage=likeliest.damage, trauma=likeliest.trauma),
        percent=words.number(likeliest.percent),
    )


def _sentence(*parts: str) -> str:
    return " ".join(_nonempty(parts))


def _nonempty(parts: Iterable[str]) -> Iterable[str]:
    return (part for part in parts if part)
