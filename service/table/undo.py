"""Taking back a mistake: the fields that a step changed get the values that they had before it."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from service.errors import CannotUndo
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


def undo(turn: Turn, step: Step, later: Sequence[Step], read_up_to: int) -> TakenBack:
    """Raises CannotUndo, naming the later steps that touched the same fields; Moved where the log is not the newest."""
    turn.allow()
    if turn.version - 1 != read_up_to:
        raise Moved
    in_the_way = tuple(each.id for each in later if each.before.keys() & step.before.keys())
    if in_the_way:
        raise CannotUndo(step.id, in_the_way)
    for field, raw in step.before.items():
        turn.put(field, None if raw is None else msgspec.json.decode(raw, type=type_of(field)))
    facts = TakenBack(undone=step.id, type=step.type, event=turn.next_event)
    turn.tell("undo", facts)
    return facts
