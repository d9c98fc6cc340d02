"""How an answer should look: its language, JSON or text, how long its sentence may be, and errors for deaf tools."""

import re
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any
from urllib.parse import parse_qsl

from litestar import Request
from litestar.datastructures.headers import Accept
from msgspec import Meta, Struct

from service.api.decoding import Pairs, Spoken, decode_pairs, pairs_of
from service.api.problems import Refusal
from service.render.targets import Target
from service.words import Lang, Vocabulary

LANGS = {lang.value: lang for lang in Lang}
NAMES = ("lang", "format", "max", "max_bytes", "include", "errors")
NOTHING_SPOKEN = Spoken(Vocabulary({}), {})


MostCharacters = Annotated[int, Meta(ge=20, le=10_000, description="Cut the sentence to so many characters, with … .")]


MostBytes = Annotated[int, Meta(ge=20, le=10_000, description="The sentence on one line of so many bytes, for IRC.")]
Included = Annotated[
    frozenset[Target],
    Meta(max_length=5, description="Adds `renderings`, written for these targets."),
]


class Format(StrEnum):
    JSON = "json"
    TEXT = "text"
    MARKDOWN = "markdown"


class SoftErrors(StrEnum):
    AS_200 = "200"


class Asked(Struct, frozen=True, kw_only=True):
    """The query names that every operation takes."""

    lang: Annotated[Lang, Meta(description="Language of the sentences, before Accept-Language.")] | None = None
    format: Annotated[Format, Meta(description="`text` or `markdown` sends the sentence alone.")] | None = None
    max: MostCharacters | None = None
    max_bytes: MostBytes | None = None
    include: Included | None = None
    errors: SoftErrors | None = None


NOTHING_ASKED = Asked()


class Presentation(Struct, frozen=True, kw_only=True):
    lang: Lang | None = None
    """None: the caller left it to the session, or to us."""
    format: Format = Format.JSON
    max: int | None = None
    max_bytes: int | None = None
    include: frozenset[Target] = frozenset()
    soft_errors: bool = False
    stream: bool = False
    """Accept prefers text/event-stream."""


def read(request: Request[Any, Any, Any], raw: bytes, *, text: bool = False) -> tuple[Presentation, Pairs]:
    """The presentation, and the pairs of the query that are the operation's own. Raises Refusal."""
    pairs = pairs_of(raw, "query") if raw else []
    mine = [pair for pair in pairs if pair[0] in NAMES]
    asked = decode_pairs(mine, Asked, NOTHING_SPOKEN, "query") if mine else NOTHING_ASKED
    if asked.errors and not _may_be_soft(request):
        raise Refusal("invalid-request", faults=(("query.errors", "soft_errors_here", {}),))
    return _shown(request, asked, text=text), [pair for pair in pairs if pair[0] not in NAMES]


def lenient(request: Request[Any, Any, Any], *, text: bool = False) -> Presentation:
    """What can be understood of a query that may be at fault itself, for the problem that says so."""
    understood = Asked()
    pairs = _mine(request.scope["query_string"])
    for name in NAMES:
        try:
            one = decode_pairs([(name, pairs.get(name, ""))], Asked, NOTHING_SPOKEN, "query")
        except Refusal:
            continue
        understood = Asked(**{each: getattr(one, each) or getattr(understood, each) for each in NAMES})
    return _shown(request, understood, text=text)


def _mine(raw: bytes) -> dict[str, str]:
    """Ours of the names, also where the rest of the query cannot be read."""
    parts = [each for each in raw.split(b"&") if each.partition(b"=")[0].decode("latin-1") in NAMES]
    return dict(parse_qsl(b"&".join(parts).decode("utf-8", "replace")))


def _shown(request: Request[Any, Any, Any], asked: Asked, *, text: bool) -> Presentation:
    headers = request.headers
    by_headers = _by_headers(headers.get("accept-language", ""), headers.get("accept", ""), text=text)
    if asked is NOTHING_ASKED:
        return by_headers
    return Presentation(
        lang=asked.lang or by_headers.lang,
        format=asked.format or by_headers.format,
        max=asked.max,
        max_bytes=asked.max_bytes,
        include=asked.include or frozenset(),
        soft_errors=asked.errors is not None and _may_be_soft(request),
        stream=by_headers.stream,
    )


@lru_cache(1_024)
def _by_headers(accept_language: str, accept: str, *, text: bool) -> Presentation:
    return Presentation(
        lang=language(accept_language),
        format=Format.TEXT if text else accepted(accept),
        stream="text/event-stream" in accept,
    )


def _may_be_soft(request: Request[Any, Any, Any]) -> bool:
    form = request.headers.get("content-type", "").lower().startswith("application/x-www-form-urlencoded")
    return request.scope["method"] in ("GET", "HEAD") or form


def language(accept_language: str) -> Lang | None:
    """The first of our languages that the header prefers, if it names one."""
    wanted = sorted(
        (-_quality(parameters), position, LANGS[tag.strip().lower().split("-")[0]])
        for position, (tag, _, parameters) in enumerate(part.partition(";") for part in accept_language.split(","))
        if tag.strip().lower().split("-")[0] in LANGS and _quality(parameters) > 0
    )
    return wanted[0][2] if wanted else None


QUALITY = re.compile(r"q=([01](?:\.[0-9]{0,3})?)")


def _quality(parameters: str) -> float:
    stated = QUALITY.fullmatch(parameters.strip().lower() or "q=1")
    return float(stated[1]) if stated else 0


REFUSED = re.compile(r"[^,]*;\s*q=0(?:\.0*)?\s*(?:,|(?![\s\S]))", re.IGNORECASE)
"""A media range that the header says not to send. Litestar's own reading of Accept would send it."""


def accepted(accept: str) -> Format:
    """Text only where the header prefers it to JSON; what we cannot serve gets JSON."""
    ranges = REFUSED.sub("", accept)
    try:
        best = Accept(ranges).best_match(["application/json", "text/plain"]) if ranges else None
    except (ValueError, OverflowError):  # a quality that is no number, or none that ends
        best = None
    return Format.TEXT if best == "text/plain" else Format.JSON
