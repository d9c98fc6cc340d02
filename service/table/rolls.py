"""Rolls at a table: the stateless rule, and in the same step the cards that its red ones draw (R3, R19)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct
from msgspec.structs import replace

from service.dice import Dice, FacesSource, GivenFaces
from service.errors import InvalidValue, NobodyToPick, NotAllowed
from service.systems.sixd6.character import Aptitude, Qualification
from service.systems.sixd6.pool import Difficulty, Pool, PoolRoll, roll_pool
from service.table import characters, decks, sheets
from service.table.audience import Role, Visibility
from service.table.records import Marks, ProvidedFaces
from service.table.turn import Turn

T = TypeVar("T")


class Cast(Struct, frozen=True, kw_only=True):
    """What a request says of its dice, apart from the rule."""

    faces: Sequence[int] | None = None
    roll_rest: bool = False
    label: str | None = None
    visibility: Visibility = Visibility.PUBLIC
    deal: bool = True


class Notice(StrEnum):
    """What a grave card in force has to say about a roll by name (A7). The roll is made all the same."""

    REPEATED_QUALIFICATION = "repeated_qualification"
    OTHER_APTITUDE = "other_aptitude"


class TablePoolRoll(PoolRoll, frozen=True, kw_only=True):
    aptitude: Aptitude | None
    qualification: Qualification | None
    notices: Annotated[tuple[Notice, ...], Meta(max_length=2)]
    source: FacesSource
    label: Annotated[str, Meta(max_length=100)] | None
    visibility: Visibility
    roller: Annotated[str, Meta(max_length=32, description="Id of the token that rolled.")]
    character: characters.Identifier | None
    character_name: Annotated[str, Meta(max_length=64)] | None
    drawn: tuple[decks.DealtCard, ...]
    undealt: Annotated[int, Meta(ge=0, le=1_000, description="Cards that the deck could not deal (R19).")]
    event: str


class GroupRoll(Struct, frozen=True, kw_only=True):
    """One roll for several characters, in one step."""

    results: Annotated[tuple[TablePoolRoll, ...], Meta(max_length=100)]
    single: bool = False
    """A roll for nobody in particular, which is no group."""
    visibility: Visibility
    roller: Annotated[str, Meta(max_length=32, description="Id of the token that rolled.")]
    event: str


class PoolAsked(Struct, frozen=True, kw_only=True):
    """Base dice, or an aptitude and a qualification of the sheet."""

    base: int | None = None
    aptitude: Aptitude | None = None
    qualification: Qualification | None = None
    red: int = 0
    difficulty: Difficulty | None = None


def thrown(turn: Turn, cast: Cast, rule: Callable[[Dice], T]) -> tuple[T, FacesSource]:
    """The rule played with the faces given, the table's dice, or both. Raises FacesMismatch, NotAllowed."""
    if cast.faces is None:
        return rule(turn.dice), FacesSource.SERVICE
    _allow_faces(turn)
    faces = GivenFaces(cast.faces, turn.dice if cast.roll_rest else None)
    return rule(faces), faces.finish()


def _allow_faces(turn: Turn) -> None:
    who = turn.head.settings.provided_faces
    if who is ProvidedFaces.NOBODY or (who is ProvidedFaces.GM and turn.token.role is not Role.GM):
        raise NotAllowed("faces")


def told(turn: Turn, cast: Cast, source: FacesSource) -> dict[str, Any]:
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


def roll_sixd6(turn: Turn, character: str | None, asked: PoolAsked, cast: Cast) -> TablePoolRoll:
    """Raises InvalidValue where no sheet gives the base dice."""
    _allow(turn, character)
    facts = _rolled(turn, character, asked, cast, lambda rule: thrown(turn, cast, rule))
    turn.tell("sixd6.roll", facts, character=character, visibility=cast.visibility)
    return facts


def roll_for_nobody(turn: Turn, asked: PoolAsked, cast: Cast) -> GroupRoll:
    roll = roll_sixd6(turn, None, asked, cast)
    return GroupRoll(results=(roll,), single=True, visibility=roll.visibility, roller=roll.roller, event=roll.event)


