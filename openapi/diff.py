"""`make contract-diff`: what would break a client of the last released contract. README.md has the rules that it checks."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
Part = Mapping[str, Any]

NOT_NARROWER: dict[str, Callable[[Any, Any], bool]] = {
    "minimum": lambda old, new: new <= old,
    "exclusiveMinimum": lambda old, new: new <= old,
    "minLength": lambda old, new: new <= old,
    "minItems": lambda old, new: new <= old,
    "minProperties": lambda old, new: new <= old,
    "maximum": lambda old, new: new >= old,
    "exclusiveMaximum": lambda old, new: new >= old,
    "maxLength": lambda old, new: new >= old,
    "maxItems": lambda old, new: new >= old,
    "maxProperties": lambda old, new: new >= old,
    "pattern": lambda old, new: new == old,
    "format": lambda old, new: new == old,
    "multipleOf": lambda old, new: old % new == 0,
    "uniqueItems": lambda old, new: old or not new,
}
"""Bounds of what is asked: whether all that the old one let pass still passes."""


class Side(Enum):
    ASKED = "asked"
    ANSWERED = "answered"


class Broken(NamedTuple):
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def breaks(old: Part, new: Part) -> list[Broken]:
    """Everything in `new` that a client written for `old` may stumble over."""
    return list(Comparison(old, new).operations())


class Comparison:
    def __init__(self, old: Part, new: Part) -> None:
        self._old, self._new = old, new
        self._compared: set[tuple[str, str, Side]] = set()

    def operations(self) -> Iterator[Broken]:
        now = dict(_operations(self._new))
        for line, old in _operations(self._old):
            if line not in now:
                yield Broken(line, "the operation is gone")
                continue
            new = now[line]
            if new.get("operationId") != old.get("operationId"):
                yield Broken(line, f"operationId {old.get('operationId')} → {new.get('operationId')}")
            yield from self._security(line, old, new)
            yield from self._parameters(line, old, new)
            yield from self._body(line, old, new)
            yield from self._responses(line, old, new)

    @staticmethod
    def _security(line: str, old: Part, new: Part) -> Iterator[Broken]:
        before, now = old.get("security") or [{}], new.get("security") or [{}]
        lost = [way for way in before if not any(each.items() <= way.items() for each in now)]
        if lost:
            yield Broken(line, f"security: {lost[0] or 'nothing'} is no longer enough")

    # What is asked.

    def _parameters(self, line: str, old: Part, new: Part) -> Iterator[Broken]:
        before, now = self._named(self._old, old), self._named(self._new, new)
        for key, parameter in before.items():
            where = f"{line} {key}"
            if key not in now:
                yield Broken(where, "the parameter is gone")
                continue
            yield from self._required(where, parameter, now[key])
            for member in ("style", "explode"):
                if parameter.get(member) != now[key].get(member):
                    yield Broken(where, f"{member} {parameter.get(member)} → {now[key].get(member)}")
            yield from self._schema(where, parameter["schema"], now[key]["schema"], Side.ASKED)
        for key in now.keys() - before.keys():
            if now[key].get("required"):
                yield Broken(f"{line} {key}", "a new required parameter")

    @staticmethod
    def _named(document: Part, operation: Part) -> dict[str, Part]:
        parts = [_resolved(document, each) for each in operation.get("parameters", ())]
        return {f"{each['in']}.{each['name']}": each for each in parts}

    @staticmethod
    def _required(where: str, old: Part, new: Part) -> Iterator[Broken]:
        if new.get("required") and not old.get("required"):
            yield Broken(where, "is required now")

    def _body(self, line: str, old: Part, new: Part) -> Iterator[Broken]:
        before, now = (_resolved(d, o["requestBody"]) if "requestBody" in o else {} for d, o in self._pairs(old, new))
        yield from self._required(f"{line} body", before, now)
        yield from self._contents(f"{line} body", before, now, Side.ASKED)

    def _pairs(self, old: Part, new: Part) -> tuple[tuple[Part, Part], tuple[Part, Part]]:
        return (self._old, old), (self._new, new)

    # What is answered.

    def _responses(self, line: str, old: Part, new: Part) -> Iterator[Broken]:
        for status, told in old["responses"].items():
            where = f"{line} {status}"
            if status not in new["responses"]:
                yield Broken(where, "the status is gone")
                continue
            before, now = _resolved(self._old, told), _resolved(self._new, new["responses"][status])
            yield from self._contents(where, before, now, Side.ANSWERED)
            yield from self._headers(where, before, now)

    def _headers(self, where: str, old: Part, new: Part) -> Iterator[Broken]:
        for name, told in old.get("headers", {}).items():
            if name not in new.get("headers", {}):
                yield Broken(f"{where} {name}", "the header is gone")
                continue
            before, now = _resolved(self._old, told), _resolved(self._new, new["headers"][name])
            if before.get("required") and not now.get("required"):
                yield Broken(f"{where} {name}", "may be absent now")
            yield from self._schema(f"{where} {name}", before["schema"], now["schema"], Side.ANSWERED)

    def _contents(self, where: str, old: Part, new: Part, side: Side) -> Iterator[Broken]:
        for media, told in old.get("content", {}).items():
            if media not in new.get("content", {}):
                yield Broken(where, f"{media} is gone")
            else:
                yield from self._schema(where, told.get("schema", {}), new["content"][media].get("schema", {}), side)

    # Schemas.

    def _schema(self, where: str, old: Part, new: Part, side: Side) -> Iterator[Broken]:
        names = old.get("$ref", ""), new.get("$ref", ""), side
        if names[0] and names in self._compared:
            return
        self._compared.add(names)
        old, new = _resolved(self._old, old), _resolved(self._new, new)
        before, now = _alternatives(old), _alternatives(new)
        if len(before) > 1 or len(now) > 1:
            yield from self._union(where, before, now, side)
        else:
            yield from self._plain(where, old, new, side)

    def _union(self, where: str, old: list[Part], new: list[Part], side: Side) -> Iterator[Broken]:
        """Each old alternative has to be among the new ones. What is answered may be null only where it could be before."""
        left = {self._name(self._new, each): each for each in new}
        for each in old:
            name = self._name(self._old, each)
            if name not in left:
                yield Broken(where, f"{name} is gone")
            else:
                yield from self._schema(where, each, left.pop(name), side)
        if side is Side.ANSWERED and "null" in left:
            yield Broken(where, "may be null now")
        elif side is Side.ANSWERED and len(old) == 1:
            yield from (Broken(where, f"may be {name} now") for name in left)

    @staticmethod
    def _name(document: Part, alternative: Part) -> str:
        name = alternative.get("$ref", "").rpartition("/")[2]
        resolved = _resolved(document, alternative)
        return name or str(resolved.get("const", "") or resolved.get("type", "anything"))

    def _plain(self, where: str, old: Part, new: Part, side: Side) -> Iterator[Broken]:
        if old.get("type") != new.get("type"):
            yield Broken(where, f"type {old.get('type')} → {new.get('type')}")
            return
        yield from _values(where, old, new)
        yield from _bounds(where, old, new) if side is Side.ASKED else ()
        yield from self._members(where, old, new, side)
        if "items" in old:
            yield from self._schema(f"{where}[]", old["items"], new.get("items", {}), side)
        if isinstance(old.get("additionalProperties"), Mapping):
            inside = new.get("additionalProperties")
            yield from self._schema(f"{where}.*", old["additionalProperties"], inside if inside else {}, side)
        if side is Side.ASKED and new.get("additionalProperties") is False and old.get("additionalProperties", True):
            yield Broken(where, "takes no further members now")

    def _members(self, where: str, old: Part, new: Part, side: Side) -> Iterator[Broken]:
        before, now = old.get("properties", {}), new.get("properties", {})
        for name in before:
            if name in now:
                yield from self._schema(f"{where}.{name}", before[name], now[name], side)
            else:
                yield Broken(f"{where}.{name}", "the member is gone")
        more, fewer = _required_names(new) - _required_names(old), _required_names(old) - _required_names(new)
        if side is Side.ASKED:
            yield from (Broken(f"{where}.{name}", "is required now") for name in sorted(more))
        else:
            yield from (Broken(f"{where}.{name}", "may be absent now") for name in sorted(fewer & now.keys()))


def _operations(document: Part) -> Iterator[tuple[str, Part]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def _resolved(document: Part, part: Part) -> Part:
    while "$ref" in part:
        *_, kind, name = part["$ref"].split("/")
        part = document["components"][kind][name]
    return part


def _alternatives(schema: Part) -> list[Part]:
    return list(schema.get("oneOf") or schema.get("anyOf") or [schema])


def _required_names(schema: Part) -> set[str]:
    return set(schema.get("required", ()))


def _values(where: str, old: Part, new: Part) -> Iterator[Broken]:
    before, now = (each.get("enum", [each["const"]] if "const" in each else []) for each in (old, new))
    if now:
        yield from (Broken(where, f"{value!r} is gone") for value in before if value not in now)
    if now and not before:
        yield Broken(where, "only some values now")
    if "default" in old and old["default"] != new.get("default"):
        yield Broken(where, f"default {old['default']!r} → {new.get('default')!r}")


def _bounds(where: str, old: Part, new: Part) -> Iterator[Broken]:
    for bound, holds in NOT_NARROWER.items():
        if bound in new and (bound not in old or not holds(old[bound], new[bound])):
            yield Broken(where, f"{bound} {old.get(bound, 'none')} → {new[bound]}")


def main() -> None:
    old, new = (json.loads((HERE / name).read_bytes()) for name in ("released.json", "openapi.json"))
    found = breaks(old, new)
    sys.exit("\n".join(map(str, found)) if found else 0)


if __name__ == "__main__":
    main()
