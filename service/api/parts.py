"""What the contract says of every operation in the same words: headers, common parameters, what stands around them."""

from pathlib import Path
from typing import Any

from service import __version__
from service.api.gate import API_KEY
from service.api.schemas import REF, Schema
from service.systems import SYSTEMS

Part = dict[str, Any]

INFO = {
    "title": "Emberdice",
    "version": __version__,
    "summary": "Plays the mechanics of 6d6 System and Burn 2d6.",
    "description": (Path(__file__).parent / "conventions.md").read_text("utf-8"),
    "contact": {"name": "Emberdice"},
    "license": {"name": "MIT", "identifier": "MIT"},
}

ABOUT = {
    "Service": "What the service says of itself.",
    "Table": "One game table: its session, its tokens, its clock, its characters and its decks.",
}
"""What the operations of a tag are about. A game needs no line here."""


def tag(name: str) -> Part:
    if name not in SYSTEMS:
        return {"name": name, "description": ABOUT[name]}
    shown = SYSTEMS[name].name
    return {"name": name, "x-displayName": shown, "description": f"The rules of {shown}. Nothing is remembered."}


BEARER = {"type": "http", "scheme": "bearer", "description": "A token of the session in the path."}
KEY = {"type": "apiKey", "in": "header", "name": API_KEY, "description": "Where the operator asks for one."}


def _header(description: str, *, always: bool = True, **schema: Any) -> Part:
    return {"description": description, "required": always, "schema": {"type": "string", **schema}}


HEADERS = {
    "Accept": _header("Content-Types that this operation reads."),
    "Cache-Control": _header("Nothing keeps this answer.", const="no-store"),
    "Content-Language": {**_header("Language of the sentences."), "schema": {"$ref": REF.format(name="Lang")}},
    "ETag": _header("Names this answer; send it as If-None-Match.", pattern='^"[^"]+"$'),
    "Idempotency-Replayed": _header(
        "The same key was answered before, and this is that answer.", always=False, const="true"
    ),
    "Location": _header("Address of what was created.", format="uri-reference"),
    "Retry-After": {**_header("Seconds to wait.", always=False), "schema": {"type": "integer", "minimum": 0}},
    "WWW-Authenticate": _header("How to show a token.", const="Bearer"),
    "X-Request-Id": _header("Names this request in the service's log.", pattern="^[A-Za-z0-9._-]{1,64}$"),
}

# Headers of an answer, by its status.
OF_STATUS = {
    201: ["Location"],
    401: ["WWW-Authenticate"],
    409: ["Retry-After"],
    412: ["ETag"],
    415: ["Accept"],
    429: ["Retry-After"],
    503: ["Retry-After"],
}


def _asked(name: str, description: str, **schema: Any) -> Part:
    return {"name": name, "in": "header", "description": description, "schema": {"type": "string", **schema}}


ASKED = {
    "Idempotency-Key": _asked(
        "Idempotency-Key",
        "A repetition under the same key changes nothing again, and gets the same answer. Kept for a day.",
        pattern="^[!-~]{1,128}$",
    ),
    "If-Match": _asked("If-Match", "ETag that must still hold, or * for whatever is there; else 412 and nothing changes."),
    "If-None-Match": _asked(
        "If-None-Match",
        "ETag of the answer that you have: 304 if it still holds. With a PUT, `*` alone: 412 where there is one already.",
    ),
    "Last-Event-ID": _asked("Last-Event-ID", "For a stream that was cut off: the id of the last event seen."),
    "X-Request-Id": _asked("X-Request-Id", "Comes back, if it is 1–64 of A–Z a–z 0–9 . _ - ; else the service makes one."),
}

# Members of a path: what they are, and one of them.
PLACES = {
    "card": ("Id of one card of the table: its deck and its number.", "light-43"),
    "care": ("A care: `treat_damage`, `calm_self` or `calm_other`.", "treat_damage"),
    "character": ("Id of the character.", "zoe"),
    "code": ("Code of a problem.", "faces-mismatch"),
    "deck": ("Id of the deck: `light`, `grave` or one of the table's own.", "light"),
    "event": ("Id of the event.", "3"),
    "hit": ("Id of the hit that waits.", "19"),
    "opponent": ("Id of the opponent.", "ogre"),
    "session": ("Id of the session.", "00000000000000000001"),
    "token": ("Id of the token, which is not the token.", "000000000003"),
}


def in_path(name: str) -> Part:
    description, example = PLACES.get(name, (f"Id of the {name}.", name))
    schema = {"type": "string", "maxLength": 64}
    return {"name": name, "in": "path", "required": True, "description": description, "schema": schema, "example": example}


def in_query(name: str, schema: Schema, *, required: bool = False) -> Part:
    """An empty value is an absent one."""
    about = {"description": schema["description"]} if "description" in schema else {}
    empty = {"required": True} if required else {"allowEmptyValue": True}
    as_list = {"style": "form", "explode": False} if schema.get("type") == "array" else {}
    told = {key: value for key, value in schema.items() if key != "description"}
    return {"name": name, "in": "query", **about, **empty, **as_list, "schema": told}


def in_text(value: object) -> str:
    """A value as it stands in a query or a form."""
    if isinstance(value, list):
        return ",".join(map(in_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
