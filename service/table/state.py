"""Everything that a table's screen shows, at once."""

from typing import Annotated

from msgspec import Meta, Struct

from service.systems.sixd6.character import Aptitude, Qualification
from service.table import burn_sheets, characters, decks, healing, hits, opponents, sheets
from service.table.audience import Role
from service.table.records import Marks
from service.table.turn import Turn


class ClockFacts(Struct, frozen=True, kw_only=True):
    running: bool
    elapsed_seconds: Annotated[float, Meta(ge=0, description="Session time (R17).")]
    event: str | None = None


class CharacterState(Struct, frozen=True, kw_only=True):
    character: characters.CharacterFacts
    cards: tuple[decks.DealtCard, ...]
    sixd6: sheets.SheetFacts | None
    burn2d6: burn_sheets.BurnSheetFacts | None
    healing: healing.HealingStatusFacts


class CharacterChoice(Struct, frozen=True, kw_only=True):
    card: decks.CardId
    character: characters.Identifier


class SceneFacts(Struct, frozen=True, kw_only=True):
    """What grave cards have left on the table."""

    suspects: tuple[characters.Identifier, ...]
    authority: characters.Identifier | None
    chosen: tuple[CharacterChoice, ...]
    breakdown: Annotated[bool, Meta(description="No qualification twice in a row.")]
    last_qualification: Qualification | None
    patch: Annotated[bool, Meta(description="One aptitude for all rolls.")]
    synchronised: Aptitude | None


class TableState(Struct, frozen=True, kw_only=True):
    characters: tuple[CharacterState, ...]
    table_cards: tuple[decks.DealtCard, ...]
    decks: tuple[decks.DeckSummary, ...]
    clock: ClockFacts
    scene: SceneFacts
    hits: Annotated[tuple[hits.PendingFacts, ...], Meta(max_length=50)]
    opponents: Annotated[tuple[opponents.OpponentFacts, ...], Meta(max_length=opponents.MOST_OPPONENTS)]
    last_event: Annotated[str, Meta(max_length=20, description="Cursor: events after it are not in this state.")]
    role: Role


def clock_facts(turn: Turn, event: str | None = None) -> ClockFacts:
    return ClockFacts(running=turn.clock.since_ms is not None, elapsed_seconds=turn.elapsed_ms / 1_000, event=event)


def scene_facts(marks: Marks) -> SceneFacts:
    return SceneFacts(
        suspects=marks.suspects,
        authority=marks.authority,
        chosen=tuple(CharacterChoice(card=card, character=who) for card, who in marks.chosen.items()),
        breakdown=marks.breakdown is not None,
        last_qualification=marks.last_qualification,
        patch=marks.patch is not None,
        synchronised=marks.synchronised,
    )


def state(turn: Turn) -> TableState:
    marks: Marks = turn.get("scene")
    held = decks.shown_cards(turn)
    return TableState(
        characters=tuple(
            CharacterState(
                character=characters.facts_of(identifier, character),
                cards=tuple(card for card in held if card.holder == identifier),
                sixd6=sheets.facts_of(turn, identifier) if sheets.find(turn, identifier) else None,
                burn2d6=burn_sheets.facts_of(turn, identifier) if burn_sheets.find(turn, identifier) else None,
                healing=healing.status(turn, identifier),
            )
            for identifier, character in turn.characters().items()
        ),
        table_cards=tuple(card for card in held if card.holder == decks.TABLE),
        decks=decks.listed(turn).decks,
        clock=clock_facts(turn),
        scene=scene_facts(marks),
        hits=hits.listed(turn),
        opponents=opponents.listed(turn).opponents,
        last_event=str(turn.version - 1),
        role=turn.token.role,
    )
