"""A5 at a table: a hit in one step, or seen first and soaked later, perhaps by another client."""

import re
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from service.dice import Dice, FacesMismatch, FacesSource, GivenFaces
from service.errors import HitAlreadyResolved, InvalidValue, NotThere, QuotaExceeded
from service.systems.sixd6.character import SOAK_POOLS
from service.systems.sixd6.damage import Composure, Grit, Hit, Protection, Threat, Wound, resolve_hit
from service.systems.sixd6.healing import Track
from service.table import characters, decks, sheets
from service.table.audience import Role, Visibility, sees
from service.table.records import PendingHit
from service.table.rolls import NOT_KNOWN_YET, Cast, about, cards_for, members, thrown, told
from service.table.turn import Turn

MOST_PENDING = 50

HIT = re.compile(r"h[0-9]{1,15}")

HitId = Annotated[str, Meta(max_length=20)]


class HitWait(StrEnum):
    """Where a hit stops to let its target choose."""

    SOAK = "soak"
    CONVERSIONS = "conversions"


class SoakChoice(StrEnum):
    GRIT = "grit"
    COMPOSURE = "composure"
    NONE = "none"


class HitState(StrEnum):
    AWAITING_SOAK = "awaiting_soak"
    AWAITING_CONVERSIONS = "awaiting_conversions"
    RESOLVED = "resolved"


class SoakBase(Struct, frozen=True, kw_only=True):
    """`base`: from the sheet; null where none says."""

    base: Annotated[int, Meta(ge=0, le=6)] | None


class SoakBases(Struct, frozen=True, kw_only=True):
    grit: SoakBase
    composure: SoakBase


class TableWound(Wound, frozen=True, kw_only=True):
    """`damage` is what is left so far, while the hit waits."""

    hit: HitId | None
    state: HitState
    choices: SoakBases | None
    character: characters.Identifier
    character_name: Annotated[str, Meta(max_length=64)]
    damage_level: Annotated[int, Meta(ge=0, le=1_000, description="The track after the hit, where it is known.")] | None
    trauma_level: Annotated[int, Meta(ge=0, le=1_000)] | None
    drawn: tuple[decks.DealtCard, ...]
    undealt: Annotated[int, Meta(ge=0, le=1_000, description="Cards that the deck could not deal (R19).")]
    source: FacesSource
    label: Annotated[str, Meta(max_length=100)] | None
    visibility: Visibility
    roller: Annotated[str, Meta(max_length=32, description="Id of the token that rolled.")]
    event: str


class Struck(Struct, frozen=True, kw_only=True):
    """A hit as a request tells it. `protections` None: all of the sheet's; a soak's base None: from the sheet."""

    die: Threat
    protections: frozenset[Protection] | None = None
    soak: "Soaked | None" = None
    wait: HitWait | None = None


class Soaked(Struct, frozen=True, kw_only=True):
    kind: str
    base: int | None = None
    red: int = 0
    max_conversions: int | None = None


class PendingFacts(Struct, frozen=True, kw_only=True):
    hit: HitId
    character: characters.Identifier
    state: HitState
    die: Threat
    damage: Annotated[int, Meta(ge=0, le=12)]
    conversions_possible: Annotated[int, Meta(ge=0, le=12)]
    choices: SoakBases | None


def chosen(kind: SoakChoice, base: int | None, red: int, max_conversions: int | None) -> Soaked | None:
    """Raises InvalidValue for what does not go with the kind."""
    if max_conversions is not None and kind is not SoakChoice.COMPOSURE:
        raise InvalidValue("max_conversions", "only_with_composure")
    if kind is SoakChoice.NONE:
        if base is not None or red:
            raise InvalidValue("base" if base is not None else "red", "only_with_soak")
        return None
    return Soaked(kind=kind, base=base, red=red, max_conversions=max_conversions)


class GroupHit(Struct, frozen=True, kw_only=True):
    """One threat that strikes several characters, in one step: each has a damage die of its own."""

    results: Annotated[tuple[TableWound, ...], Meta(max_length=100)]
    visibility: Visibility
    roller: Annotated[str, Meta(max_length=32, description="Id of the token that rolled.")]
    event: str


def strike(turn: Turn, character: str, struck: Struck, cast: Cast) -> TableWound:
    """Raises InvalidValue for a protection that the sheet has not, or a base that nobody tells."""
    characters.known(turn, character)
    turn.allow_for(character)
    return _tell(turn, character, _struck(turn, character, struck, cast, partial(thrown, turn, cast)))


def strike_group(turn: Turn, group: tuple[str, ...] | None, struck: Struck, cast: Cast) -> GroupHit:
    """On the characters named, or all present, one after the other; given faces are shared out in that order."""
    chosen = members(turn, group)
    if struck.wait is not None:
        raise InvalidValue("wait", "not_for_groups")

    def one_of(character: str, dice: Dice) -> TableWound:
        with about(turn, character):
            return _struck(turn, character, struck, cast, lambda rule: (rule(dice), NOT_KNOWN_YET))

    results, source = thrown(turn, cast, lambda dice: tuple(one_of(each, dice) for each in chosen))
    results = tuple(replace(each, source=source) for each in results)
    facts = GroupHit(results=results, visibility=cast.visibility, roller=turn.token.id, event=turn.next_event)
    turn.tell("sixd6.group_damage", facts, visibility=cast.visibility)
    return facts


