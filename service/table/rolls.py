"""Rolls at a table: the stateless rule, and in the same step the cards that its red ones draw (R3, R19)."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct

from service.dice import Dice, GivenFaces, Source
from service.errors import NotAllowed
from service.systems.sixd6.pool import Pool, PoolRoll, roll_pool
from service.table import characters, decks
from service.table.records import ProvidedFaces, Role
from service.table.turn import Turn
from service.table.visibility import Visibility

T = TypeVar("T")


class Cast(Struct, frozen=True, kw_only=True):
    """What a request says of its dice, apart from the rule."""

    faces: Sequence[int] | None = None
    roll_rest: bool = False
    label: str | None = None
    visibility: Visibility = Visibility.PUBLIC
    deal: bool = True


class TablePoolRoll(PoolRoll, frozen=True, kw_only=True):
    source: Source
    label: Annotated[str, Meta(max_length=100)] | None
    visibility: Visibility
    roller: Annotated[str, Meta(max_length=32, description="Id of the token that rolled.")]
    character: characters.Identifier | None
    drawn: tuple[decks.DealtCard, ...]
    undealt: Annotated[int, Meta(ge=0, le=1_000, description="Cards that the deck could not deal (R19).")]
    event: str


def thrown(turn: Turn, cast: Cast, rule: Callable[[Dice], T]) -> tuple[T, Source]:
    """The rule played with the faces given, the table's dice, or both. Raises FacesMismatch, NotAllowed."""
    if cast.faces is None:
        return rule(turn.dice), Source.SERVICE
    _allow_faces(turn)
    faces = GivenFaces(cast.faces, turn.dice if cast.roll_rest else None)
    return rule(faces), faces.finish()


def _allow_faces(turn: Turn) -> None:
    who = turn.head.settings.provided_faces
    if who is ProvidedFaces.NOBODY or (who is ProvidedFaces.GM and turn.token.role is not Role.GM):
        raise NotAllowed("faces")


def told(turn: Turn, cast: Cast, source: Source) -> dict[str, Any]:
    """Members that every roll at a table carries."""
    return {
        "source": source,
        "label": cast.label,
        "visibility": cast.visibility,
        "roller": turn.token.id,
        "event": turn.next_event,
    }


def cards_for(turn: Turn, cast: Cast, complications: int, character: str | None) -> dict[str, Any]:
    """`drawn` and `undealt` of a roll; secret rolls deal nothing by themselves, nor does one without a character."""
    count = complications if cast.deal and character and cast.visibility is Visibility.PUBLIC else 0
    drawn, undealt = decks.deal(turn, "light", count, character or decks.TABLE)
    return {"drawn": drawn, "undealt": undealt}


def roll_sixd6(turn: Turn, character: str | None, pool: Pool, cast: Cast) -> TablePoolRoll:
    if character is None:
        turn.allow(Role.PLAYER, Role.CHAT)
        if turn.token.characters is not None:
            raise NotAllowed("character")
    else:
        characters.known(turn, character)
        turn.allow_for(character)
    roll, source = thrown(turn, cast, lambda dice: roll_pool(pool, dice))
    facts = TablePoolRoll(
        **{name: getattr(roll, name) for name in roll.__struct_fields__},
        **cards_for(turn, cast, roll.complications, character),
        **told(turn, cast, source),
        character=character,
    )
    turn.tell("sixd6.roll", facts, character=character, visibility=cast.visibility)
    return facts
