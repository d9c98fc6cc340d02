"""RFC 9457: what can go wrong, the status of each, and how an error becomes an answer. Messages have the wording."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct, defstruct, field

from service.api.answers import Text
from service.dice import FacesMismatch, Throw
from service.errors import BurnTooLarge, GameError, InvalidValue, OutOfAction, WastedBurn
from service.words import Lang, Words

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


# One status per code. A third column: members that only this problem has.
STATUS: dict[str, tuple[int, dict[str, Any]]] = {
    "malformed-body": (400, {"position": Annotated[int, Meta(ge=0, description="Offset in the body, in bytes.")]}),
    "unauthorized": (401, {}),
    "forbidden": (403, {}),
    "not-found": (404, {}),
    "method-not-allowed": (405, {}),
    "body-too-large": (413, {}),
    "uri-too-long": (414, {}),
    "unsupported-media-type": (415, {}),
    "invalid-request": (422, {}),
    "faces-mismatch": (422, {"needed": Annotated[list[Throw], Meta(max_length=2, description="What to throw next.")]}),
    "wasted-burn": (422, {}),
    "burn-too-large": (422, {}),
    "out-of-action": (422, {}),
    "too-many-requests": (429, {}),
    "headers-too-large": (431, {}),
    "internal-error": (500, {}),
}


def schema_name(code: str) -> str:
    return "".join(part.title() for part in code.split("-")) + "Problem"


KINDS: dict[str, type[Any]] = {
    code: defstruct(
        schema_name(code),
        [("status", Annotated[int, Meta(ge=status, le=status)]), *members.items()],
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


TRANSLATIONS: dict[type[GameError], Callable[[Any, Place], Refusal]] = {
    FacesMismatch: _faces_mismatch,
    InvalidValue: lambda error, place: Refusal(
        "invalid-request", faults=((f"{place}.{error.field}", error.problem, error.data),)
    ),
    WastedBurn: lambda error, place: Refusal("wasted-burn", removed=error.removed, useful=error.useful),
    BurnTooLarge: lambda error, place: Refusal(
        "burn-too-large",
        faults=((f"{place}.{error.field}", "burn_too_large", {"wanted": error.wanted, "left": error.left}),),
    ),
    OutOfAction: lambda error, place: Refusal("out-of-action", burned_out=error.burned_out),
}


def refusal_of(error: GameError, place: Place) -> Refusal:
    return TRANSLATIONS[type(error)](error, place)


def problem_of(refusal: Refusal, words: Words, path: str, prefix: str) -> Any:
    """The answer for a refusal: its detail is a sentence of its own, followed by the first fault."""
    faults = [Fault(at=at, problem=_fault(words, problem, data)) for at, problem, data in refusal.faults[:100]]
    detail = words(f"problem.{refusal.code}.detail", **refusal.said)
    first = f" {faults[0].at}{words('say.colon')}{faults[0].problem}" if faults else ""
    return KINDS[refusal.code](
        type=f"{prefix}/problems/{refusal.code}",
        title=words(f"problem.{refusal.code}.title"),
        status=refusal.status,
        detail=(detail + first)[:2_000],
        instance=path[:8_192],
        lang=words.lang,
        text=(detail + first)[:2_000],
        errors=faults,
        **refusal.members,
    )


def _fault(words: Words, problem: str, data: Mapping[str, object]) -> str:
    key = f"invalid.{problem}"
    if key not in words and isinstance(n := data.get("n"), int):
        return words.count(key, n, **{name: value for name, value in data.items() if name != "n"})
    return words(key, **data)[:2_000]