Throwing = Callable[[Callable[[Dice], Wound]], tuple[Wound, FacesSource]]


def _struck(turn: Turn, character: str, struck: Struck, cast: Cast, throw: Throwing) -> TableWound:
    hit = _hit(turn, character, struck)
    if struck.wait is not None:
        _refuse_full(turn)  # before the throw: it would tell of one that is hidden
    open_ends = hit if struck.wait is None else replace(hit, soak=None)
    wound, source = throw(lambda dice: resolve_hit(open_ends, dice))
    pending = None
    if struck.wait is HitWait.SOAK and wound.damage:
        pending = PendingHit(
            character=character,
            die=hit.die,
            protections=tuple(hit.protections),
            faces=_faces(wound),
            visibility=cast.visibility,
            roller=turn.token.id,
        )
    _take_protections(turn, character, wound)
    return _told(turn, character, wound, cast, source, pending=pending)


def _tell(turn: Turn, character: str, facts: TableWound) -> TableWound:
    turn.tell("sixd6.damage", facts, character=character, visibility=facts.visibility)
    return facts


def soak(turn: Turn, character: str, hit: str, chosen: Soaked | None, cast: Cast, wait: HitWait | None) -> TableWound:
    """The soak of a hit that waits for it; `chosen` None takes it as it is. Raises HitAlreadyResolved, NotThere."""
    pending = _pending(turn, character, hit)
    if pending.soak is not None:
        raise HitAlreadyResolved(hit)
    if wait is HitWait.SOAK:
        raise InvalidValue("wait", "wait_for_conversions")
    rolled = _soak(turn, character, chosen, "base")
    cast = replace(cast, visibility=pending.visibility)
    waits = wait is HitWait.CONVERSIONS and isinstance(rolled, Composure)
    whole = Hit(die=pending.die, protections=frozenset(pending.protections), soak=rolled)
    wound, source = thrown(turn, cast, lambda dice: resolve_hit(whole, GivenFaces(pending.faces, dice)))
    if waits and wound.conversions_possible and isinstance(rolled, Composure):
        held = replace(rolled, max_conversions=0)
        unconverted = resolve_hit(replace(whole, soak=held), GivenFaces(_faces(wound)))
        waiting = replace(pending, soak=held, faces=_faces(wound), source=source)
        return _tell(turn, character, _told(turn, character, unconverted, cast, source, pending=waiting, hit=hit))
    return _tell(turn, character, _told(turn, character, wound, cast, source, hit=hit))


def convert(turn: Turn, character: str, hit: str, count: int, cast: Cast) -> TableWound:
    """The conversions of a composure soak that was seen first (R12). Raises InvalidValue where fewer are possible."""
    pending = _pending(turn, character, hit)
    if not isinstance(pending.soak, Composure):
        raise InvalidValue("count", "soak_first")
    chosen = replace(pending.soak, max_conversions=count)
    whole = Hit(die=pending.die, protections=frozenset(pending.protections), soak=chosen)
    wound = replace(resolve_hit(whole, GivenFaces(pending.faces)), complications=0)  # its cards were dealt with the soak
    if count > wound.conversions_possible:
        raise InvalidValue("count", "too_high", most=wound.conversions_possible)
    cast = replace(cast, deal=False, visibility=pending.visibility)
    return _tell(turn, character, _told(turn, character, wound, cast, pending.source, hit=hit))


def _hit(turn: Turn, character: str, struck: Struck) -> Hit:
    sheet = sheets.find(turn, character)
    worn = frozenset(sheet.protections) if sheet else None
    protections = struck.protections
    if protections is None:
        protections = worn or frozenset()
    elif worn is not None and not protections <= worn:
        missing = ", ".join(sorted(protections - worn))
        raise InvalidValue("protections", "not_worn", missing=missing)
    if struck.wait is not None and struck.soak is not None:
        raise InvalidValue("soak", "soak_or_wait")
    if struck.wait is HitWait.CONVERSIONS:
        raise InvalidValue("wait", "wait_for_soak")
    return Hit(die=struck.die, protections=protections, soak=_soak(turn, character, struck.soak))


def _soak(turn: Turn, character: str, chosen: Soaked | None, field: str = "soak.base") -> Grit | Composure | None:
    if chosen is None:
        return None
    base = sheets.base(turn, character, SOAK_POOLS[chosen.kind]) if chosen.base is None else chosen.base
    if base is None:
        raise InvalidValue(field, "base_without_sheet")
    if chosen.kind == "composure":
        return Composure(base, chosen.red, chosen.max_conversions)
    return Grit(base, chosen.red)


def _faces(wound: Wound) -> tuple[int, ...]:
    return tuple(die.face for die in wound.dice)


