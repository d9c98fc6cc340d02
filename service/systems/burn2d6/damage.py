"""B3: a hit, spread by the player over stats and, where the table lets them, slots (B-R6)."""

from typing import Annotated

from msgspec import Meta, Struct

from service.errors import InvalidValue
from service.systems.burn2d6.action import OUT_OF_ACTION, Burns, Stat, StatValue
from service.words import NO_CONTROLS

PlaceName = Annotated[str, Meta(min_length=1, max_length=64, pattern=NO_CONTROLS)]
SlotValue = Annotated[int, Meta(ge=0, le=20)]
Points = Annotated[int, Meta(ge=0, le=100)]

MOST_PLACES = 8
"""Four stats and four slots (B1)."""


class BurnableStat(Struct, frozen=True, forbid_unknown_fields=True):
    value: StatValue
    burned: Burns = 0


class BurnableSlot(Struct, frozen=True, forbid_unknown_fields=True):
    name: PlaceName
    value: SlotValue
    burned: Burns = 0


Place = BurnableStat | BurnableSlot


class BurnHit(Struct, frozen=True, kw_only=True):
    """A hit as its player spreads it. Of the stats only those given are known, and only they count as burned out."""

    stats: Annotated[dict[Stat, BurnableStat], Meta(min_length=1, max_length=4)]
    slots: Annotated[tuple[BurnableSlot, ...], Meta(max_length=4, description="None is named like a stat.")] = ()
    hit: Annotated[
        dict[PlaceName, Points],
        Meta(min_length=1, max_length=MOST_PLACES, description="Points for each stat or slot, by its name (B-R6)."),
    ]
    spend_surge: Annotated[bool, Meta(description="Spend the surge to avoid the whole hit (B3).")] = False


class StatAfter(Struct, frozen=True):
    value: StatValue
    burned: Burns
    burned_out: bool


class SlotAfter(Struct, frozen=True):
    name: PlaceName
    value: SlotValue
    burned: Burns


class PlaceHit(Struct, frozen=True):
    """What one place took: points = burns + overflow."""

    place: PlaceName
    points: Points
    burns: Burns
    overflow: Points


class BurnWound(Struct, frozen=True, kw_only=True):
    stats: Annotated[dict[Stat, StatAfter], Meta(min_length=1, max_length=4)]
    slots: Annotated[tuple[SlotAfter, ...], Meta(max_length=4)]
    places: Annotated[
        tuple[PlaceHit, ...], Meta(max_length=MOST_PLACES, description="In the hit's order; none when it was avoided.")
    ]
    overflow: Annotated[int, Meta(ge=0, le=800, description="Points that their places could not hold, in all (B-R6).")]
    burned_out_stats: Annotated[tuple[Stat, ...], Meta(max_length=4)]
    extra_dice: Annotated[int, Meta(ge=0, le=1, description="On later actions; 0 also when out of action (B3).")]
    out_of_action: bool
    avoided: bool


def resolve_burn_hit(hit: BurnHit) -> BurnWound:
    """Raises what `refuse` raises; no die is rolled for damage."""
    refuse(hit)
    there = _places(hit)
    landed = {} if hit.spend_surge else hit.hit
    places = tuple(_strike(name, there[name], points) for name, points in landed.items())
    taken = {each.place: each.burns for each in places}
    stats = {stat: _stat_after(hit.stats[stat], taken.get(stat, 0)) for stat in Stat if stat in hit.stats}
    burned_out = tuple(stat for stat in stats if stats[stat].burned_out)
    return BurnWound(
        stats=stats,
        slots=tuple(SlotAfter(slot.name, slot.value, slot.burned + taken.get(slot.name, 0)) for slot in hit.slots),
        places=places,
        overflow=sum(each.overflow for each in places),
        burned_out_stats=burned_out,
        extra_dice=int(len(burned_out) == 1),
        out_of_action=len(burned_out) >= OUT_OF_ACTION,
        avoided=hit.spend_surge,
    )


def refuse(hit: BurnHit) -> None:
    """In this order: each stat, each slot, each place of the hit. Raises InvalidValue at the first that cannot be."""
    for stat in hit.stats:
        _refuse_burned_beyond(hit.stats[stat], f"stats.{stat}")
    for number, slot in enumerate(hit.slots):
        if slot.name in list(Stat):
            raise InvalidValue(f"slots[{number}].name", "slot_named_like_stat", name=slot.name)
        if slot.name in [other.name for other in hit.slots[:number]]:
            raise InvalidValue(f"slots[{number}].name", "slot_named_twice", name=slot.name)
        _refuse_burned_beyond(slot, f"slots[{number}]")
    there = _places(hit)
    for name in hit.hit:
        if name not in there:
            raise InvalidValue(f"hit.{name}", "no_such_place", place=name, places=", ".join(there))


def _refuse_burned_beyond(place: Place, path: str) -> None:
    if place.burned > place.value:
        raise InvalidValue(f"{path}.burned", "burned_beyond_value", burned=place.burned, value=place.value)


def _places(hit: BurnHit) -> dict[str, Place]:
    return {**{stat.value: hit.stats[stat] for stat in hit.stats}, **{slot.name: slot for slot in hit.slots}}


def _strike(name: str, place: Place, points: int) -> PlaceHit:
    """B-R6: the excess stays with its place and spills nowhere."""
    burns = min(points, place.value - place.burned)
    return PlaceHit(name, points, burns, points - burns)


def _stat_after(stat: BurnableStat, burns: int) -> StatAfter:
    burned = stat.burned + burns
    return StatAfter(stat.value, burned, burned >= stat.value)
