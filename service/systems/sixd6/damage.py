"""A5: from the threat to the wound. The order is R6: heavy protection, damage die, light protection, soak."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from service.dice import MOST_DICE, Dice, DieKind, Throw
from service.systems.sixd6.pool import BaseDice, RedDice, Tray, throw_pool

Points = Annotated[int, Meta(ge=0, le=12)]
MaxConversions = Annotated[int, Meta(ge=0, le=20, description="Convert at most this often; null converts all that fits.")]


class Threat(StrEnum):
    """The damage die of a threat."""

    D2 = "d2"
    D4 = "d4"
    D6 = "d6"
    D8 = "d8"
    D10 = "d10"
    D12 = "d12"

    @property
    def sides(self) -> int:
        return int(self[1:])

    def lowered(self) -> "Threat | None":
        """One step down; below d2 there is no die (R7)."""
        return LOWERED[self]


LOWERED: dict[Threat, Threat | None] = dict(zip(Threat, (None, *Threat), strict=False))


class Protection(StrEnum):
    LIGHT = "light"
    HEAVY = "heavy"


class Grit(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="grit"):
    """Physique + endurance: each six cancels 2 damage, down to 1 (R11)."""

    base: BaseDice
    red: RedDice = 0


class Composure(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="composure"):
    """Control + resilience: sixes are rolled again, and each six can turn 2 damage into 1 trauma (R12, R13)."""

    base: BaseDice
    red: RedDice = 0
    max_conversions: MaxConversions | None = None


Soak = Annotated[Grit | Composure, Meta(title="Soak", description="What the target sets against the damage that is left.")]


class Hit(Struct, frozen=True, kw_only=True):
    """One threat that has struck, and what its target sets against it."""

    die: Threat
    protections: frozenset[Protection] = frozenset()
    soak: Soak | None = None

    @property
    def rolled_die(self) -> Threat | None:
        """The die that is rolled: one lower behind a heavy protection, none below d2 (R7)."""
        return self.die.lowered() if Protection.HEAVY in self.protections else self.die


class HeavyProtectionStep(Struct, frozen=True, tag_field="step", tag="heavy_protection"):
    before: Threat
    after: Threat | None


class DamageRollStep(Struct, frozen=True, tag_field="step", tag="damage_roll"):
    after: Points


class LightProtectionStep(Struct, frozen=True, tag_field="step", tag="light_protection"):
    before: Points
    after: Points


class SoakStep(Struct, frozen=True, tag_field="step", tag="soak"):
    before: Points
    after: Points
    sixes: Annotated[int, Meta(ge=0, le=MOST_DICE)]
    trauma: Points


Step = Annotated[
    HeavyProtectionStep | DamageRollStep | LightProtectionStep | SoakStep,
    Meta(title="Step", description="One thing that changed the hit, in the order of R6."),
]


class HitDie(Struct, frozen=True):
    """The damage die, or a die of the soak; of these only a six counts (`soaks`)."""

    face: Annotated[int, Meta(ge=1, le=12)]
    sides: Annotated[int, Meta(ge=2, le=12)]
    kind: DieKind
    wave: Annotated[int, Meta(ge=0, le=MOST_DICE)]
    soaks: bool


class Wound(Struct, frozen=True, kw_only=True):
    die: Threat
    rolled_die: Threat | None
    rolled: Points | None
    dice: Annotated[tuple[HitDie, ...], Meta(max_length=MOST_DICE + 1)]
    damage: Points
    trauma: Points
    conversions_possible: Points
    protections_left: tuple[Protection, ...]
    protections_destroyed: tuple[Protection, ...]
    steps: Annotated[tuple[Step, ...], Meta(max_length=4)]
    complications: Annotated[int, Meta(ge=0, le=MOST_DICE)]
    truncated: bool


def resolve_hit(hit: Hit, dice: Dice) -> Wound:
    heavy = Protection.HEAVY in hit.protections
    die = hit.rolled_die
    rolled = dice.throw(Throw(die.sides, DieKind.DAMAGE, 0, 1))[0] if die else None
    light = Protection.LIGHT in hit.protections and bool(rolled)  # R9: without an effect to give it is kept
    left = (rolled or 0) - light
    tray = throw_soak(hit.soak, left, dice)
    soaked = soak(hit.soak, left, tray.count(6))
    destroyed = {Protection.HEAVY: heavy, Protection.LIGHT: light}
    return Wound(
        die=hit.die,
        rolled_die=die,
        rolled=rolled,
        dice=tuple(_dice(die, rolled, tray)),
        damage=soaked.after,
        trauma=soaked.trauma,
        conversions_possible=conversions_possible(hit.soak, left, soaked.sixes),
        protections_left=tuple(each for each in Protection if each in hit.protections and not destroyed[each]),
        protections_destroyed=tuple(each for each in destroyed if destroyed[each]),
        steps=tuple(_steps(hit, die, rolled, light, soaked)),
        complications=tray.red_ones,
        truncated=tray.truncated,
    )


def throw_soak(chosen: Soak | None, left: int, dice: Dice) -> Tray:
    """R10: a soak is rolled only when damage is left. Only composure rolls its sixes again."""
    if chosen is None or not left:
        return Tray(())
    return throw_pool(chosen.base, chosen.red, dice, again=isinstance(chosen, Composure))


def soak(chosen: Soak | None, left: int, sixes: int) -> SoakStep:
    """What `sixes` make of the damage that is left."""
    if isinstance(chosen, Composure):
        most = conversions_possible(chosen, left, sixes)
        conversions = most if chosen.max_conversions is None else min(most, chosen.max_conversions)
        return SoakStep(before=left, after=left - 2 * conversions, sixes=sixes, trauma=conversions)
    after = max(min(left, 1), left - 2 * sixes)  # R11: what remains is at least 1
    return SoakStep(before=left, after=after, sixes=sixes, trauma=0)


def conversions_possible(chosen: Soak | None, left: int, sixes: int) -> int:
    """R12: a conversion needs a six and two whole points."""
    return min(sixes, left // 2) if isinstance(chosen, Composure) else 0


def _dice(die: Threat | None, rolled: int | None, tray: Tray) -> list[HitDie]:
    damage = [HitDie(rolled, die.sides, DieKind.DAMAGE, 0, False)] if die and rolled else []
    return damage + [HitDie(face, 6, kind, wave, face == 6) for wave, kind, face in tray.dice]


def _steps(hit: Hit, die: Threat | None, rolled: int | None, light: bool, soaked: SoakStep) -> list[Step]:
    steps: list[Step] = []
    if Protection.HEAVY in hit.protections:
        steps.append(HeavyProtectionStep(before=hit.die, after=die))
    if rolled is not None:
        steps.append(DamageRollStep(after=rolled))
    if light and rolled:
        steps.append(LightProtectionStep(before=rolled, after=rolled - 1))
    if hit.soak and soaked.before:
        steps.append(soaked)
    return steps