def roll_group(turn: Turn, group: tuple[str, ...] | None, asked: PoolAsked, cast: Cast) -> GroupRoll:
    """For the characters named, or all present, one after the other; given faces are shared out in that order."""
    chosen = members(turn, group)
    results, source = thrown(turn, cast, lambda dice: tuple(_one_of(turn, each, asked, cast, dice) for each in chosen))
    results = tuple(replace(each, source=source) for each in results)
    facts = GroupRoll(results=results, visibility=cast.visibility, roller=turn.token.id, event=turn.next_event)
    turn.tell("sixd6.group_roll", facts, visibility=cast.visibility)
    return facts


def members(turn: Turn, group: tuple[str, ...] | None) -> tuple[str, ...]:
    """The characters named, or all present, if the token may act for each. Raises NobodyToPick where nobody is present."""
    chosen = present(turn) if group is None else group
    if not chosen:
        raise NobodyToPick
    if len(set(chosen)) < len(chosen):
        raise InvalidValue("characters", "repeated")
    for n, each in enumerate(chosen):
        _allow(turn, each, f"characters[{n}]")
    return chosen


def present(turn: Turn) -> tuple[str, ...]:
    return tuple(each for each, character in turn.characters().items() if character.present)


@contextmanager
def about(turn: Turn, character: str) -> Iterator[None]:
    """What is wrong with one of a group says with whom."""
    try:
        yield
    except InvalidValue as wrong:
        raise InvalidValue(wrong.field, wrong.problem, **wrong.data, of=turn.character(character).name) from None


def _one_of(turn: Turn, character: str, asked: PoolAsked, cast: Cast, dice: Dice) -> TablePoolRoll:
    with about(turn, character):
        return _rolled(turn, character, asked, cast, lambda rule: (rule(dice), NOT_KNOWN_YET))


NOT_KNOWN_YET = FacesSource.SERVICE
"""Where the faces of a group came from is known when all its dice have fallen."""


def _allow(turn: Turn, character: str | None, field: str | None = None) -> None:
    if character is not None:
        characters.known(turn, character, field)
        turn.allow_for(character)
        return
    turn.allow(Role.PLAYER, Role.CHAT)
    if turn.token.characters is not None:
        raise NotAllowed("character")


Throwing = Callable[[Callable[[Dice], PoolRoll]], tuple[PoolRoll, FacesSource]]


def _rolled(turn: Turn, character: str | None, asked: PoolAsked, cast: Cast, throw: Throwing) -> TablePoolRoll:
    pool = Pool(base=_base(turn, character, asked), red=asked.red, difficulty=asked.difficulty)
    roll, source = throw(lambda dice: roll_pool(pool, dice))
    return TablePoolRoll(
        **{name: getattr(roll, name) for name in roll.__struct_fields__},
        **cards_for(turn, cast, roll.complications, character),
        **told(turn, cast, source),
        aptitude=asked.aptitude,
        qualification=asked.qualification,
        notices=_notices(turn, asked, remembers=cast.visibility is Visibility.PUBLIC),
        character=character,
        character_name=turn.character(character).name if character else None,
    )


def _base(turn: Turn, character: str | None, asked: PoolAsked) -> int:
    named = (asked.aptitude is not None) + (asked.qualification is not None)
    if named not in (0, 2) or (asked.base is not None) == bool(named):
        raise InvalidValue("base", "base_or_names")
    if asked.base is not None:
        return asked.base
    base = None
    if character and asked.aptitude and asked.qualification:
        base = sheets.base(turn, character, (asked.aptitude, asked.qualification))
    if base is None:
        raise InvalidValue("aptitude", "no_sheet")
    return base


def _notices(turn: Turn, asked: PoolAsked, *, remembers: bool) -> tuple[Notice, ...]:
    """Team breakdown and unstable patch: what they say of a roll by name, and what they remember of it. A secret one is not
    remembered, for everybody reads what is."""
    if asked.aptitude is None:
        return ()
    marks: Marks = turn.get("scene")
    notices = []
    if marks.breakdown and marks.last_qualification is asked.qualification:
        notices.append(Notice.REPEATED_QUALIFICATION)
    if marks.patch and marks.synchronised not in (None, asked.aptitude):
        notices.append(Notice.OTHER_APTITUDE)
    after = marks
    if marks.breakdown:
        after = replace(after, last_qualification=asked.qualification)
    if marks.patch and marks.synchronised is None:
        after = replace(after, synchronised=asked.aptitude)
    if remembers and after != marks:
        turn.put("scene", after)
    return tuple(notices)
