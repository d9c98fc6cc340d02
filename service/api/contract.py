"""The OpenAPI document, written from the same declarations that route the requests."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import fields

from service.api import presentation
from service.api.decoding import decode_pairs
from service.api.links import MEMBERS, links
from service.api.operation import FORM, JSON, MEDIA_TYPES, PLAIN, PROBLEM, STREAM, Operation
from service.api.parts import ASKED, BEARER, HEADERS, INFO, KEY, OF_STATUS, Part, in_path, in_query, in_text, tag
from service.api.problems import KINDS, STATUS, schema_name
from service.api.schemas import REF, Schema, Schemas, reached
from service.words import Lang

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "examples.json").read_text("utf-8"))
"""Real answers: `answers` by the operation's id, `problems` by their code. `make contract` plays them."""

FROM_THE_EDGE = ("malformed-request", "uri-too-long", "headers-too-large")
"""What any request can meet before an operation sees it."""

SENTENCE: Part = {media: {"schema": {"type": "string"}} for media in MEDIA_TYPES.values()}
"""The sentence alone, in each form that it can be asked for."""


def document(operations: Iterable[Operation], public_url: str) -> dict[str, Any]:
    return illustrated(Contract(list(operations)).document(public_url or "/"), RECORDED)


def illustrated(contract: dict[str, Any], recorded: Mapping[str, Any]) -> dict[str, Any]:
    """The contract with the recorded answers as its examples."""
    for operation in (operation for path in contract["paths"].values() for operation in path.values()):
        answer = recorded["answers"].get(operation["operationId"])
        for success in (told for status, told in operation["responses"].items() if status in ("200", "201") and answer):
            content = success["content"]
            text = f"{answer.get('public_text', answer['text'])}\n"
            success["content"] = content | {
                JSON: content[JSON] | {"example": answer},
                PLAIN: content[PLAIN] | {"example": text},
            }
    for code, example in contract["components"]["examples"].items():
        example["value"] = recorded["problems"].get(code)
    return contract


