"""Everything that a table's screen shows, at once."""

from typing import Annotated

from msgspec import Meta, Struct

from service.table import characters, decks, healing
from service.table.records import Marks, Role
from service.table.turn import Turn


class ClockFacts(Struct, frozen=True, kw_only=True):
    running: bool
    elapsed_seconds: Annotated[float, Meta(ge=0, description="Session time (R17).")]
    event: str | None = None


class CharacterState(Struct, frozen=True, kw_only=True):
    character: characters.CharacterFacts
    cards: tuple[decks.DealtCard, ...]
    healing: healing.HealingStatusFacts


class SceneFacts(Struct, frozen=True, kw_only=True):
    suspects: tuple[characters.Identifier, ...]


class TableState(Struct, frozen=True, kw_only=True):
    characters: tuple[CharacterState, ...]
    table_cards: tuple[decks.DealtCard, ...]
    decks: tuple[decks.DeckSummary, ...]
    clock: ClockFacts
    scene: SceneFacts
    last_event: Annotated[str, Meta(max_length=20, description="Cursor: events after it are not in this state.")]
    role: Role


def clock_facts(turn: Turn, event: str | None = None) -> ClockFacts:
    return ClockFacts(running=turn.clock.since_ms is not None, elapsed_seconds=turn.elapsed_ms / 1_000, event=event)


def state(turn: Turn) -> TableState:
    marks: Marks = turn.get("scene")
    held = decks.active_cards(turn)
    return TableState(
        characters=tuple(
            CharacterState(
                character=characters.facts_of(identifier, character),
                cards=tuple(card for card in held if card.holder == identifier),
                healing=healing.status(turn, identifier),
            )
            for identifier, character in turn.characters().items()
        ),
        table_cards=tuple(card for card in held if card.holder == decks.TABLE),
        decks=decks.listed(turn).decks,
        clock=clock_facts(turn),
        scene=SceneFacts(suspects=marks.suspects),
        last_event=str(turn.version - 1),
        role=turn.token.role,
    )
