"""RFC 9457: what can go wrong, the status of each, and how an error becomes an answer. Messages have the wording."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct, defstruct, field

from service.api.answers import Text, without_tokens
from service.dice import FacesMismatch, Throw
from service.errors import (
    BurnTooLarge,
    CannotUndo,
    CardNotThere,
    DeckExhausted,
    GameError,
    HealingCooldown,
    HealingRefused,
    HealingWindowFull,
    HitAlreadyResolved,
    InUse,
    InvalidValue,
    KeyReused,
    NobodyToPick,
    NotAllowed,
    NothingToHeal,
    NotThere,
    OutOfAction,
    QuotaExceeded,
    TierSizeUnknown,
    Unauthorized,
    VersionMoved,
    WastedBurn,
)
from service.systems.sixd6.healing import Care
from service.table.clock import Moment
from service.words import CONTROL, Lang, Words, folded

Status = Annotated[int, Meta(ge=400, le=599)]
Sentence = Annotated[str, Meta(max_length=2_000)]


class Fault(Struct, frozen=True, kw_only=True):
    """One thing that is wrong, and where."""

    at: Annotated[str, Meta(max_length=500, description="body.…, query.…, path.… or header.…, then the member.")]
    problem: Sentence


class Problem(Struct, frozen=True, kw_only=True):
    type: Annotated[str, Meta(max_length=2_000, description="Stable address of the page about this problem.")]
    title: Sentence
    status: Status
    detail: Sentence
    instance: Annotated[str, Meta(max_length=8_192, description="Path of the request, without its query.")]
    lang: Lang
    text: Text
    errors: Annotated[list[Fault], Meta(max_length=100)] = field(default_factory=list)


Name = Annotated[str, Meta(max_length=100)]
Cards = Annotated[int, Meta(ge=0, le=500)]
HEALING: dict[str, Any] = {"care": Care, "patient": Name, "next_roll": Moment}

# One status per code. A third column: members that only this problem has.
STATUS: dict[str, tuple[int, dict[str, Any]]] = {
    "malformed-request": (400, {}),
    "malformed-body": (400, {"position": Annotated[int, Meta(ge=0, description="Offset in the body, in bytes.")]}),
    "unauthorized": (401, {}),
    "api-key-required": (401, {}),
    "forbidden": (403, {}),
    "not-found": (404, {"nearest": (Annotated[list[Name], Meta(max_length=3, description="Names that are there.")], [])}),
    "method-not-allowed": (405, {}),
    "body-too-slow": (408, {}),
    "healing-cooldown": (409, HEALING),
    "healing-window-full": (409, HEALING),
    "tier-size-unknown": (409, {"care": Care, "patient": Name}),
    "nothing-to-heal": (409, {"care": Care, "patient": Name}),
    "deck-exhausted": (409, {"wanted": Cards, "left": Cards}),
    "card-not-there": (409, {"card": Name}),
    "hit-already-resolved": (409, {"hit": Name}),
    "cannot-undo": (409, {"later": Annotated[list[Name], Meta(max_length=500, description="Events in the way.")]}),
    "nobody-to-pick": (409, {}),
    "deck-in-use": (409, {"active": Cards}),
    "character-in-use": (409, {"active": Cards}),
    "quota-exceeded": (409, {"most": Annotated[int, Meta(ge=0)]}),
    "cursor-expired": (410, {}),
    "precondition-failed": (412, {}),
    "body-too-large": (413, {}),
    "uri-too-long": (414, {}),
    "unsupported-media-type": (415, {}),
    "invalid-request": (422, {}),
    "faces-mismatch": (422, {"needed": Annotated[list[Throw], Meta(max_length=2, description="What to throw next.")]}),
    "wasted-burn": (422, {}),
    "burn-too-large": (422, {}),
    "out-of-action": (422, {}),
    "idempotency-key-reused": (422, {}),
    "too-many-requests": (429, {}),
    "headers-too-large": (431, {}),
    "internal-error": (500, {}),
    "store-unavailable": (503, {}),
    "busy": (503, {}),
}


def schema_name(code: str) -> str:
    return "".join(part.title() for part in code.split("-")) + "Problem"


def _member(name: str, told: Any) -> tuple[Any, ...]:
    """A type, or a type and its default."""
    return (name, *told) if isinstance(told, tuple) else (name, told)


KINDS: dict[str, type[Any]] = {
    code: defstruct(
        schema_name(code),
        [("status", Annotated[int, Meta(ge=status, le=status)]), *(_member(*each) for each in members.items())],
        bases=(Problem,),
        frozen=True,
        kw_only=True,
        tag_field="code",
        tag=code,
    )
    for code, (status, members) in STATUS.items()
}


class Refusal(Exception):
    """A problem on its way to the caller: its code, what its sentence needs, the faults, its own members, headers."""

    def __init__(
        self,
        code: str,
        *,
        faults: tuple[tuple[str, str, Mapping[str, object]], ...] = (),
        members: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
        **said: object,
    ) -> None:
        super().__init__(code, faults)
        self.code, self.faults, self.said = code, faults, said
        self.members, self.headers = dict(members or {}), dict(headers or {})
        self.detail = code
        self.lang: Lang | None = None
        """The session's language, for who asked for none."""

    @property
    def status(self) -> int:
        return STATUS[self.code][0]


