"""What every answer carries beside the facts of its rule."""

import re
from functools import cache
from typing import Annotated, Any, TypeVar

import regex
from msgspec import NODEFAULT, UNSET, Meta, Struct, UnsetType, defstruct, field
from msgspec.structs import FieldInfo, fields

from service.dice import FacesSource
from service.render.targets import Renderings
from service.table.audience import Visibility
from service.words import NO_CONTROLS, Lang, Words

MOST_TEXT = 10_000
"""Characters of a sentence, whatever it tells of."""

Text = Annotated[str, Meta(max_length=MOST_TEXT, description="One human sentence in the asked language, ready for a chat.")]
Label = Annotated[
    str,
    Meta(min_length=1, max_length=100, pattern=NO_CONTROLS, description="Shown in front of the sentence, e.g. who rolls."),
]


class Answer(Struct, frozen=True, kw_only=True):
    text: Text
    lang: Lang
    renderings: Renderings | UnsetType = UNSET


class MaybeSecret(Answer, frozen=True, kw_only=True):
    public_text: (
        Annotated[str, Meta(max_length=MOST_TEXT, description="What the table may read of what is not public.")] | UnsetType
    ) = UNSET


class Rolled(MaybeSecret, frozen=True, kw_only=True):
    system: Annotated[str, Meta(max_length=20, description="Id of the game.")]
    source: Annotated[FacesSource, Meta(description="Where the faces came from.")]
    label: Label | None
    visibility: Visibility


class Flatly(Struct, frozen=True, kw_only=True):
    """What a caller may add to a rolling request in a query string."""

    faces: list[int] | None = None
    roll_rest: Annotated[bool, Meta(description="Let the service roll the dice that `faces` leave open.")] = False
    label: Label | None = None


class Rolling(Flatly, frozen=True, kw_only=True):
    """What a caller may add to any rolling request."""

    visibility: Annotated[Visibility, Meta(description="Who may see the roll; anything but public adds `public_text`.")] = (
        Visibility.PUBLIC
    )


T = TypeVar("T", bound=Struct)


def joined(
    name: str,
    *parts: type[Struct],
    strict: bool,
    about: str | None = None,
    without: tuple[str, ...] = (),
    more: tuple[tuple[Any, ...], ...] = (),
    **retyped: Any,
) -> type[Any]:
    """One Struct with the members of several (msgspec cannot inherit from two that both have members)."""
    members = {field.name: field for part in parts for field in fields(part) if field.name not in without}
    kept = [(each, retyped.get(each, field.type), _default(field)) for each, field in members.items()]
    return defstruct(
        name, [*kept, *more], frozen=True, kw_only=True, forbid_unknown_fields=strict, namespace={"__doc__": about}
    )


def _default(member: FieldInfo) -> Any:
    return member.default if member.default_factory is NODEFAULT else field(default_factory=member.default_factory)


def answering(facts: type[Struct], carried: type[Answer]) -> type[Any]:
    """The answer of a rule: its facts and what every answer carries, under the facts' own name."""
    return joined(facts.__name__, carried, facts, strict=False, about=facts.__doc__)


def asking(name: str, asked: type[Struct], *carried: type[Struct], largest_die: int, most_faces: int) -> type[Any]:
    """A rule's request with the faces from outside, which the rule's largest die and longest roll bound."""
    face = Annotated[int, Meta(ge=1, le=largest_die)]
    many = Meta(max_length=most_faces, description="Faces thrown elsewhere, in the order of the answer's `dice`.")
    return joined(name, asked, *carried, strict=True, about=asked.__doc__, faces=Annotated[list[face], many] | None)


def with_facts(kind: type[T], facts: Struct, **carried: object) -> T:
    """`facts` again, as an answer."""
    wanted = _members(kind)
    told = {name: getattr(facts, name) for name in facts.__struct_fields__ if name in wanted}
    return kind(**{**told, **{name: value for name, value in carried.items() if name in wanted}})


@cache
def _members(kind: Any) -> frozenset[str]:
    return frozenset(kind.__struct_fields__)


def labelled(sentence: str, label: str | None, words: Words) -> str:
    return words("say.label", label=label, sentence=sentence) if label else sentence


TOKEN = re.compile(r"ember_(gm|player|chat|observer)_[\w-]+")


def without_tokens(text: str) -> str:
    """A token that somebody put where none belongs is not said again, and reaches no log."""
    return TOKEN.sub(r"ember_\1_…", text)


GRAPHEME = regex.compile(r"\X")


def shortened(sentence: str, most: int | None) -> str:
    """At most `most` characters: cut after the last whole word that leaves room for …, else after a grapheme."""
    if most is None or len(sentence) <= most:
        return sentence
    words = sentence[:most].rsplit(maxsplit=1)
    kept = words[0] if len(words) == 2 and len(words[0]) > most // 2 else sentence[: most - 1]
    return f"{_graphemes(sentence, len(kept.rstrip(' ,;:·+→')))}…"


def _graphemes(text: str, most: int) -> str:
    kept = ""
    for grapheme in GRAPHEME.findall(text[: most * 2]):
        if len(kept) + len(grapheme) > most:
            break
        kept += grapheme
    return kept