def _take_protections(turn: Turn, character: str, wound: Wound) -> None:
    sheet = sheets.find(turn, character)
    if sheet and wound.protections_destroyed:
        left = tuple(each for each in sheet.protections if each not in wound.protections_destroyed)
        sheets.keep(turn, character, replace(sheet, protections=left))


def _told(
    turn: Turn,
    character: str,
    wound: Wound,
    cast: Cast,
    source: FacesSource,
    *,
    pending: PendingHit | None = None,
    hit: str | None = None,
) -> TableWound:
    """The facts of one step of a hit; the last step adds to the tracks."""
    identifier = hit or (_free_id(turn) if pending else None)
    if pending is None:
        sheets.suffer(turn, character, damage=wound.damage, trauma=wound.trauma)
    if identifier:
        _keep(turn, identifier, pending, character)
    return TableWound(
        **{name: getattr(wound, name) for name in wound.__struct_fields__},
        **cards_for(turn, cast, wound.complications, character),
        **told(turn, cast, source),
        hit=identifier,
        state=_state(pending),
        choices=choices(turn, character) if pending and pending.soak is None else None,
        character=character,
        character_name=turn.character(character).name,
        damage_level=sheets.level(turn, character, Track.DAMAGE),
        trauma_level=sheets.level(turn, character, Track.TRAUMA),
    )


def _free_id(turn: Turn) -> HitId:
    """Numbered by the step. An import can have brought a hit that has the number already."""
    number = turn.version
    while turn.get(f"p:h{number}") is not None:
        number += 1
    return f"h{number}"


def _state(pending: PendingHit | None) -> HitState:
    if pending is None:
        return HitState.RESOLVED
    return HitState.AWAITING_SOAK if pending.soak is None else HitState.AWAITING_CONVERSIONS


def choices(turn: Turn, character: str) -> SoakBases:
    return SoakBases(**{kind: SoakBase(base=sheets.base(turn, character, pool)) for kind, pool in SOAK_POOLS.items()})


def _keep(turn: Turn, hit: str, pending: PendingHit | None, character: str) -> None:
    if pending is None:
        before: PendingHit = turn.get(f"p:{hit}")
        turn.put(f"p:{hit}", replace(before, resolved=True))
        return
    hits = sorted(turn.fields("p:"), key=lambda name: int(name[3:]))
    over = [name for name in hits if turn.get(name).resolved]
    if f"p:{hit}" not in hits and len(hits) >= MOST_PENDING:
        turn.put(over[0], None)
    turn.put(f"p:{hit}", pending)


def _refuse_full(turn: Turn) -> None:
    """Raises QuotaExceeded where as many hits wait as may."""
    if sum(not turn.get(name).resolved for name in turn.fields("p:")) >= MOST_PENDING:
        raise QuotaExceeded("hits", MOST_PENDING)


def _pending(turn: Turn, character: str, hit: str) -> PendingHit:
    characters.known(turn, character)
    turn.allow_for(character)
    pending: PendingHit | None = turn.get(f"p:{hit}") if HIT.fullmatch(hit) else None
    if pending is None or pending.character != character or not _within_reach(turn, pending):
        raise NotThere("hit", hit[:20])
    if pending.resolved:
        raise HitAlreadyResolved(hit)
    return pending


def listed(turn: Turn) -> tuple[PendingFacts, ...]:
    """Hits that wait, for the table's screen."""
    waiting = ((name[2:], turn.get(name)) for name in sorted(turn.fields("p:"), key=lambda name: int(name[3:])))
    return tuple(_facts(turn, hit, pending) for hit, pending in waiting if not pending.resolved and _shows(turn, pending))


def _within_reach(turn: Turn, pending: PendingHit) -> bool:
    """The gm can end every hit: of who rolled it in secret, the token may be gone."""
    return turn.token.role is Role.GM or _shows(turn, pending)


def _shows(turn: Turn, pending: PendingHit) -> bool:
    """Chat tokens get the public form, also of what they rolled themselves."""
    return _sees(turn, pending) and (turn.token.role is not Role.CHAT or pending.visibility is Visibility.PUBLIC)


def _sees(turn: Turn, pending: PendingHit) -> bool:
    return sees(pending.visibility, role=turn.token.role, is_roller=turn.token.id == pending.roller)


def is_possible(pending: PendingHit) -> bool:
    """Whether a record from elsewhere is one that a step could have written: there is something left to choose."""
    faces = GivenFaces(pending.faces)
    try:
        wound = resolve_hit(_again(pending), faces)
        faces.finish()
    except FacesMismatch:
        return False
    if pending.soak is None:
        return wound.damage > 0
    return wound.conversions_possible > 0 and wound.trauma == 0


def _again(pending: PendingHit) -> Hit:
    return Hit(die=pending.die, protections=frozenset(pending.protections), soak=pending.soak)


def _facts(turn: Turn, hit: str, pending: PendingHit) -> PendingFacts:
    wound = resolve_hit(_again(pending), GivenFaces(pending.faces))
    return PendingFacts(
        hit=hit,
        character=pending.character,
        state=_state(pending),
        die=pending.die,
        damage=wound.damage,
        conversions_possible=wound.conversions_possible,
        choices=choices(turn, pending.character) if pending.soak is None else None,
    )
