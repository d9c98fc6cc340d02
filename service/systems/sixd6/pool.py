"""A1–A3: the pool, how its dice are read, and what the reading means."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from service.dice import MOST_DICE, Dice, DieKind, Throw

BaseDice = Annotated[int, Meta(ge=0, le=6, description="Base dice: aptitude + qualification (A1).")]
RedDice = Annotated[int, Meta(ge=0, le=6, description="Red dice added to the pool (A1, R0).")]


class Difficulty(StrEnum):
    EASY = "easy"
    NORMAL = "normal"
    HARD = "hard"
    EXCEPTIONAL = "exceptional"
    EXTREME = "extreme"
    IMPOSSIBLE = "impossible"


class Outcome(StrEnum):
    FATAL_ERROR = "fatal_error"
    CRITICAL_FAILURE = "critical_failure"
    FAILURE = "failure"
    ABSOLUTE_DOMINATION = "absolute_domination"
    CRITICAL_SUCCESS = "critical_success"
    SUCCESS = "success"


# A3: successes that each difficulty asks for.
SUCCESSES_NEEDED = {
    Difficulty.EASY: 1,
    Difficulty.NORMAL: 2,
    Difficulty.HARD: 3,
    Difficulty.EXCEPTIONAL: 4,
    Difficulty.EXTREME: 5,
    Difficulty.IMPOSSIBLE: 6,
}

REACHED: tuple[Difficulty | None, ...] = (None, *Difficulty)

# A2: successes of one face. A six is rolled again as well.
SUCCESSES = {1: 0, 2: 0, 3: 0, 4: 0, 5: 1, 6: 1}


class Pool(Struct, frozen=True, kw_only=True):
    base: BaseDice
    red: RedDice = 0
    difficulty: Difficulty | None = None


class PoolDie(Struct, frozen=True):
    """One die on the table; rerolled dice stand beside the sixes that earned them, in the next wave."""

    face: Annotated[int, Meta(ge=1, le=6)]
    sides: Annotated[int, Meta(ge=6, le=6)]
    kind: DieKind
    wave: Annotated[int, Meta(ge=0, le=MOST_DICE)]
    successes: Annotated[int, Meta(ge=0, le=1)]


class PoolRoll(Struct, frozen=True, kw_only=True):
    base: BaseDice
    red: RedDice
    dice: Annotated[tuple[PoolDie, ...], Meta(max_length=MOST_DICE)]
    successes: Annotated[int, Meta(ge=0, le=MOST_DICE)]
    difficulty: Difficulty | None
    needed: Annotated[int, Meta(ge=1, le=6)] | None
    margin: Annotated[int, Meta(ge=-6, le=MOST_DICE)] | None
    passed: bool | None
    reached: Difficulty | None
    outcome: Outcome
    all_sixes: bool
    complications: Annotated[int, Meta(ge=0, le=MOST_DICE)]
    truncated: bool


class Wave(Struct, frozen=True):
    """Faces of the dice that fell together. A red die stays red when rolled again (R2)."""

    base: tuple[int, ...]
    red: tuple[int, ...]


class Tray(Struct, frozen=True):
    """Dice as they fell, wave by wave. `truncated`: sixes were left that were not rolled again."""

    waves: tuple[Wave, ...]
    truncated: bool = False

    @property
    def initial(self) -> tuple[int, ...]:
        """Faces of the first wave, the only ones that decide the extremes (R1)."""
        return self.waves[0].base + self.waves[0].red if self.waves else ()

    @property
    def dice(self) -> list[tuple[int, DieKind, int]]:
        """(wave, kind, face) of every die."""
        base, red = DieKind.BASE, DieKind.RED
        return [
            die
            for number, wave in enumerate(self.waves)
            for die in [*((number, base, face) for face in wave.base), *((number, red, face) for face in wave.red)]
        ]

    def count(self, face: int) -> int:
        return sum([wave.base.count(face) + wave.red.count(face) for wave in self.waves])

    @property
    def red_ones(self) -> int:
        """Each draws one light complication card (R3)."""
        return sum([wave.red.count(1) for wave in self.waves])


def throw_pool(base: int, red: int, dice: Dice, *, again: bool = True) -> Tray:
    """Throw six-sided dice; `again` rolls sixes again, wave by wave, up to MOST_DICE in all (A2)."""
    waves: list[Wave] = []
    left, truncated = MOST_DICE, False
    while base + red and left:
        earned, base = base + red, min(base, left)
        red = min(red, left - base)
        truncated = base + red < earned
        left -= base + red
        wave = _throw_wave(base, red, len(waves), dice)
        waves.append(wave)
        base, red = (wave.base.count(6), wave.red.count(6)) if again else (0, 0)
    return Tray(tuple(waves), truncated or base + red > 0)


def _throw_wave(base: int, red: int, wave: int, dice: Dice) -> Wave:
    throws = [Throw(6, DieKind.BASE, wave, base)] if base else []
    throws += [Throw(6, DieKind.RED, wave, red)] if red else []
    faces = dice.throw(*throws)
    return Wave(tuple(faces[:base]), tuple(faces[base:]))


def roll_pool(pool: Pool, dice: Dice) -> PoolRoll:
    tray = throw_pool(pool.base, pool.red, dice)
    successes = tray.count(5) + tray.count(6)
    needed = SUCCESSES_NEEDED[pool.difficulty] if pool.difficulty else None
    return PoolRoll(
        base=pool.base,
        red=pool.red,
        dice=tuple(PoolDie(face, 6, kind, wave, SUCCESSES[face]) for wave, kind, face in tray.dice),
        successes=successes,
        difficulty=pool.difficulty,
        needed=needed,
        margin=None if needed is None else successes - needed,
        passed=None if needed is None else successes >= needed,
        reached=reached(successes),
        outcome=outcome(tray.initial, successes, needed),
        all_sixes=all_show(6, tray.initial),
        complications=tray.red_ones,
        truncated=tray.truncated,
    )


def all_show(face: int, initial: tuple[int, ...]) -> bool:
    """Whether there is an initial die and all of them show `face` (R1, R4)."""
    return bool(initial) and initial.count(face) == len(initial)


def reached(successes: int) -> Difficulty | None:
    """The highest difficulty that the successes reach."""
    return REACHED[min(successes, len(SUCCESSES_NEEDED))]


def outcome(initial: tuple[int, ...], successes: int, needed: int | None) -> Outcome:
    """A3: the first line of the table that applies. R5: the threshold counts before the sixes do."""
    for line, applies in (
        (Outcome.FATAL_ERROR, all_show(1, initial)),
        (Outcome.CRITICAL_FAILURE, successes == 0),
        (Outcome.FAILURE, needed is not None and successes < needed),
        (Outcome.ABSOLUTE_DOMINATION, initial.count(6) >= 6),
        (Outcome.CRITICAL_SUCCESS, all_show(6, initial)),
    ):
        if applies:
            return line
    return Outcome.SUCCESS