Place = str
"""Where the request's members were read: "body" or "query"."""


def _faces_mismatch(error: FacesMismatch, place: Place) -> Refusal:
    problem = "face_too_high" if error.sides else "faces_missing" if error.needed else "faces_left_over"
    missing = sum(throw.count for throw in error.needed)
    return Refusal(
        "faces-mismatch",
        faults=((f"{place}.faces[{error.at}]", problem, {"sides": error.sides, "n": missing, "at": error.at}),),
        members={"needed": list(error.needed)},
    )


def _not_there(error: NotThere, place: Place) -> Refusal:
    known = "meant" if error.meant else "near" if error.nearest else "sheet" if error.kind == "sheet" else "none"
    fault = (error.field, f"not_there.{known}", {"name": error.name, "nearest": ", ".join(error.nearest)})
    refusal = Refusal("not-found", faults=(fault,), members={"nearest": list(error.nearest)})
    refusal.detail = "not-found.named"
    return refusal


def _healing(code: str, error: HealingRefused) -> Refusal:
    """Refusals of a healing roll name the moment from which it may be made; Retry-After while the clock runs."""
    members: dict[str, object] = {"care": error.care, "patient": error.patient}
    headers = {}
    said: dict[str, Any] = {}
    if isinstance(error.next_roll, Moment):
        members["next_roll"] = error.next_roll
        said["after"] = duration(error.next_roll.remaining_seconds)
        if error.next_roll.at:
            headers["Retry-After"] = str(error.next_roll.remaining_seconds)
    return Refusal(
        code, members=members, headers=headers, care=Label("care", error.care), patient=error.patient_name, **said
    )


class Label(Struct, frozen=True):
    """A game's word for something, in whatever language the problem will be said."""

    kind: str
    id: str


class OneOf(Struct, frozen=True):
    """Members of a closed set. Where a text may have the game's words for them, its reader's come first."""

    section: str | None
    members: tuple[str, ...]

    def said(self, words: Words) -> str:
        labels = [self._label(each, words) for each in self.members]
        if any("," in each for each in labels):  # descriptions, not words that somebody would type
            return ", ".join(self.members)
        return ", ".join(
            each if folded(label) == folded(each) else f"{label} ({each})"
            for each, label in zip(self.members, labels, strict=True)
        )

    def _label(self, identifier: str, words: Words) -> str:
        if self.section is None or f"label.{self.section}.{identifier}" not in words:
            return identifier
        return words.label(self.section, identifier)


KIND_WORDS = {
    "str": "kind.text",
    "int": "kind.whole_number",
    "float": "kind.number",
    "bool": "kind.true_or_false",
    "object": "kind.object",
    "array": "kind.list",
    "null": "kind.null",
}


