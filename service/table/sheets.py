"""Sheets of 6d6 System: optional; where one is kept, pools and tracks are taken from it."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from service.errors import InvalidValue, NotThere
from service.systems.sixd6.character import Aptitude, Qualification, Value
from service.systems.sixd6.damage import Protection
from service.systems.sixd6.healing import Level, Track
from service.table import characters
from service.table.audience import Role
from service.table.records import Character, SixD6Sheet
from service.table.turn import Turn

MOST_POINTS = 1_000

Aptitudes = Annotated[dict[Aptitude, Value], Meta(max_length=6, title="Aptitudes")]
Qualifications = Annotated[dict[Qualification, Value], Meta(max_length=18, title="Qualifications")]
Protections = Annotated[frozenset[Protection], Meta(max_length=2)]
Step = Annotated[int, Meta(ge=-MOST_POINTS, le=MOST_POINTS)]


class Sheet(Struct, frozen=True, kw_only=True):
    """Everything that a sheet holds; what is left out is 0 or none."""

    aptitudes: Aptitudes = {}
    qualifications: Qualifications = {}
    damage: Level = 0
    trauma: Level = 0
    protections: Protections = frozenset()


class Adjustment(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Points to add to a track, or to take off; a track does not go below 0."""

    damage: Step = 0
    trauma: Step = 0


class SheetChange(Struct, frozen=True, kw_only=True):
    """A merge patch: what is absent stays, null resets; `adjust` is relative."""

    aptitudes: Aptitudes | UnsetType | None = UNSET
    qualifications: Qualifications | UnsetType | None = UNSET
    damage: Level | UnsetType | None = UNSET
    trauma: Level | UnsetType | None = UNSET
    protections: Protections | UnsetType | None = UNSET
    adjust: Adjustment = Adjustment()


class SheetFacts(Struct, frozen=True, kw_only=True):
    character: characters.Identifier
    name: Annotated[str, Meta(max_length=64)]
    version: Annotated[int, Meta(ge=0, description="As in the ETag; for If-Match.")]
    aptitudes: Aptitudes
    qualifications: Qualifications
    damage: Level
    trauma: Level
    protections: tuple[Protection, ...]
    created: bool = False
    event: str | None = None


def find(turn: Turn, character: str) -> SixD6Sheet | None:
    sheet: SixD6Sheet | None = turn.get(f"s:{character}")
    return sheet


def known(turn: Turn, character: str) -> SixD6Sheet:
    """Raises NotThere."""
    characters.known(turn, character)
    sheet = find(turn, character)
    if sheet is None:
        raise NotThere("sheet", character)
    return sheet


def keep(turn: Turn, character: str, sheet: SixD6Sheet) -> None:
    turn.put(f"s:{character}", replace(sheet, version=turn.version))


def facts_of(turn: Turn, character: str, *, created: bool = False, event: str | None = None) -> SheetFacts:
    sheet = known(turn, character)
    return SheetFacts(
        character=character,
        name=turn.character(character).name,
        version=sheet.version,
        aptitudes={each: sheet.aptitudes.get(each, 0) for each in Aptitude},
        qualifications={each: sheet.qualifications.get(each, 0) for each in Qualification},
        damage=sheet.damage,
        trauma=sheet.trauma,
        protections=tuple(each for each in Protection if each in sheet.protections),
        created=created,
        event=event,
    )


def put(turn: Turn, character: str, told: Sheet) -> SheetFacts:
    """Create or replace. Raises VersionMoved where If-Match names another version."""
    _allow(turn, character)
    before = find(turn, character)
    turn.expect(before.version if before else 0)
    sheet = SixD6Sheet(
        version=turn.version,
        aptitudes=told.aptitudes,
        qualifications=told.qualifications,
        damage=told.damage,
        trauma=told.trauma,
        protections=_ordered(told.protections),
    )
    return _tell(turn, character, sheet, created=before is None)


def change(turn: Turn, character: str, told: SheetChange) -> SheetFacts:
    _allow(turn, character)
    before = known(turn, character)
    turn.expect(before.version)
    defaults = SixD6Sheet(version=0)
    given: dict[str, Any] = {
        name: getattr(defaults, name) if value is None else value
        for name in ("aptitudes", "qualifications", "damage", "trauma", "protections")
        if (value := getattr(told, name)) is not UNSET
    }
    for name in ("aptitudes", "qualifications"):
        if getattr(told, name) not in (UNSET, None):
            given[name] = {**getattr(before, name), **given[name]}
    if "protections" in given:
        given["protections"] = _ordered(frozenset(given["protections"]))
    after = replace(before, **given)
    after = replace(
        after,
        damage=_adjusted("damage", after.damage, told.adjust.damage),
        trauma=_adjusted("trauma", after.trauma, told.adjust.trauma),
    )
    return _tell(turn, character, after, created=False)


def _adjusted(track: str, level: int, step: int) -> int:
    if level + step > MOST_POINTS:
        raise InvalidValue(f"adjust.{track}", "too_high", most=MOST_POINTS - level)
    return max(0, level + step)


def _ordered(protections: frozenset[Protection]) -> tuple[Protection, ...]:
    return tuple(each for each in Protection if each in protections)


def _allow(turn: Turn, character: str) -> None:
    characters.known(turn, character)
    turn.allow(Role.PLAYER)
    turn.allow_for(character)


def _tell(turn: Turn, character: str, sheet: SixD6Sheet, *, created: bool) -> SheetFacts:
    if not created and replace(sheet, version=0) == replace(known(turn, character), version=0):
        return facts_of(turn, character)  # nothing was to be changed
    keep(turn, character, sheet)
    facts = facts_of(turn, character, created=created, event=turn.next_event)
    turn.tell("sixd6.sheet", facts, character=character)
    return facts


# Tracks, wherever they are kept.


def level(turn: Turn, character: str, track: Track) -> int | None:
    """On the sheet, else as a healing roll last told it, else unknown."""
    sheet = find(turn, character)
    if sheet is not None:
        return int(getattr(sheet, track))
    return turn.character(character).levels.get(track)


def set_level(turn: Turn, character: str, track: Track, points: int) -> None:
    points = min(points, MOST_POINTS)
    sheet = find(turn, character)
    if sheet is not None:
        keep(turn, character, replace(sheet, **{str(track): points}))
        return
    remembered: Character = turn.character(character)
    turn.put(f"c:{character}", replace(remembered, levels={**remembered.levels, track: points}))


def suffer(turn: Turn, character: str, *, damage: int, trauma: int) -> None:
    """Add to the tracks that are known; one that nobody told of stays unknown."""
    for track, points in ((Track.DAMAGE, damage), (Track.TRAUMA, trauma)):
        before = level(turn, character, track)
        if before is not None and points:
            set_level(turn, character, track, before + points)


def base(turn: Turn, character: str, pool: tuple[Aptitude, Qualification]) -> int | None:
    """Base dice from the sheet, where there is one."""
    sheet = find(turn, character)
    return None if sheet is None else sheet.base(*pool)
