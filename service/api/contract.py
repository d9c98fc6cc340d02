"""The OpenAPI document, written from the same declarations that route the requests."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from service import __version__
from service.api import presentation
from service.api.decoding import decode_pairs
from service.api.operation import FORM, JSON, PLAIN, PROBLEM, Operation
from service.api.problems import KINDS, STATUS, schema_name
from service.api.schemas import REF, Schema, Schemas, reached
from service.words import Lang

Part = dict[str, Any]

HERE = Path(__file__).parent
RECORDED: dict[str, Any] = json.loads((HERE / "examples.json").read_text("utf-8"))
"""Real answers: `answers` by the operation's id, `problems` by their code. `make contract` plays them."""

INFO = {
    "title": "Emberdice",
    "version": __version__,
    "summary": "Plays the mechanics of 6d6 System and Burn 2d6.",
    "description": (HERE / "conventions.md").read_text("utf-8"),
    "contact": {"name": "Emberdice"},
    "license": {"name": "MIT", "identifier": "MIT"},
}
TAGS = {"Service": "What the service says of itself."}
"""A game's tag needs no line here."""

FROM_THE_EDGE = ("uri-too-long", "headers-too-large")
"""What any request can meet before an operation sees it."""


def header(description: str, **schema: Any) -> Part:
    return {"description": description, "required": True, "schema": {"type": "string", **schema}}


HEADERS = {
    "X-Request-Id": header("Names this request in the service's log.", pattern="^[A-Za-z0-9._-]{1,64}$"),
    "Content-Language": {**header("Language of the sentences."), "schema": {"$ref": REF.format(name="Lang")}},
    "Cache-Control": header("A roll or a problem is never stored.", const="no-store"),
    "ETag": header("Names this answer; send it as If-None-Match.", pattern='^"[^"]+"$'),
    "Location": header("Path of what was created.", format="uri-reference"),
    "Accept": header("Content-Types that this operation reads."),
    "Retry-After": {**header("Seconds to wait."), "schema": {"type": "integer", "minimum": 1}},
}
OF_STATUS = {201: ["Location"], 415: ["Accept"], 429: ["Retry-After"], 503: ["Retry-After"]}

ID_SENT = {
    "name": "X-Request-Id",
    "in": "header",
    "description": "Comes back in the answer, if it is 1–64 of A–Z a–z 0–9 . _ - ; else the service makes one.",
    "schema": {"type": "string"},
}
TAG_KNOWN = {
    "name": "If-None-Match",
    "in": "header",
    "description": "ETag of the answer that you have: 304 if it still holds.",
    "schema": {"type": "string"},
}
# Path members, by the name that they have in every path.
PLACES: dict[str, Part] = {
    "code": {"description": "Code of a problem.", "schema": {"type": "string", "maxLength": 64}},
}


def document(operations: Iterable[Operation], public_url: str, recorded: Mapping[str, Any] = RECORDED) -> dict[str, Any]:
    return Contract(list(operations), recorded).document(public_url or "/")


def encoded(contract: Mapping[str, Any]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(contract), indent=2) + b"\n"


