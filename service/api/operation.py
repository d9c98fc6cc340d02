"""One operation: what the contract says of it and what serves it, from the same declaration."""

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

import msgspec
from litestar import HttpMethod, Request
from litestar.handlers import HTTPRouteHandler
from litestar.types.empty import Empty
from msgspec import UNSET, Struct
from msgspec.structs import fields, replace

from service.api import presentation
from service.api.answers import MOST_TEXT, shortened
from service.api.decoding import Spoken, decode_json, decode_pairs, is_empty, pairs_of
from service.api.gate import OWN_TOKENS
from service.api.presentation import Format, Presentation
from service.api.problems import Refusal, refusal_of
from service.errors import GameError, Unauthorized
from service.render import foundry, targets
from service.render.targets import Renderings, Target
from service.systems import SYSTEMS
from service.words import Lang, Words

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
MERGE_PATCH = "application/merge-patch+json"
PROBLEM = "application/problem+json"
PLAIN = "text/plain"
STREAM = "text/event-stream"


class Operation(Struct, frozen=True, kw_only=True):
    id: str
    method: str
    path: str
    tag: str
    summary: str
    about: str
    answer: type[Any]
    also: tuple[type[Any], ...] = ()
    """Further shapes of the answer, e.g. for a reader who may not see all of it."""
    streams: Any = None
    """What is sent, one at a time, to who asks for text/event-stream."""
    words: Mapping[Lang, Words]
    spoken: Spoken
    query: type[Any] | None = None
    body: type[Any] | None = None
    form: type[Any] | None = None
    """The flat twin of the body, where a form may be sent."""
    refuses: tuple[str, ...] = ()
    fresh: bool = False
    """Rolls and secrets: never stored by a cache, never played by a HEAD."""
    tagged: bool = False
    """Answers carry an ETag of what they hold."""
    example: Mapping[str, object] | None = None
    """A request that the contract shows with its real answer: members of the body, or of path and query."""
    form_example: Mapping[str, object] | None = None
    status: int = 200
    most_body_bytes: int | None = None
    """Where it differs from what the service accepts elsewhere."""
    text_by_default: bool = False
    """For tools that print what they get: the sentence alone, unless JSON is asked for."""
    versioned: bool = False
    """Answers carry a version as their ETag; a change takes If-Match."""
    may_create: bool = False
    """Answers 201 where it made something new."""
    language: Callable[[Request[Any, Any, Any]], Awaitable[Lang | None]] | None = None
    """The session's own language, for who asked for none."""
    failed: Callable[[str], Awaitable[None]] | None = None
    """Counts a caller's address that showed no token which opens anything."""
    bearer: bool = False
    """Needs a token of the session in its path."""
    keyed: bool = False
    """Takes an Idempotency-Key."""
    below: Callable[[Any], Iterable[str]] | None = None
    """Lines that stand below the sentence where text was asked for: what is shown once must not be lost with the JSON."""
    gives: Mapping[str, str] = {}
    """Members of later paths, and those of the answer that name them: the contract's links."""

    @property
    def revalidated(self) -> bool:
        """Nothing is sent again to who has it already."""
        return self.tagged or (self.versioned and self.method == "GET")

    @property
    def body_optional(self) -> bool:
        """Nothing in the body is required: then the body is not either."""
        body: Any = self.body
        return body is not None and _needs_nothing(body)

    @property
    def problems(self) -> tuple[str, ...]:
        """Every code that this operation can answer with."""
        body = ("malformed-body", "body-too-slow", "body-too-large", "unsupported-media-type") if self.body else ()
        gate = ("api-key-required",) if self.gated else ()
        return ("invalid-request", *body, *gate, *self.refuses, "too-many-requests", "internal-error")

    @property
    def gated(self) -> bool:
        """Open to all, or to whom the operator gave a key (`gate.py`)."""
        return self.path.startswith("/v1/") and not OWN_TOKENS.match(self.path)


@cache
def _needs_nothing(body: Any) -> bool:
    return not any(field.required for field in fields(body))


class Call(NamedTuple):
    """A request that has been read: how its answer should look, and in whose words."""

    request: Request[Any, Any, Any]
    operation: Operation
    presentation: Presentation
    words: Words
    place: str
    headers: dict[str, str]
    """Of the answer, for the play to add to."""
    made: list[int]
    """The answer's status, where the play decides it."""

    @property
    def address(self) -> str:
        client = self.request.scope.get("client")
        return client[0] if client else ""

    def said(self, sentence: str) -> str:
        return within(sentence, self.presentation)


