"""Sheets of 6d6 System, hits in steps, and grave cards at work."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct

from service.api.answers import MaybeSecret, Rolled, Rolling, asking, joined
from service.api.rolls import AllPresent, Group, by_hand, cast_of, say_dealt
from service.api.tables import Command, Keyed, card_names, shown_card, shown_type
from service.dice import MOST_DICE
from service.systems.sixd6 import sentences
from service.systems.sixd6.character import Qualification
from service.systems.sixd6.damage import MaxConversions, Protection, Threat
from service.systems.sixd6.pool import BaseDice, RedDice
from service.table import cards, hits, sheets
from service.table.cards import Applied, Effect
from service.table.characters import Identifier
from service.table.hits import HitState, HitWait, Soaked, Struck, TableWound
from service.table.rolls import Cast
from service.table.sheets import Sheet, SheetChange, SheetFacts
from service.table.turn import EVERYTHING, ID, Turn
from service.words import Words

SheetRequest = joined("SheetRequest", Sheet, Keyed, strict=True, about=Sheet.__doc__)
SheetPatch = joined("SheetPatch", SheetChange, Keyed, strict=True, about=SheetChange.__doc__)


class TableGrit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="grit"):
    """Physique + endurance. `base` from the sheet where it is absent."""

    base: BaseDice | None = None
    red: RedDice = 0


class TableComposure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="composure"):
    """Control + resilience. `base` from the sheet where it is absent."""

    base: BaseDice | None = None
    red: RedDice = 0
    max_conversions: MaxConversions | None = None


TableSoak = Annotated[TableGrit | TableComposure, Meta(title="TableSoak", description="What is set against the damage.")]


class Dealt(Keyed, frozen=True, kw_only=True):
    deal: Annotated[bool, Meta(description="Deal a light card for each red 1 (R3), unless the hit is secret.")] = True


Protections = Annotated[frozenset[Protection], Meta(max_length=2, description="Default: all of the sheet's.")]


class HitAsked(Struct, frozen=True, kw_only=True):
    """`wait: soak` stops when the damage is seen: the soak is chosen in a further request."""

    die: Threat
    protections: Annotated[frozenset[Protection], Meta(max_length=2, description="Default: all of the sheet's.")] | None = (
        None
    )
    soak: TableSoak | None = None
    wait: HitWait | None = None


class GroupHitAsked(Struct, frozen=True, kw_only=True):
    """`characters`: who is struck, or "present" for all that are."""

    characters: Group
    die: Threat
    protections: Protections | None = None
    soak: TableSoak | None = None


class SoakAsked(Struct, frozen=True, kw_only=True):
    """`kind: none` takes the damage as it is. `wait: conversions` stops when the soak's dice are seen."""

    kind: hits.SoakChoice
    base: BaseDice | None = None
    red: RedDice = 0
    max_conversions: MaxConversions | None = None
    wait: HitWait | None = None


class ConversionsRequest(Keyed, frozen=True, kw_only=True, forbid_unknown_fields=True):
    count: Annotated[int, Meta(ge=0, le=6, description="At most `conversions_possible`.")]