class Contract:
    """Writes one document. What several operations share goes to the components, under its name."""

    def __init__(self, operations: Sequence[Operation], recorded: Mapping[str, Any]) -> None:
        self._operations, self._recorded = operations, recorded
        flat = [kind for each in operations for kind in (each.query, each.form) if kind]
        asked = [presentation.Asked, *(each.body for each in operations if each.body), *flat]
        answered = [*(each.answer for each in operations), *KINDS.values()]
        self._schemas = Schemas(asked, answered)
        self._shared: dict[str, dict[str, Part]] = {}

    def document(self, server: str) -> dict[str, Any]:
        tags = dict.fromkeys(each.tag for each in self._operations)
        paths: dict[str, Part] = {}
        for each in self._operations:
            path = re.sub(r"\{(\w+):\w+\}", r"{\1}", each.path)
            paths.setdefault(path, {})[each.method.lower()] = self._operation(each)
        schemas = reached([paths, self._shared], self._schemas.components)
        return {
            "openapi": "3.1.0",
            "info": INFO,
            "servers": [{"url": server}],
            "tags": [
                {"name": tag, "description": TAGS.get(tag, f"The rules of {tag}. Nothing is remembered.")} for tag in tags
            ],
            "paths": paths,
            "components": {"schemas": schemas, **{kind: self._shared[kind] for kind in sorted(self._shared)}},
        }

    def _operation(self, operation: Operation) -> Part:
        body = {"requestBody": self._body(operation)} if operation.body else {}
        return {
            "operationId": operation.id,
            "tags": [operation.tag],
            "summary": operation.summary,
            "description": operation.about,
            "security": [],
            "parameters": self._parameters(operation),
            **body,
            "responses": self._responses(operation),
        }

    def _share(self, kind: str, name: str, part: Part) -> Part:
        self._shared.setdefault(kind, {})[name] = part
        return {"$ref": f"#/components/{kind}/{name}"}

    # Requests.

    def _parameters(self, operation: Operation) -> list[Part]:
        places = re.findall(r"\{(\w+):\w+\}", operation.path)
        own = self._query(operation) if operation.query else []
        common = self._schemas.flat(presentation.Asked, operation.spoken)["properties"]
        return [
            *(self._place(name, operation) for name in places),
            *own,
            *(self._share("parameters", name, _parameter(name, common[name])) for name in ("lang", "format", "max")),
            self._share("parameters", "X-Request-Id", ID_SENT),
            *([self._share("parameters", "If-None-Match", TAG_KNOWN)] if operation.tagged else []),
        ]

    def _place(self, name: str, operation: Operation) -> Part:
        example = {"example": operation.example[name]} if operation.example and name in operation.example else {}
        return self._share("parameters", name, {"name": name, "in": "path", "required": True, **PLACES[name], **example})

    def _query(self, operation: Operation) -> list[Part]:
        assert operation.query  # noqa: S101
        schema = self._schemas.flat(operation.query, operation.spoken)
        examples = _read(operation.example, operation.query, operation)
        return [
            _parameter(name, member, name in schema["required"]) | ({"example": examples[name]} if name in examples else {})
            for name, member in schema["properties"].items()
        ]

    def _body(self, operation: Operation) -> Part:
        content: Part = {JSON: {"schema": self._schemas.asked[operation.body], "example": operation.example}}
        if operation.form:
            name = operation.form.__name__
            self._schemas.components[name] = self._schemas.flat(operation.form, operation.spoken)
            example = _read(operation.form_example, operation.form, operation)
            content[FORM] = {"schema": {"$ref": REF.format(name=name)}, "example": example}
        return {"required": True, "content": content}

    # Answers.

    def _responses(self, operation: Operation) -> Part:
        codes = sorted({*operation.problems, *FROM_THE_EDGE}, key=list(STATUS).index)
        grouped = {status: list(group) for status, group in groupby(codes, key=lambda code: STATUS[code][0])}
        known = {"304": self._not_modified()} if operation.tagged else {}
        return {
            str(operation.status): self._success(operation),
            **known,
            **{str(status): self._problems(status, group, operation) for status, group in sorted(grouped.items())},
        }

    def _headers(self, *names: str) -> Part:
        return {name: self._share("headers", name, HEADERS[name]) for name in ("X-Request-Id", *names)}

    def _success(self, operation: Operation) -> Part:
        names = [*OF_STATUS.get(operation.status, []), *(["Cache-Control"] if operation.fresh else [])]
        answer = self._recorded["answers"].get(operation.id)
        text = {"example": f"{answer.get('public_text', answer['text'])}\n"} if answer else {}
        return {
            "description": operation.summary,
            "headers": self._headers("Content-Language", *names, *(["ETag"] if operation.tagged else [])),
            "content": {
                JSON: {"schema": self._schemas.answered[operation.answer], **({"example": answer} if answer else {})},
                PLAIN: {"schema": {"type": "string"}, **text},
            },
        }

    def _not_modified(self) -> Part:
        answer = {"description": "You have it already.", "headers": self._headers("Content-Language", "ETag")}
        return self._share("responses", "NotModified", answer)

    def _problems(self, status: int, codes: Sequence[str], operation: Operation) -> Part:
        """The problems of one status: one schema, or a union told apart by `code`."""
        words = operation.words[Lang.EN]
        refs = {code: self._schemas.answered[KINDS[code]] for code in codes}
        union = {"propertyName": "code", "mapping": {code: ref["$ref"] for code, ref in refs.items()}}
        schema = refs[codes[0]] if len(codes) == 1 else {"oneOf": list(refs.values()), "discriminator": union}
        examples = {code: self._example(code) for code in codes if code in self._recorded["problems"]}
        answer = {
            "description": " · ".join(words(f"problem.{code}.title") for code in codes),
            "headers": self._headers("Content-Language", "Cache-Control", *OF_STATUS.get(status, [])),
            "content": {PROBLEM: {"schema": schema, "examples": examples}, PLAIN: {"schema": {"type": "string"}}},
        }
        return self._share("responses", schema_name(codes[0]).removesuffix("Problem"), answer) if len(codes) == 1 else answer

    def _example(self, code: str) -> Part:
        value = self._recorded["problems"][code]
        return self._share("examples", code, {"summary": value["title"], "value": value})


def _parameter(name: str, schema: Schema, required: bool = False) -> Part:
    """A member of the query. An empty value is an absent one."""
    about = {"description": schema["description"]} if "description" in schema else {}
    empty = {"required": True} if required else {"allowEmptyValue": True}
    as_list = {"style": "form", "explode": False} if schema.get("type") == "array" else {}
    told = {key: value for key, value in schema.items() if key != "description"}
    return {"name": name, "in": "query", **about, **empty, **as_list, "schema": told}


def _read(example: Mapping[str, object] | None, kind: Any, operation: Operation) -> dict[str, Any]:
    """The values that a flat example has once it is read."""
    given = [(name, str(value)) for name, value in (example or {}).items() if name in kind.__struct_fields__]
    read = decode_pairs(given, kind, operation.spoken, "query")
    return {name: msgspec.to_builtins(getattr(read, name)) for name, _ in given}
