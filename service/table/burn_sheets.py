"""B1 at a table: the sheet of a character, and what it remembers of burns, surge and story."""

from collections.abc import Iterable, Mapping
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, ValidationError, convert, to_builtins
from msgspec.structs import replace

from service.errors import InvalidValue, NotThere
from service.systems.burn2d6.action import Burns, Stat, StatValue
from service.systems.burn2d6.build import SlotBurns, StatBurns, StatsBurnedOut
from service.systems.burn2d6.damage import (
    MOST_PLACES,
    BurnableSlot,
    BurnableStat,
    BurnHit,
    BurnWound,
    SlotAfter,
    SlotValue,
    StatAfter,
    resolve_burn_hit,
)
from service.table import characters
from service.table.audience import Role
from service.table.names import sought, spelt
from service.table.records import Burnable, BurnSheet, Slot, Tally
from service.table.turn import Turn

MOST_SLOTS = 4
MOST_TALLIED, MOST_BURNED_OUT = 1_000, 4
"""Where a story's tally stops counting: burns of a kind, stats burned out."""

PlaceName = Annotated[str, Meta(min_length=1, max_length=400, description="A stat's id, or a slot's name.")]
CharacterName = Annotated[str, Meta(max_length=64)]
Version = Annotated[int, Meta(ge=0, description="The sheet's, as in its ETag; for If-Match.")]


