"""6d6 System, in the order of its book."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from service.dice import MOST_DICE
from service.errors import InvalidValue
from service.systems.game import Game, Nothing, Question, Roll
from service.systems.sixd6 import odds, reference, sentences
from service.systems.sixd6.character import Aptitude, Qualification
from service.systems.sixd6.complications import Deck
from service.systems.sixd6.damage import Composure, Grit, Hit, MaxConversions, Protection, Threat, Wound, resolve_hit
from service.systems.sixd6.healing import Care
from service.systems.sixd6.pool import BaseDice, Difficulty, Pool, PoolRoll, RedDice, roll_pool


class SoakKind(StrEnum):
    GRIT = "grit"
    COMPOSURE = "composure"


class FlatHit(Struct, frozen=True, kw_only=True):
    """A hit without nesting, for query strings and forms."""

    die: Threat
    heavy: bool = False
    light: bool = False
    soak: SoakKind | None = None
    soak_base: BaseDice | None = None
    soak_red: RedDice | None = None
    max_conversions: MaxConversions | None = None

    def unfold(self) -> Hit:
        worn = {Protection.HEAVY: self.heavy, Protection.LIGHT: self.light}
        return Hit(die=self.die, protections=frozenset(each for each in worn if worn[each]), soak=self._soak())

    def _soak(self) -> Grit | Composure | None:
        told = {"soak_base": self.soak_base, "soak_red": self.soak_red, "max_conversions": self.max_conversions}
        stray = next((name for name, value in told.items() if value is not None), None)
        if self.soak is None:
            if stray:
                raise InvalidValue(stray, "only_with_soak")
            return None
        if self.soak_base is None:
            raise InvalidValue("soak_base", "missing")
        if self.soak is SoakKind.COMPOSURE:
            return Composure(self.soak_base, self.soak_red or 0, self.max_conversions)
        if self.max_conversions is not None:
            raise InvalidValue("max_conversions", "only_with_composure")
        return Grit(self.soak_base, self.soak_red or 0)


class PoolQuestion(Pool, frozen=True, kw_only=True):
    up_to: Annotated[int, Meta(ge=1, le=odds.MOST_SUCCESSES, description="Successes that `at_least` goes up to.")] = 6


ROLL = Roll(
    path="rolls",
    get="roll",
    id="rollPool",
    summary="Roll a pool",
    about="Fives and sixes are successes, sixes are rolled again, and each red 1 draws a card (A1–A3).",
    asked=Pool,
    facts=PoolRoll,
    play=roll_pool,
    say=sentences.say_pool,
    most_faces=MOST_DICE,
    example={"base": 5, "difficulty": "hard", "faces": [6, 4, 3, 2, 2, 5]},
    flat_example={"base": 5, "red": 1, "difficulty": "hard", "faces": "6,4,3,2,2,1,5"},
    batch=True,
)

DAMAGE = Roll(
    path="damage",
    get="damage",
    id="resolveHit",
    summary="Resolve a hit",
    about="Heavy protection, damage die, light protection, soak, in that order (A5, R6).",
    asked=Hit,
    flat=FlatHit,
    facts=Wound,
    play=resolve_hit,
    say=sentences.say_wound,
    largest_die=12,
    most_faces=MOST_DICE + 1,
    example={
        "die": "d8",
        "protections": ["heavy", "light"],
        "soak": {"kind": "composure", "base": 4, "max_conversions": 2},
        "faces": [5, 6, 3, 2, 2, 4],
    },
    flat_example={"die": "d8", "heavy": "true", "soak": "grit", "soak_base": 4, "faces": "5,6,3,2,2"},
)

GAME = Game(
    id="sixd6",
    name="6d6 System",
    folder=Path(__file__).parent,
    rolls=(ROLL, DAMAGE),
    questions=(
        Question(
            path="odds",
            id="poolOdds",
            summary="Odds of a pool",
            about="Exact chances of each number of successes, of each outcome, and of cards to draw (A4).",
            asked=PoolQuestion,
            facts=odds.PoolOdds,
            answer=lambda asked: odds.pool_odds(asked.base, asked.red, asked.difficulty, asked.up_to),
            say=sentences.say_pool_odds,
            example={"base": 4, "difficulty": "normal"},
        ),
        Question(
            path="odds/table",
            id="oddsTable",
            summary="Odds of every difficulty with one to six dice",
            about="The book's own table (A4), exact.",
            asked=Nothing,
            facts=odds.OddsTable,
            answer=lambda asked: odds.odds_table(),
            say=sentences.say_odds_table,
            example={},
        ),
        Question(
            path="damage/odds",
            method="POST",
            id="hitOdds",
            summary="Odds of a hit",
            about="The joint distribution of the damage and trauma that a hit leaves (A5), exact.",
            asked=Hit,
            facts=odds.HitOdds,
            answer=odds.hit_odds,
            say=sentences.say_hit_odds,
            example={"die": "d6", "protections": ["light"], "soak": {"kind": "grit", "base": 3}},
        ),
    ),
    reference=reference.Sixd6Reference,
    refer=reference.refer,
    vocabulary={
        Difficulty: "difficulty",
        Threat: "threat",
        SoakKind: "soak",
        Protection: "protection",
        Deck: "deck",
        Care: "care",
        Aptitude: "aptitude",
        Qualification: "qualification",
    },
)