class Kinds(Struct, frozen=True):
    """Kinds of values, as msgspec calls them."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, expected: str) -> "Kinds":
        return cls(tuple(expected.split(" | ")))

    def said(self, words: Words) -> str:
        return words.either(words(KIND_WORDS[each]) if each in KIND_WORDS else each for each in self.names)


def duration(seconds: int) -> str:
    """Hours, minutes and seconds as they are written in both languages."""
    hours, minutes, rest = seconds // 3_600, seconds // 60 % 60, seconds % 60
    parts = ((hours, "h"), (minutes, "min"), (rest, "s"))
    return " ".join(f"{n} {unit}" for n, unit in parts if n) or "0 s"


def _cannot_undo(error: CannotUndo, place: Place) -> Refusal:
    later = ", ".join((*error.later[:LATER_SAID], *(["…"] if len(error.later) > LATER_SAID else [])))
    refusal = Refusal("cannot-undo", members={"later": list(error.later)}, event=error.event, later=later)
    refusal.detail = "cannot-undo.already" if error.already else refusal.detail
    return refusal


TRANSLATIONS: dict[type[GameError], Callable[[Any, Place], Refusal]] = {
    FacesMismatch: _faces_mismatch,
    InvalidValue: lambda error, place: Refusal(
        "invalid-request", faults=((f"{place}.{error.field}", error.problem, error.data),)
    ),
    WastedBurn: lambda error, place: Refusal(
        "wasted-burn",
        faults=tuple((f"{place}.{each}", "wasted", {}) for each in error.fields),
        removed=error.removed,
        useful=error.useful,
    ),
    BurnTooLarge: lambda error, place: Refusal(
        "burn-too-large",
        faults=((f"{place}.{error.field}", "burn_too_large", {"wanted": error.wanted, "left": error.left}),),
    ),
    OutOfAction: lambda error, place: Refusal("out-of-action", burned_out=error.burned_out),
    Unauthorized: lambda error, place: Refusal("unauthorized", headers={"WWW-Authenticate": "Bearer"}),
    NotThere: _not_there,
    NotAllowed: lambda error, place: Refusal(
        "forbidden", faults=(("token", f"not_allowed.{error.reason}", {"roles": ", ".join(error.roles)}),)
    ),
    CardNotThere: lambda error, place: Refusal("card-not-there", members={"card": error.card[:100]}, card=error.card[:100]),
    DeckExhausted: lambda error, place: Refusal(
        "deck-exhausted", members={"wanted": error.wanted, "left": error.left}, wanted=error.wanted, left=error.left
    ),
    InUse: lambda error, place: Refusal(
        f"{error.kind}-in-use", members={"active": error.active}, name=error.name, active=error.active
    ),
    QuotaExceeded: lambda error, place: Refusal(
        "quota-exceeded", faults=((place, f"quota.{error.what}", {"most": error.most}),), members={"most": error.most}
    ),
    HitAlreadyResolved: lambda error, place: Refusal(
        "hit-already-resolved", members={"hit": error.hit[:100]}, hit=error.hit[:100]
    ),
    NobodyToPick: lambda error, place: Refusal("nobody-to-pick"),
    VersionMoved: lambda error, place: Refusal("precondition-failed", headers={"ETag": f'"{error.current}"'}),
    CannotUndo: _cannot_undo,
    KeyReused: lambda error, place: Refusal("idempotency-key-reused"),
    TierSizeUnknown: lambda error, place: _healing("tier-size-unknown", error),
    NothingToHeal: lambda error, place: _healing("nothing-to-heal", error),
    HealingCooldown: lambda error, place: _healing("healing-cooldown", error),
    HealingWindowFull: lambda error, place: _healing("healing-window-full", error),
}


def refusal_of(error: GameError, place: Place) -> Refusal:
    return TRANSLATIONS[type(error)](error, place)


LATER_SAID = 20
FAULTS_SAID = 3
"""All of them stand in `errors`."""


def said_of(faults: Sequence[Fault], words: Words) -> str:
    """The first of them, and how many more there are."""
    told = [f"{each.at}{words('say.colon')}{each.problem}" for each in faults[:FAULTS_SAID]]
    if len(faults) > FAULTS_SAID:
        told.append(words.count("say.more", len(faults) - FAULTS_SAID))
    return words("say.semicolon").join(told)


def problem_of(refusal: Refusal, words: Words, path: str, prefix: str) -> Any:
    """The answer for a refusal: its detail is a sentence of its own, followed by the first faults."""
    faults = [
        Fault(at=harmless(at)[:500], problem=harmless(_fault(words, problem, data)))
        for at, problem, data in refusal.faults[:100]
    ]
    data = {n: words.label(v.kind, v.id) if isinstance(v, Label) else v for n, v in refusal.said.items()}
    detail = harmless(words(f"problem.{refusal.detail}.detail", **data))
    said = f"{detail} {said_of(faults, words)}".rstrip()[:2_000]
    return KINDS[refusal.code](
        type=f"{prefix}/problems/{refusal.code}",
        title=words(f"problem.{refusal.code}.title"),
        status=refusal.status,
        detail=said,
        instance=without_tokens(path)[:8_192],
        lang=words.lang,
        text=said,
        errors=faults,
        **{name: harmless(each) if isinstance(each, str) else each for name, each in refusal.members.items()},
    )


CONTROLS = re.compile(f"[{CONTROL}]")


def harmless(text: str) -> str:
    """What a caller sent, as it may be said again: nothing in it breaks a line or turns the writing direction."""
    return without_tokens(CONTROLS.sub("\ufffd", text))


def _fault(words: Words, problem: str, told: Mapping[str, object]) -> str:
    if name := told.get("of"):
        return words(
            "invalid.of", name=name, said=_fault(words, problem, {n: each for n, each in told.items() if n != "of"})
        )
    data = {name: each.said(words) if isinstance(each, OneOf | Kinds) else each for name, each in told.items()}
    key = f"invalid.{problem}"
    if key not in words and isinstance(n := data.get("n"), int):
        return words.count(key, n, **{name: value for name, value in data.items() if name != "n"})
    return words(key, **data)[:2_000]