def within(sentence: str, shown: Presentation) -> str:
    """The sentence within the bounds that the caller set."""
    short = shortened(sentence, MOST_TEXT if shown.max is None else shown.max)
    return short if shown.max_bytes is None else targets.within_bytes(short, shown.max_bytes)


Play = Callable[[Call, Any], Awaitable[Struct]]


def placed(refusal: Refusal, call: Call) -> Refusal:
    """A refusal of the play names the member alone; where that stood is known here."""
    in_url = "token=" in call.request.scope["query_string"].decode("latin-1")
    kinds = (call.operation.body, call.operation.query)
    asked = {each.encode_name for kind in kinds if kind for each in fields(kind)}

    def place(at: str) -> str:
        member = at.removeprefix(f"{call.place}.")
        if member == "token" and refusal.code == "forbidden":  # the one that was shown; else one that the path names
            return "query.token" if in_url else "header.Authorization"
        if member == "sheet":  # it lies below its character
            return "path.character"
        if member not in asked and f"{{{member}:" in call.operation.path:
            return f"path.{member}"
        return at if "." in at or at in ("body", "query") else f"{call.place}.{at}"

    refusal.faults = tuple((place(at), problem, data) for at, problem, data in refusal.faults)
    if refusal.code == "unauthorized" and "token" in asked:
        refusal.detail = "unauthorized.in_url"
    return refusal


class Reply:
    """A whole answer, as ASGI sends it. (Litestar's own response weighs as much as half of a roll.)"""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes = b"") -> None:
        self.status, self.body = status, body
        self.headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.body})


def route(operation: Operation, play: Play) -> HTTPRouteHandler:
    """The Litestar handler that reads, plays and answers."""

    async def handler(request: Request[Any, Any, Any]) -> Reply:
        try:
            call, asked = await _read(request, operation)
            return await _played(call, asked, play)
        except Refusal as refusal:
            if refusal.lang is None and refusal.code != "unauthorized" and operation.language:
                refusal.lang = await operation.language(request)
            raise

    pure = operation.method == "GET" and not operation.fresh
    methods = [HttpMethod.GET, HttpMethod.HEAD] if pure else [HttpMethod(operation.method)]
    return HTTPRouteHandler(
        operation.path,
        http_method=methods,
        status_code=operation.status,
        name=operation.id,
        opt={"operation": operation},
        request_max_body_size=operation.most_body_bytes or Empty,
        include_in_schema=False,
    )(handler)


async def _played(call: Call, asked: Any, play: Play) -> Reply:
    try:
        answer: Any = await play(call, asked)
        return respond(call, answer) if isinstance(answer, Struct) else answer  # a stream answers for itself
    except GameError as error:
        if isinstance(error, Unauthorized) and call.operation.failed:
            await call.operation.failed(call.address)
        raise placed(refusal_of(error, call.place), call) from error


async def _read(request: Request[Any, Any, Any], operation: Operation) -> tuple[Call, Any]:
    raw = request.scope["query_string"]
    shown, pairs = presentation.read(request, raw, text=operation.text_by_default)
    words = operation.words[shown.lang or Lang.EN]
    if operation.body is None:
        if operation.query is None:
            _refuse_unknown(pairs)
        asked = decode_pairs(pairs, operation.query, operation.spoken, "query") if operation.query else None
        return Call(request, operation, shown, words, "query", {}, []), asked
    _refuse_unknown(pairs)
    return Call(request, operation, shown, words, "body", {}, []), await _body(request, operation)


def _refuse_unknown(pairs: list[tuple[str, str]]) -> None:
    if pairs:
        known = ", ".join(presentation.NAMES)
        raise Refusal("invalid-request", faults=tuple((f"query.{n[:100]}", "unknown", {"known": known}) for n, _ in pairs))


async def _body(request: Request[Any, Any, Any], operation: Operation) -> Any:
    assert operation.body is not None  # noqa: S101
    if operation.body_optional and is_empty(await request.body()):
        return operation.body()
    media, charset = _media_type(request.headers.get("content-type", ""))
    accepted = [JSON, *([FORM] if operation.form else []), *([MERGE_PATCH] if operation.method == "PATCH" else [])]
    if media not in accepted or charset not in ("", "utf-8"):
        raise _not_read(accepted)
    if request.headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
        raise _not_read(accepted, ("header.Content-Encoding", "not_unpacked", {}))
    body = await request.body()
    if media == FORM and operation.form:
        if body.lstrip()[:1] in (b"{", b"["):  # a form's names have neither
            raise _not_read(accepted, ("header.Content-Type", "looks_like_json", {}))
        flat = decode_pairs(pairs_of(body, "body"), operation.form, operation.spoken, "body")
        return flat.unfold() if hasattr(flat, "unfold") else flat
    return decode_json(body, operation.body)