def encoded(contract: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(contract)


def printed(contract: Mapping[str, Any]) -> bytes:
    """As it is committed: for people who read what changed."""
    return msgspec.json.format(encoded(contract), indent=2) + b"\n"


class Contract:
    """Writes one document. What several operations share goes to the components, under its name."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._operations = operations
        bodies = [kind for each in operations for kind in (each.body, each.query, each.form) if kind]
        answers = [kind for each in operations for kind in (each.answer, *each.also, each.streams) if kind]
        self._schemas = Schemas([presentation.Asked, *bodies], [*answers, *KINDS.values()])
        self._shared: dict[str, dict[str, Part]] = {}

    def document(self, server: str) -> dict[str, Any]:
        paths: dict[str, Part] = {}
        for each in self._operations:
            paths.setdefault(MEMBERS.sub(r"{\1}", each.path), {})[each.method.lower()] = self._operation(each)
        schemas = reached([paths, self._shared], self._schemas.components)
        tags = dict.fromkeys(each.tag for each in self._operations)
        return {
            "openapi": "3.1.0",
            "info": INFO,
            "servers": [{"url": server}],
            "tags": [tag(name) for name in tags],
            "paths": paths,
            "components": {"schemas": schemas, **{kind: self._shared[kind] for kind in sorted(self._shared)}},
        }

    def _operation(self, operation: Operation) -> Part:
        return {
            "operationId": operation.id,
            "tags": [operation.tag],
            "summary": operation.summary,
            "description": operation.about,
            "security": self._security(operation),
            "parameters": self._parameters(operation),
            **({"requestBody": self._body(operation)} if operation.body else {}),
            "responses": self._responses(operation),
        }

    def _share(self, kind: str, name: str, part: Part) -> Part:
        assert self._shared.setdefault(kind, {}).setdefault(name, part) == part, f"two {kind} called {name}"  # noqa: S101
        return {"$ref": f"#/components/{kind}/{name}"}

    # Requests.

    def _security(self, operation: Operation) -> list[Part]:
        query: Any = operation.query
        if operation.gated:
            self._share("securitySchemes", "key", KEY)
            return [{}, {"key": []}]
        in_address = [field for field in fields(query) if field.name == "token"] if query else []
        if not operation.bearer or (in_address and in_address[0].required):
            return []
        self._share("securitySchemes", "token", BEARER)
        return [{"token": []}, *({} for _ in in_address)]

    def _parameters(self, operation: Operation) -> list[Part]:
        common = self._schemas.flat(presentation.Asked, operation.spoken)["properties"]
        return [
            *(self._share("parameters", name, in_path(name)) for name in MEMBERS.findall(operation.path)),
            *(self._query(operation) if operation.query else []),
            *(self._share("parameters", name, in_query(name, common[name])) for name in common if name != "errors"),
            *(self._share("parameters", name, ASKED[name]) for name in _headers_asked(operation)),
        ]

    def _query(self, operation: Operation) -> list[Part]:
        kind: Any = operation.query
        schema = self._schemas.flat(kind, operation.spoken)
        examples = _read(operation.example, kind, operation) or {}
        return [
            in_query(name, member, required=name in schema["required"])
            | ({"example": examples[name]} if name in examples else {})
            for name, member in schema["properties"].items()
        ]

    def _body(self, operation: Operation) -> Part:
        content = {JSON: _shown(self._schemas.asked[operation.body], operation.example)}
        if operation.form:
            content[FORM] = self._form(operation.form, operation)
        return {"required": not operation.body_optional, "content": content}

    def _form(self, kind: type[Any], operation: Operation) -> Part:
        flat = self._schemas.flat(kind, operation.spoken)
        lists = [name for name, member in flat["properties"].items() if "items" in member]
        return {
            **_shown(self._schemas.form(kind.__name__, flat), _read(operation.form_example, kind, operation)),
            "encoding": {name: {"style": "form", "explode": False} for name in lists},
        }

    # Answers.

    def _responses(self, operation: Operation) -> Part:
        odd_path = ("not-found",) if MEMBERS.search(operation.path) else ()
        codes = sorted({*operation.problems, *odd_path, *FROM_THE_EDGE}, key=list(STATUS).index)
        by_status = sorted(codes, key=lambda code: STATUS[code][0])
        return {
            **self._successes(operation),
            **({"304": self._not_modified()} if operation.revalidated else {}),
            **{
                str(status): self._problems(status, list(group), operation)
                for status, group in groupby(by_status, key=lambda code: STATUS[code][0])
            },
        }

    def _headers(self, *names: str) -> Part:
        return {name: self._share("headers", name, HEADERS[name]) for name in ("X-Request-Id", "Content-Language", *names)}

    def _successes(self, operation: Operation) -> Part:
        statuses = (200, 201) if operation.may_create else (operation.status,)
        return {str(status): self._success(status, operation) for status in statuses}

    def _success(self, status: int, operation: Operation) -> Part:
        carried = {
            "Cache-Control": operation.fresh,
            "ETag": operation.tagged or operation.versioned,
            "Idempotency-Replayed": operation.keyed,
        }
        streams = {STREAM: {"schema": self._schemas.answered[operation.streams]}} if operation.streams else {}
        return {
            "description": operation.summary,
            "headers": self._headers(*OF_STATUS.get(status, []), *(name for name in carried if carried[name])),
            "content": {JSON: {"schema": self._answer(operation)}, **SENTENCE, **streams},
            **self._links(operation),
        }

    def _links(self, operation: Operation) -> Part:
        found = {name: self._share("links", name, link) for name, link in links(operation, self._operations)}
        return {"links": found} if found else {}

    def _answer(self, operation: Operation) -> Part:
        whole = self._schemas.answered[operation.answer]
        if not operation.also:
            return whole
        name = "Or".join(kind.__name__ for kind in (operation.answer, *operation.also))
        return self._named(name, {"oneOf": [whole, *(self._schemas.answered[kind] for kind in operation.also)]})

    def _named(self, name: str, schema: Schema) -> Part:
        self._schemas.components[name] = schema
        return {"$ref": REF.format(name=name)}

    def _not_modified(self) -> Part:
        return self._share(
            "responses", "NotModified", {"description": "You have it already.", "headers": self._headers("ETag")}
        )

    def _problems(self, status: int, codes: Sequence[str], operation: Operation) -> Part:
        """The problems of one status: one schema, or a union told apart by `code`."""
        words = operation.words[Lang.EN]
        name = "Or".join(schema_name(code).removesuffix("Problem") for code in codes)
        refs = {code: self._schemas.answered[KINDS[code]] for code in codes}
        told_apart = {"propertyName": "code", "mapping": {code: ref["$ref"] for code, ref in refs.items()}}
        union = {"oneOf": list(refs.values()), "discriminator": told_apart}
        schema = refs[codes[0]] if len(codes) == 1 else self._named(f"{name}Problem", union)
        titles = {code: words(f"problem.{code}.title") for code in codes}
        examples = {code: self._share("examples", code, {"summary": title}) for code, title in titles.items()}
        answer = {
            "description": " · ".join(titles.values()),
            "headers": self._headers("Cache-Control", *OF_STATUS.get(status, [])),
            "content": {PROBLEM: {"schema": schema, "examples": examples}, **SENTENCE},
        }
        return self._share("responses", name, answer)


def _shown(schema: Schema, example: object) -> Part:
    return {"schema": schema} if example is None else {"schema": schema, "example": example}


def _headers_asked(operation: Operation) -> list[str]:
    asked = {
        "Idempotency-Key": operation.keyed,
        "If-Match": "precondition-failed" in operation.problems,
        "If-None-Match": operation.revalidated or (operation.method == "PUT" and operation.versioned),
        "Last-Event-ID": operation.streams is not None,
        "X-Request-Id": True,
    }
    return [name for name in asked if asked[name]]


def _read(example: Mapping[str, object] | None, kind: Any, operation: Operation) -> dict[str, Any] | None:
    """The values that a flat example has once it is read."""
    if example is None:
        return None
    pairs = [(name, in_text(value)) for name, value in example.items()]
    read = decode_pairs(pairs, kind, operation.spoken, "query")
    return {name: msgspec.to_builtins(getattr(read, name)) for name in example}
