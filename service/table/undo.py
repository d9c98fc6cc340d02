"""Taking back a mistake: the fields that a step changed get the values that they had before it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from service.errors import CannotUndo, NotAllowed
from service.table import decks, healing, quotas
from service.table.audience import Role
from service.table.names import sought
from service.table.records import Deck, Marks
from service.table.turn import Turn, type_of


class TakenBack(Struct, frozen=True, kw_only=True):
    undone: Annotated[str, Meta(max_length=20, description="Id of the event that was taken back.")]
    type: Annotated[str, Meta(max_length=40, description="Its type.")]
    event: str


class Moved(Exception):
    """The session has moved since its log was read."""


class Step(Struct, frozen=True):
    """An entry of the log, as far as an undo needs it."""

    id: str
    type: str
    before: Mapping[str, str | None]
    """Raw values of the fields that it changed, before it."""
    undoes: str | None = None
    """Id of the step that it took back."""


def undo(turn: Turn, step: Step, later: Sequence[Step], read_up_to: int) -> TakenBack:
    """Raises CannotUndo, naming the later steps that touched the same things; Moved where the log is not the newest;
    QuotaExceeded."""
    turn.allow()
    if turn.version - 1 != read_up_to:
        raise Moved
    stands = tuple(standing(later))
    if undone := tuple(each.id for each in stands if each.undoes == step.id):
        raise CannotUndo(step.id, undone, already=True)
    returning = [field for field, raw in step.before.items() if raw is not None and turn.get(field) is None]
    for field, raw in step.before.items():
        turn.put(field, None if raw is None else msgspec.json.decode(raw, type=type_of(field)))
    touched, owners = step.before.keys() | _contradictions(turn), _owners(turn, step.before)
    in_the_way = tuple(each.id for each in stands if each.before.keys() & touched or _made(each) & owners)
    if in_the_way:
        raise CannotUndo(step.id, in_the_way, already=False)
    if not any(turn.get(field).role is Role.GM for field in turn.fields("k:")):
        raise NotAllowed("last_gm")
    _refuse_more(turn, returning)
    facts = TakenBack(undone=step.id, type=step.type, event=turn.next_event)
    turn.tell("undo", facts)
    return facts


def _refuse_more(turn: Turn, returning: Sequence[str]) -> None:
    """Raises QuotaExceeded where others have taken the room of what comes back."""
    quotas.refuse_more({kind: len(turn.fields(kind)) for kind in {field[:2] for field in returning}})
    if any(field.startswith("t:") and text for field, text in turn.changes.items()):
        decks.refuse_long(decks.texts_of(turn).values())


def _owners(turn: Turn, restored: Iterable[str]) -> set[str]:
    """Characters to whom something comes back. Who came later under the same id is somebody else."""
    belongings = _belongings(turn)
    return {f"c:{who}" for field in restored for who in belongings.get(field, ())}


def _made(step: Step) -> set[str]:
    return {field for field, before in step.before.items() if before is None}


def standing(later: Sequence[Step]) -> Iterable[Step]:
    """The steps that were not taken back: of a step and its undo nothing is left."""
    ids, gone = {each.id for each in later}, set[str | None]()
    for each in reversed(later):
        if each.id not in gone and each.undoes in ids:
            gone |= {each.id, each.undoes}
    return (each for each in later if each.id not in gone)


# What an undo would leave behind that no step could have made: later steps have built on what it takes away.


def _contradictions(turn: Turn) -> set[str]:
    """Fields that cannot stand as they are, and the fields that they cannot stand beside."""
    return _astray(turn) | _doubles(turn) | _ahead(turn) | _unfounded(turn)


def _astray(turn: Turn) -> set[str]:
    """What belongs to somebody who is not there, and who it is."""
    there = {field[2:] for field in turn.fields("c:")}
    missing = {field: gone for field, who in _belongings(turn).items() if (gone := who - there)}
    return missing.keys() | {f"c:{each}" for gone in missing.values() for each in gone}


def _belongings(turn: Turn) -> dict[str, set[str]]:
    """To whom the fields belong that belong to somebody."""
    marks: Marks = turn.get("scene")
    marked = {*marks.suspects, *marks.chosen.values(), *((marks.authority,) if marks.authority else ())}
    sheets = {field: {field[2:]} for prefix in ("s:", "b:") for field in turn.fields(prefix)}
    hits = {field: {turn.get(field).character} for field in turn.fields("p:")}
    held = {field: {*turn.get(field).active.values()} - {decks.TABLE} for field in turn.fields("d:")}
    bound = {field: {*(turn.get(field).characters or ())} for field in turn.fields("k:")}
    return {**sheets, **hits, **held, **bound, "scene": marked}


def _doubles(turn: Turn) -> set[str]:
    """Characters, or opponents, that one name would find."""
    named: dict[str, set[str]] = {}
    for field in (*turn.fields("c:"), *turn.fields("o:")):
        named.setdefault(field[:2] + sought(turn.get(field).name), set()).add(field)
    return {field for fields in named.values() if len(fields) > 1 for field in fields}


def _ahead(turn: Turn) -> set[str]:
    """Characters who were healed at a time that is still to come, and the clock that was there."""
    ahead = {f"c:{who}" for who, each in turn.characters().items() if healing.is_ahead(each, turn.elapsed_ms)}
    return {*ahead, "clock"} if ahead else set()


def _unfounded(turn: Turn) -> set[str]:
    """Marks of cards that are not active, and the deck that these lie in."""
    return set() if marks_are_founded(turn.get("scene"), turn.get("d:grave")) else {"scene", "d:grave"}


def marks_are_founded(marks: Marks, grave: Deck) -> bool:
    """Whether the marks that last as long as a card are those of active ones."""
    active = {f"grave-{number}" for number in grave.active}
    return {*marks.chosen, marks.breakdown, marks.patch} <= {*active, None}