class SheetSlot(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A power or a piece of equipment (B1)."""

    name: characters.GivenName
    value: SlotValue
    burned: Burns = 0


class StoryTally(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Burns taken since the story began, from rolls and hits; corrections of the sheet and the surge do not count (B5)."""

    stat_burns: StatBurns = 0
    slot_burns: SlotBurns = 0
    stats_burned_out: StatsBurnedOut = 0


Stats = Annotated[dict[Stat, BurnableStat], Meta(min_length=1, max_length=4)]
Slots = Annotated[tuple[SheetSlot, ...], Meta(max_length=MOST_SLOTS, description="None is named like a stat.")]


class BurnSheetProfile(Struct, frozen=True, kw_only=True):
    """Everything that a sheet holds: stats and slots with their burns, the surge, the story's tally."""

    stats: Stats
    slots: Slots = ()
    surge: Annotated[bool, Meta(description="Available, or used.")] = True
    tally: StoryTally = StoryTally()


class StatChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    value: StatValue | UnsetType = UNSET
    burned: Burns | UnsetType | None = UNSET


class TallyChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    stat_burns: StatBurns | UnsetType | None = UNSET
    slot_burns: SlotBurns | UnsetType | None = UNSET
    stats_burned_out: StatsBurnedOut | UnsetType | None = UNSET


class BurnSheetProfileChange(Struct, frozen=True, kw_only=True):
    """A merge patch: what is absent stays, null resets (a stat: takes it away). `adjust` comes last, and is relative."""

    stats: Annotated[dict[Stat, StatChange | None], Meta(max_length=4)] | UnsetType = UNSET
    slots: Slots | UnsetType | None = UNSET
    surge: bool | UnsetType | None = UNSET
    tally: TallyChange | UnsetType | None = UNSET
    adjust: Annotated[
        dict[PlaceName, Annotated[int, Meta(ge=-20, le=20)]],
        Meta(max_length=MOST_PLACES, description="Burns to add to a stat or slot, or to take off: from 0 to its value."),
    ] = {}


class BurnSheetFacts(Struct, frozen=True, kw_only=True):
    character: characters.Identifier
    name: CharacterName
    version: Version
    stats: Annotated[dict[Stat, StatAfter], Meta(min_length=1, max_length=4)]
    slots: Annotated[tuple[SlotAfter, ...], Meta(max_length=MOST_SLOTS)]
    surge: Annotated[bool, Meta(description="Available, or used.")]
    tally: StoryTally
    burned_out_stats: Annotated[tuple[Stat, ...], Meta(max_length=4)]
    extra_dice: Annotated[int, Meta(ge=0, le=1, description="On the next actions; 0 also when out of action (B3).")]
    out_of_action: bool
    created: bool = False
    event: str | None = None


def find(turn: Turn, character: str) -> BurnSheet | None:
    sheet: BurnSheet | None = turn.get(f"b:{character}")
    return sheet


def known(turn: Turn, character: str) -> BurnSheet:
    """Raises NotThere."""
    characters.known(turn, character)
    sheet = find(turn, character)
    if sheet is None:
        raise NotThere("sheet", character)
    return sheet


def facts_of(turn: Turn, character: str, *, created: bool = False, event: str | None = None) -> BurnSheetFacts:
    sheet = known(turn, character)
    standing = resolve_burn_hit(hit_on(sheet, {}))
    return BurnSheetFacts(
        character=character,
        name=turn.character(character).name,
        version=sheet.version,
        stats=standing.stats,
        slots=standing.slots,
        surge=sheet.surge,
        tally=tally_of(sheet),
        burned_out_stats=standing.burned_out_stats,
        extra_dice=standing.extra_dice,
        out_of_action=standing.out_of_action,
        created=created,
        event=event,
    )


def tally_of(sheet: BurnSheet) -> StoryTally:
    return StoryTally(**{name: getattr(sheet.tally, name) for name in StoryTally.__struct_fields__})


def put(turn: Turn, character: str, profile: BurnSheetProfile) -> BurnSheetFacts:
    """Create or replace. Raises InvalidValue for more burns than a place holds, or a name that two places have."""
    _allow_to_edit(turn, character)
    before = find(turn, character)
    turn.expect(before.version if before else 0)
    sheet = BurnSheet(
        version=turn.version,
        stats={stat: Burnable(each.value, each.burned) for stat, each in profile.stats.items()},
        slots=_slots(profile.slots),
        surge=profile.surge,
        tally=Tally(**{name: getattr(profile.tally, name) for name in StoryTally.__struct_fields__}),
    )
    return _edited(turn, character, sheet, created=before is None)


def change(turn: Turn, character: str, told: BurnSheetProfileChange) -> BurnSheetFacts:
    """Raises what `put` raises, and InvalidValue for an adjustment that its place does not allow."""
    _allow_to_edit(turn, character)
    before = known(turn, character)
    turn.expect(before.version)
    sheet = replace(before, stats=_patched_stats(before, told), tally=_patched_tally(before, told))
    if told.slots is not UNSET:
        sheet = replace(sheet, slots=_slots(told.slots or ()))
    if told.surge is not UNSET:
        sheet = replace(sheet, surge=told.surge is not False)
    _refuse_impossible(sheet)
    return _edited(turn, character, _adjusted(sheet, told.adjust), created=False)


def _allow_to_edit(turn: Turn, character: str) -> None:
    characters.known(turn, character)
    turn.allow(Role.PLAYER)
    turn.allow_for(character)


def _edited(turn: Turn, character: str, sheet: BurnSheet, *, created: bool) -> BurnSheetFacts:
    _refuse_impossible(sheet)
    if not created and replace(sheet, version=0) == replace(known(turn, character), version=0):
        return facts_of(turn, character)  # nothing was to be changed
    keep(turn, character, sheet)
    facts = facts_of(turn, character, created=created, event=turn.next_event)
    turn.tell("burn2d6.sheet", facts, character=character)
    return facts


def _refuse_impossible(sheet: BurnSheet) -> None:
    """As the rule refuses it (B3): the members of a hit are called like those of a sheet."""
    resolve_burn_hit(hit_on(sheet, {}))


def is_possible(sheet: BurnSheet) -> bool:
    """Whether a record from elsewhere is one that a step could have written."""
    try:
        profile = convert(to_builtins(sheet, str_keys=True), BurnSheetProfile, str_keys=True)
        _refuse_impossible(sheet)
        return _slots(profile.slots) == sheet.slots
    except (InvalidValue, ValidationError):
        return False


def keep(turn: Turn, character: str, sheet: BurnSheet) -> BurnSheet:
    kept = replace(sheet, version=turn.version)
    turn.put(f"b:{character}", kept)
    return kept


def _slots(slots: Iterable[SheetSlot]) -> tuple[Slot, ...]:
    kept: list[Slot] = []
    for number, slot in enumerate(slots):
        name = spelt(f"slots[{number}].name", slot.name)
        if sought(name) in list(Stat):
            raise InvalidValue(f"slots[{number}].name", "slot_named_like_stat", name=name)
        if sought(name) in [sought(other.name) for other in kept]:
            raise InvalidValue(f"slots[{number}].name", "slot_named_twice", name=name)
        kept.append(Slot(name, slot.value, slot.burned))
    return tuple(kept)


def _patched_stats(sheet: BurnSheet, told: BurnSheetProfileChange) -> dict[Stat, Burnable]:
    changes = {} if told.stats is UNSET else told.stats
    patched = {stat: _patched_stat(stat, sheet.stats.get(stat), each) for stat, each in changes.items() if each}
    stats = {stat: each for stat, each in {**sheet.stats, **patched}.items() if stat not in changes or changes[stat]}
    if not stats:
        raise InvalidValue("stats", "list_too_short", n=1)
    return stats


def _patched_stat(stat: Stat, before: Burnable | None, told: StatChange) -> Burnable:
    if before is None and told.value is UNSET:
        raise InvalidValue(f"stats.{stat}.value", "missing")
    base = before or Burnable(0)
    value = base.value if told.value is UNSET else told.value
    return Burnable(value, base.burned if told.burned is UNSET else told.burned or 0)


def _patched_tally(sheet: BurnSheet, told: BurnSheetProfileChange) -> Tally:
    if told.tally is UNSET:
        return sheet.tally
    if told.tally is None:
        return Tally()
    given = {name: getattr(told.tally, name) for name in TallyChange.__struct_fields__}
    return replace(sheet.tally, **{name: value or 0 for name, value in given.items() if value is not UNSET})


def _adjusted(sheet: BurnSheet, adjust: Mapping[str, int]) -> BurnSheet:
    there = burnables(sheet)
    places = named("adjust", adjust, there)
    for name, place in zip(adjust, places, strict=True):
        burned = there[place].burned + adjust[name]
        if not 0 <= burned <= there[place].value:
            raise InvalidValue(f"adjust.{name[:64]}", "burns_out_of_bounds", burned=burned, value=there[place].value)
    return _with_burns(sheet, {place: there[place].burned + step for place, step in places.items()})


# Places of a sheet, and what they take.


def burnables(sheet: BurnSheet) -> dict[str, Burnable | Slot]:
    stats = {stat.value: sheet.stats[stat] for stat in Stat if stat in sheet.stats}
    return {**stats, **{slot.name: slot for slot in sheet.slots}}


def named(member: str, told: Mapping[str, int], among: Iterable[str]) -> dict[str, int]:
    """The points by the places' own names, in the same order. Raises InvalidValue for one that is not there, or twice."""
    known_as = {sought(place): place for place in among}
    found: dict[str, int] = {}
    for name, points in told.items():
        place = known_as.get(sought(name))
        if place is None:
            places = ", ".join(known_as.values()) or "—"
            raise InvalidValue(f"{member}.{name[:64]}", "not_on_sheet", place=name[:64], places=places)
        if place in found:
            raise InvalidValue(f"{member}.{name[:64]}", "place_named_twice", place=place)
        found[place] = points
    return found


def hit_on(sheet: BurnSheet, hit: dict[str, int], *, spend_surge: bool = False) -> BurnHit:
    return BurnHit(
        stats={stat: BurnableStat(each.value, each.burned) for stat, each in sheet.stats.items()},
        slots=tuple(BurnableSlot(slot.name, slot.value, slot.burned) for slot in sheet.slots),
        hit=hit,
        spend_surge=spend_surge,
    )


def _with_burns(sheet: BurnSheet, burned: Mapping[str, int]) -> BurnSheet:
    return replace(
        sheet,
        stats={stat: replace(each, burned=burned.get(stat, each.burned)) for stat, each in sheet.stats.items()},
        slots=tuple(replace(slot, burned=burned.get(slot.name, slot.burned)) for slot in sheet.slots),
    )


def taken(sheet: BurnSheet, wound: BurnWound) -> BurnSheet:
    """The sheet with the burns of a hit or a roll, counted for the story's end (B5)."""
    burned: dict[str, int] = {stat: after.burned for stat, after in wound.stats.items()}
    burned |= {after.name: after.burned for after in wound.slots}
    on_stats = sum(each.burns for each in wound.places if each.place in list(Stat))
    on_slots = sum(each.burns for each in wound.places) - on_stats
    newly_out = len(wound.burned_out_stats) - burned_out(sheet)
    tally = Tally(
        stat_burns=min(MOST_TALLIED, sheet.tally.stat_burns + on_stats),
        slot_burns=min(MOST_TALLIED, sheet.tally.slot_burns + on_slots),
        stats_burned_out=min(MOST_BURNED_OUT, sheet.tally.stats_burned_out + newly_out),
    )
    return replace(_with_burns(sheet, burned), tally=tally)


def burned_out(sheet: BurnSheet) -> int:
    return sum(each.burned >= each.value for each in sheet.stats.values())