def _not_read(accepted: list[str], *faults: tuple[str, str, dict[str, object]]) -> Refusal:
    kinds = ", ".join(accepted)
    return Refusal("unsupported-media-type", headers={"Accept": kinds}, faults=faults, accepted=kinds)


@lru_cache(1_024)
def _media_type(content_type: str) -> tuple[str, str]:
    """Media type and charset of a Content-Type, in lower case."""
    media, _, parameters = content_type.lower().partition(";")
    return media.strip(), parameters.replace('"', "").partition("charset=")[2].split(";")[0].strip()


encoder = msgspec.json.Encoder()


def respond(call: Call, answer: Any) -> Reply:
    """The answer in the form that was asked for. As text, a secret roll shows its public sentence only."""
    operation = call.operation
    headers = {"Vary": "Accept, Accept-Language", "Content-Language": call.words.lang.value, **call.headers}
    if operation.fresh:
        headers["Cache-Control"] = "no-store"
    if call.presentation.format is Format.JSON:
        body, media_type = encoder.encode(rendered(call, answer)), JSON
    else:
        lines = (sentence(call, answer), *(operation.below(answer) if operation.below else ()))
        body, media_type = "".join(f"{each}\n" for each in lines).encode(), MEDIA_TYPES[call.presentation.format]
    if operation.tagged:
        headers["ETag"] = f'"{hashlib.sha256(body).hexdigest()[:24]}"'
    if operation.revalidated and has(call.request, headers["ETag"]):
        return Reply(304, headers)
    return reply(call.request, body, media_type, headers, call.made[-1] if call.made else operation.status)


MEDIA_TYPES = {Format.TEXT: PLAIN, Format.MARKDOWN: "text/markdown"}


def sentence(call: Call, answer: Any) -> str:
    """What is posted: the public sentence, for the place that it is posted to."""
    public = getattr(answer, "public_text", UNSET)
    text: str = answer.text if public is UNSET else public
    if call.presentation.format is Format.MARKDOWN:
        return targets.fitting(text, call.presentation.max, call.presentation.max_bytes, targets.markdown)
    return text


def rendered(call: Call, answer: Any) -> Any:
    """The answer with the renderings that were asked for."""
    wanted = call.presentation.include
    if not wanted or not hasattr(answer, "renderings"):
        return answer
    bounds, text = (call.presentation.max, call.presentation.max_bytes), answer.text
    secret, facts = getattr(answer, "visibility", "public") != "public", _facts(answer)
    title = _title(facts)
    made: dict[Target, Any] = {
        Target.MARKDOWN: lambda: targets.fitting(text, *bounds, targets.markdown),
        Target.SLACK: lambda: targets.fitting(text, *bounds, targets.slack),
        Target.HTML: lambda: targets.fitting(text, *bounds, targets.html_paragraph),
        Target.ROLL20: lambda: targets.roll20_line(text, title=title, secret=secret, most=bounds[0], most_bytes=bounds[1]),
        Target.FOUNDRY: lambda: foundry.rolls(getattr(facts, "dice", ()), flavor=title),
    }
    return replace(answer, renderings=Renderings(**{each.value: made[each]() for each in Target if each in wanted}))


def _facts(answer: Any) -> Any:
    """What was rolled: the answer itself, or what an event of the log holds."""
    return getattr(answer, "data", None) or answer


def _title(answer: Any) -> str:
    """Stands over an answer where its place shows one: its label, else the game, whose name every language shares."""
    game = SYSTEMS.get(getattr(answer, "system", ""))
    return getattr(answer, "label", None) or (game.name if game else "Emberdice")


def has(request: Request[Any, Any, Any], tag: str) -> bool:
    known = [each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")]
    return tag in known or known == ["*"]


def reply(
    request: Request[Any, Any, Any], body: bytes, media_type: str, headers: dict[str, str], status: int = 200
) -> Reply:
    charset = "; charset=utf-8" if media_type.startswith("text/") else ""
    told = {**headers, "Content-Type": f"{media_type}{charset}", "Content-Length": str(len(body))}
    return Reply(status, told, b"" if request.scope["method"] == "HEAD" else body)