class ApplyRequest(Keyed, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the table says with the card: whom, or by lot; for the reversed role, which qualification."""

    character: Identifier | None = None
    by_lot: bool = False
    qualification: Qualification | None = None


BOUNDS = {"largest_die": 12, "most_faces": MOST_DICE + 1}
HitRequest = asking("TableHitRequest", HitAsked, Rolling, Dealt, **BOUNDS)
GroupHitRequest = asking("GroupHitRequest", GroupHitAsked, Rolling, Dealt, **BOUNDS)
SoakRequest = asking("SoakRequest", SoakAsked, Rolling, Dealt, largest_die=6, most_faces=MOST_DICE)
WOUND = shown_type(TableWound, carried=Rolled, without=("roller",))


def _everything(path: Mapping[str, str], asked: Any) -> tuple[str, ...]:
    return (EVERYTHING,)


def _sheet_of(path: Mapping[str, str], asked: Any) -> tuple[str, ...]:
    who = path["character"]
    return (f"c:{who}", f"s:{who}") if ID.fullmatch(who) else ()


def _hit_wants(path: Mapping[str, str], asked: Any) -> tuple[str, ...]:
    pending = (f"p:{path['hit'][:20]}",) if "hit" in path else ()
    return (*_sheet_of(path, asked), "d:light", *pending)


def _put(turn: Turn, path: Mapping[str, str], asked: Any) -> SheetFacts:
    told = {name: getattr(asked, name) for name in Sheet.__struct_fields__}
    return sheets.put(turn, path["character"], Sheet(**told))


def _change(turn: Turn, path: Mapping[str, str], asked: Any) -> SheetFacts:
    told = {name: getattr(asked, name) for name in SheetChange.__struct_fields__ if getattr(asked, name) is not UNSET}
    return sheets.change(turn, path["character"], SheetChange(**told))


def _soaked(asked: TableSoak | None) -> Soaked | None:
    if asked is None:
        return None
    kind = "grit" if isinstance(asked, TableGrit) else "composure"
    return Soaked(kind=kind, base=asked.base, red=asked.red, max_conversions=getattr(asked, "max_conversions", None))


def _strike(turn: Turn, path: Mapping[str, str], asked: Any) -> TableWound:
    struck = Struck(die=asked.die, protections=asked.protections, soak=_soaked(asked.soak), wait=asked.wait)
    return hits.strike(turn, path["character"], struck, cast_of(asked))


def _soak(turn: Turn, path: Mapping[str, str], asked: Any) -> TableWound:
    chosen = hits.chosen(asked.kind, asked.base, asked.red, asked.max_conversions)
    return hits.soak(turn, path["character"], path["hit"], chosen, cast_of(asked), asked.wait)


def say_sheet(facts: SheetFacts, words: Words) -> str:
    worn = words.listed(words.label("protection", each).lower() for each in facts.protections)
    said = words("table.sheet", name=facts.name, damage=facts.damage, trauma=facts.trauma)
    return f"{said} {words('table.worn', protections=worn)}" if worn else said


def say_hit(facts: TableWound, words: Words) -> str:
    parts = (
        words("table.hit", name=facts.character_name, wound=sentences.say_wound(by_hand(facts), words)),
        words(f"table.hit_state.{facts.state}", n=facts.conversions_possible)
        if facts.state is not HitState.RESOLVED
        else "",
        *say_dealt(facts, words),
    )
    return " ".join(part for part in parts if part)


def say_group_hit(facts: hits.GroupHit, words: Words) -> str:
    return " ".join(say_hit(each, words) for each in facts.results)


def _strike_group(turn: Turn, path: Mapping[str, str], asked: Any) -> hits.GroupHit:
    group = None if asked.characters == AllPresent.PRESENT else asked.characters
    struck = Struck(die=asked.die, protections=asked.protections, soak=_soaked(asked.soak))
    return hits.strike_group(turn, group, struck, cast_of(asked))


def say_applied(facts: Applied, words: Words) -> str:
    names = words.listed(each.name for each in facts.characters) or "—"
    card = shown_card(facts.card, words.lang)
    effect = "drew_nothing" if facts.effect is Effect.DREW and not facts.drawn else facts.effect
    said = words(
        f"table.applied.{effect}", card=card.name, names=names, cards=card_names(facts.drawn or facts.discarded, words)
    )
    text = f"{said} {card.effect}" if facts.effect is Effect.TEXT else said
    return f"{text} {words.count('table.undealt', facts.undealt)}" if facts.undealt else text


CHARACTER = "/characters/{character:str}/sixd6"

COMMANDS = (
    Command(
        id="readSheet",
        method="GET",
        path=CHARACTER,
        summary="Read a sheet",
        about="Aptitudes, qualifications, tracks and protections.",
        facts=SheetFacts,
        play=lambda turn, path, asked: sheets.facts_of(turn, path["character"]),
        say=say_sheet,
        wants=_sheet_of,
        refuses=("not-found",),
        changes=False,
        versioned=True,
    ),
    Command(
        id="putSheet",
        method="PUT",
        path=CHARACTER,
        summary="Create or replace a sheet",
        about="201 where it is new. What is left out is 0 or none.",
        body=SheetRequest,
        facts=SheetFacts,
        play=_put,
        say=say_sheet,
        wants=_sheet_of,
        refuses=("not-found",),
        versioned=True,
        creates=lambda facts: facts.created,
        created_path=lambda path, facts: f"/v1/sessions/{path['session']}/characters/{facts.character}/sixd6",
        example={"aptitudes": {"control": 3}, "qualifications": {"wetware": 2}, "protections": ["light"]},
    ),
    Command(
        id="changeSheet",
        method="PATCH",
        path=CHARACTER,
        summary="Change a sheet",
        about="A merge patch; `adjust` adds to a track or takes off it, not below 0.",
        body=SheetPatch,
        facts=SheetFacts,
        play=_change,
        say=say_sheet,
        wants=_sheet_of,
        refuses=("not-found",),
        versioned=True,
        example={"adjust": {"damage": -2}},
    ),
    Command(
        id="takeHit",
        gives={"hit": "hit"},
        method="POST",
        path=CHARACTER + "/damage",
        summary="Take a hit",
        about="In one step, or seen first: `wait: soak` leaves the hit open for its soak. Protections go from the sheet.",
        body=HitRequest,
        facts=TableWound,
        answer=WOUND,
        play=_strike,
        say=say_hit,
        wants=_hit_wants,
        refuses=("not-found", "faces-mismatch", "quota-exceeded"),
        visible=True,
        system="sixd6",
        example={"die": "d8", "protections": [], "soak": {"kind": "grit", "base": 3}, "faces": [5, 6, 2, 1]},
    ),
    Command(
        id="strikeGroup",
        method="POST",
        path="/sixd6/damage",
        summary="Strike several characters",
        about="One threat, in one step; each target has a damage die, protections and a soak of its own.",
        body=GroupHitRequest,
        facts=hits.GroupHit,
        answer=shown_type(hits.GroupHit, carried=MaybeSecret, without=("roller",)),
        play=_strike_group,
        say=say_group_hit,
        wants=_everything,
        refuses=("not-found", "faces-mismatch", "nobody-to-pick"),
        visible=True,
        example={"characters": "present", "die": "d6"},
    ),
    Command(
        id="soakHit",
        method="POST",
        path=CHARACTER + "/damage/{hit:str}/soak",
        summary="Soak a hit that waits",
        about="`faces` are those of the soak alone. Any client of the character may choose; the first wins.",
        body=SoakRequest,
        facts=TableWound,
        answer=WOUND,
        play=_soak,
        say=say_hit,
        wants=_hit_wants,
        refuses=("not-found", "faces-mismatch", "hit-already-resolved"),
        visible=True,
        system="sixd6",
        example={"kind": "composure", "base": 4, "faces": [6, 4, 2, 1, 5]},
    ),
    Command(
        id="convertHit",
        method="POST",
        path=CHARACTER + "/damage/{hit:str}/conversions",
        summary="Choose the conversions of a hit that waits",
        about="Each turns 2 damage into 1 trauma (R12).",
        body=ConversionsRequest,
        facts=TableWound,
        answer=WOUND,
        play=lambda turn, path, asked: hits.convert(turn, path["character"], path["hit"], asked.count, Cast()),
        say=say_hit,
        wants=_hit_wants,
        refuses=("not-found", "hit-already-resolved"),
        visible=True,
        system="sixd6",
        example={"count": 1},
    ),
    Command(
        id="applyCard",
        method="POST",
        path="/cards/{card:str}/apply",
        summary="Apply an active card",
        about="What a service can do for a grave card (A7), in one step; for the others the answer is the card's text.",
        body=ApplyRequest,
        facts=Applied,
        play=lambda turn, path, asked: cards.apply(
            turn,
            path["card"],
            cards.Wanted(character=asked.character, by_lot=asked.by_lot, qualification=asked.qualification),
        ),
        say=say_applied,
        wants=_everything,
        refuses=("not-found", "card-not-there", "nobody-to-pick"),
        example={},
    ),
)
