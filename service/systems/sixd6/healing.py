"""A6: cares, and the two limits of two hours that hold for each patient. All times are session time in milliseconds."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from service.dice import MOST_DICE, Dice
from service.errors import HealingCooldown, HealingWindowFull, NothingToHeal, TierSizeUnknown
from service.systems.sixd6.pool import SUCCESSES, BaseDice, PoolDie, RedDice, throw_pool

TWO_HOURS_MS = 7_200_000
MOST_MS = 100_000_000_000_000
"""Beyond every time that a table can reach; the bound is there for records that come from elsewhere."""

SessionTime = Annotated[int, Meta(ge=-MOST_MS, le=MOST_MS)]

Level = Annotated[int, Meta(ge=0, le=1_000, description="Points on a track.")]
TierSize = Annotated[int, Meta(ge=1, le=20, description="Points that make a tier (R16).")]


class Care(StrEnum):
    TREAT_DAMAGE = "treat_damage"
    CALM_SELF = "calm_self"
    CALM_OTHER = "calm_other"


class Track(StrEnum):
    DAMAGE = "damage"
    TRAUMA = "trauma"


class RollLimit(StrEnum):
    """R14: one roll of each care per two hours, or one healing roll in all."""

    PER_CARE = "per_care"
    PER_PATIENT = "per_patient"


TRACK_HEALED = {Care.TREAT_DAMAGE: Track.DAMAGE, Care.CALM_SELF: Track.TRAUMA, Care.CALM_OTHER: Track.TRAUMA}


class Window(Struct, frozen=True):
    """R15: opened by the first roll on a track; `healed` points so far, a tier at most."""

    opened_ms: SessionTime
    healed: Annotated[int, Meta(ge=0, le=1_000)] = 0

    @property
    def closes_ms(self) -> int:
        return self.opened_ms + TWO_HOURS_MS


class Timers(Struct, frozen=True, omit_defaults=True):
    """What a patient's limits are counted from."""

    rolled_ms: dict[Care, SessionTime] = field(default_factory=dict)
    windows: dict[Track, Window] = field(default_factory=dict)


class Treatment(Struct, frozen=True, kw_only=True):
    """A healing roll that is asked for. `tier_size` None: the table has not said."""

    care: Care
    patient: str
    base: BaseDice
    red: RedDice = 0
    level: Level
    tier_size: TierSize | None
    roll_limit: RollLimit = RollLimit.PER_CARE


class Healed(Struct, frozen=True, kw_only=True):
    dice: Annotated[tuple[PoolDie, ...], Meta(max_length=MOST_DICE)]
    successes: Annotated[int, Meta(ge=0, le=MOST_DICE)]
    before: Level
    after: Level
    healed: Level
    lost: Annotated[int, Meta(ge=0, le=MOST_DICE, description="Successes that healed nothing.")]
    complications: Annotated[int, Meta(ge=0, le=MOST_DICE)]
    truncated: bool


def cooldown_ends_ms(timers: Timers, care: Care, limit: RollLimit) -> int | None:
    """R14: two hours after that patient's last roll of this care, or of any."""
    rolled = timers.rolled_ms
    last = rolled.get(care) if limit is RollLimit.PER_CARE else max(rolled.values(), default=None)
    return None if last is None else last + TWO_HOURS_MS


def window_of(timers: Timers, track: Track, now_ms: int) -> Window:
    """The window that a roll made now belongs to: the open one, or a new one (R15)."""
    window = timers.windows.get(track)
    return window if window and now_ms < window.closes_ms else Window(now_ms)


def next_roll_ms(timers: Timers, care: Care, limit: RollLimit, tier_size: int | None, now_ms: int) -> int:
    """The first moment, from now on, when neither limit stands in the way of this care."""
    window = timers.windows.get(TRACK_HEALED[care])
    full_until = window.closes_ms if window and tier_size and window.healed >= tier_size else now_ms
    return max(now_ms, cooldown_ends_ms(timers, care, limit) or now_ms, full_until)


def refuse_if_too_early(asked: Treatment, timers: Timers, now_ms: int) -> int:
    """The tier's size. Raises, in the order of A6: TierSizeUnknown, NothingToHeal, HealingCooldown, HealingWindowFull."""
    if asked.tier_size is None:
        raise TierSizeUnknown(asked.care, asked.patient)
    if not asked.level:
        raise NothingToHeal(asked.care, asked.patient)
    next_ms = next_roll_ms(timers, asked.care, asked.roll_limit, asked.tier_size, now_ms)
    if now_ms < (cooldown_ends_ms(timers, asked.care, asked.roll_limit) or now_ms):
        raise HealingCooldown(asked.care, asked.patient, next_ms)
    if window_of(timers, TRACK_HEALED[asked.care], now_ms).healed >= asked.tier_size:
        raise HealingWindowFull(asked.care, asked.patient, next_ms)
    return asked.tier_size


def treat(asked: Treatment, timers: Timers, now_ms: int, dice: Dice) -> tuple[Healed, Timers]:
    """Roll, heal what the window allows, and start both limits. Raises what refuse_if_too_early raises."""
    tier_size = refuse_if_too_early(asked, timers, now_ms)
    tray = throw_pool(asked.base, asked.red, dice)
    successes = tray.count(5) + tray.count(6)
    track = TRACK_HEALED[asked.care]
    window = window_of(timers, track, now_ms)
    healed = min(successes, tier_size - window.healed, asked.level)
    facts = Healed(
        dice=tuple(PoolDie(face, 6, kind, wave, SUCCESSES[face]) for wave, kind, face in tray.dice),
        successes=successes,
        before=asked.level,
        after=asked.level - healed,
        healed=healed,
        lost=successes - healed,
        complications=tray.red_ones,
        truncated=tray.truncated,
    )
    return facts, Timers(
        rolled_ms={**timers.rolled_ms, asked.care: now_ms},
        windows={**timers.windows, track: replace(window, healed=window.healed + healed)},
    )
