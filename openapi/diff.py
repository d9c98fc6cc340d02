"""`make contract-diff`: what would break a client of the last released contract. README.md has the rules that it checks."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
Part = Mapping[str, Any]
ABSENT: Any = ...
"""What no document holds, unlike null."""


# What may become of a keyword of a schema: whether its old value may be replaced by the new one.


def same(old: Any, new: Any) -> bool:
    return bool(old == new)


def may_go(old: Any, new: Any) -> bool:
    return new is ABSENT or same(old, new)


def may_change(old: Any, new: Any) -> bool:
    """But not go."""
    return old is ABSENT or new is not ABSENT


def may_fall(old: Any, new: Any) -> bool:
    return new is ABSENT or (old is not ABSENT and new <= old)


def may_rise(old: Any, new: Any) -> bool:
    return new is ABSENT or (old is not ABSENT and new >= old)


def divides(old: Any, new: Any) -> bool:
    return new is ABSENT or (old is not ABSENT and old % new == 0)


def not_asked_now(old: Any, new: Any) -> bool:
    return new in (ABSENT, False) or old is True


def still_tells_apart(old: Any, new: Any) -> bool:
    if old is ABSENT or new is ABSENT:
        return old is ABSENT
    renamed = old["propertyName"] != new["propertyName"]
    return not renamed and old.get("mapping", {}).items() <= new.get("mapping", {}).items()


class Rule(NamedTuple):
    asked: Callable[[Any, Any], bool]
    answered: Callable[[Any, Any], bool]


RULES = {
    # keyword: (of what is asked, of what is answered); one that is not here has to stay as it is
    **dict.fromkeys(("minimum", "exclusiveMinimum"), Rule(may_fall, may_change)),
    **dict.fromkeys(("minLength", "minItems", "minProperties", "minContains"), Rule(may_fall, may_change)),
    **dict.fromkeys(("maximum", "exclusiveMaximum"), Rule(may_rise, may_change)),
    **dict.fromkeys(("maxLength", "maxItems", "maxProperties", "maxContains"), Rule(may_rise, may_change)),
    "pattern": Rule(may_go, same),
    "format": Rule(may_go, same),
    "multipleOf": Rule(divides, may_change),
    "uniqueItems": Rule(not_asked_now, may_change),
    "discriminator": Rule(still_tells_apart, still_tells_apart),
}
OUTER = ("default", "discriminator", "readOnly", "writeOnly")
"""Keywords that stand beside a union, and mean the same beside its only alternative."""
UNIONS = ("oneOf", "anyOf")
INNER = {"items": "[]", "contains": "[some]", "propertyNames": "{names}"}
"""Keywords that hold a schema, and how their place is written."""
ELSEWHERE = {"$ref", "type", "enum", "const", "properties", "required", "additionalProperties", "allOf", *UNIONS, *INNER}
FOR_PEOPLE = {"title", "description", "example", "examples", "deprecated", "$comment", "externalDocs"}

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
OF_PARAMETERS = ("style", "explode", "allowReserved")
OF_SCHEMES = ("type", "in", "name", "scheme", "flows", "openIdConnectUrl")
OF_LINKS = ("operationId", "operationRef", "parameters", "requestBody", "server")


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
    comparison = Comparison(old, new)
    return [*comparison.schemes(), *comparison.operations()]


class Comparison:
    def __init__(self, old: Part, new: Part) -> None:
        self._old, self._new = old, new
        self._compared: set[tuple[str, str, Side]] = set()

    def schemes(self) -> Iterator[Broken]:
        """Those that are gone are missed where they are asked for."""
        before, now = (each.get("components", {}).get("securitySchemes", {}) for each in (self._old, self._new))
        for name in sorted(before.keys() & now.keys()):
            old, new = _resolved(self._old, before[name]), _resolved(self._new, now[name])
            yield from _changed(f"security {name}", old, new, OF_SCHEMES)

    def operations(self) -> Iterator[Broken]:
        now = dict(_operations(self._new))
        for line, old in _operations(self._old):
            if line not in now:
                yield Broken(line, "the operation is gone")
                continue
            new = now[line]
            yield from _changed(line, old, new, ("operationId",))
            yield from self._security(line, old, new)
            yield from self._parameters(line, old, new)
            yield from self._body(line, old, new)
            yield from self._responses(line, old, new)

    def _security(self, line: str, old: Part, new: Part) -> Iterator[Broken]:
        before, now = (o.get("security", d.get("security")) or [{}] for d, o in self._pairs(old, new))
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
            yield from _changed(where, parameter, now[key], OF_PARAMETERS)
            if parameter.get("allowEmptyValue") and not now[key].get("allowEmptyValue"):
                yield Broken(where, "may not be empty now")
            yield from self._value(where, parameter, now[key], Side.ASKED)
        for key in sorted(now.keys() - before.keys()):
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
        for status in sorted(new["responses"].keys() - old["responses"].keys()):
            if status.startswith("2") or status == "default":
                yield Broken(f"{line} {status}", "a new status of success")
        for status, told in old["responses"].items():
            where = f"{line} {status}"
            if status not in new["responses"]:
                yield Broken(where, "the status is gone")
                continue
            if self._seen(told, new["responses"][status], Side.ANSWERED):
                continue
            before, now = _resolved(self._old, told), _resolved(self._new, new["responses"][status])
            yield from self._contents(where, before, now, Side.ANSWERED)
            yield from self._headers(where, before, now)
            yield from self._links(where, before, now)

    def _headers(self, where: str, old: Part, new: Part) -> Iterator[Broken]:
        for name, told in old.get("headers", {}).items():
            if name not in new.get("headers", {}):
                yield Broken(f"{where} {name}", "the header is gone")
                continue
            if self._seen(told, new["headers"][name], Side.ANSWERED):
                continue
            before, now = _resolved(self._old, told), _resolved(self._new, new["headers"][name])
            if before.get("required") and not now.get("required"):
                yield Broken(f"{where} {name}", "may be absent now")
            yield from self._value(f"{where} {name}", before, now, Side.ANSWERED)

    def _links(self, where: str, old: Part, new: Part) -> Iterator[Broken]:
        for name, told in old.get("links", {}).items():
            if name not in new.get("links", {}):
                yield Broken(f"{where} {name}", "the link is gone")
                continue
            if self._seen(told, new["links"][name], Side.ANSWERED):
                continue
            before, now = _resolved(self._old, told), _resolved(self._new, new["links"][name])
            yield from _changed(f"{where} {name}", before, now, OF_LINKS)

    def _value(self, where: str, old: Part, new: Part, side: Side) -> Iterator[Broken]:
        """Of a parameter or a header: one has a schema, another a content."""
        if ("schema" in old) != ("schema" in new):
            yield Broken(where, "is written otherwise")
        elif "schema" in old:
            without = ("default",) if old.get("required") else ()
            yield from self._schema(where, _but(old["schema"], without), _but(new["schema"], without), side)
        yield from self._contents(where, old, new, side)

    def _contents(self, where: str, old: Part, new: Part, side: Side) -> Iterator[Broken]:
        for media, told in old.get("content", {}).items():
            if media not in new.get("content", {}):
                yield Broken(where, f"{media} is gone")
                continue
            before, now = told.get("schema", {}), new["content"][media].get("schema", {})
            yield from self._schema(where, before, now, side)
            ways, ways_now = told.get("encoding", {}), new["content"][media].get("encoding", {})
            known = _resolved(self._old, before).get("properties", {}).keys() | ways.keys()
            yield from _changed(f"{where} encoding", ways, ways_now, sorted(known))

    def _seen(self, old: Part, new: Part, side: Side) -> bool:
        """What is shared is compared once, and named where it stands first. A schema may lead to itself."""
        if "$ref" not in old:
            return False
        pair = json.dumps(old), json.dumps(new), side
        known = pair in self._compared
        self._compared.add(pair)
        return known

    # Schemas.

    def _schema(self, where: str, old: Part, new: Part, side: Side) -> Iterator[Broken]:
        if self._seen(old, new, side):
            return
        before, now = _resolved(self._old, old), _resolved(self._new, new)
        if _is_union(before) or _is_union(now):
            yield from self._keywords(where, _outer(before), _outer(now), side)
            yield from self._union(where, _alternatives(old, before), _alternatives(new, now), side)
        else:
            yield from self._plain(where, before, now, side)

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
        yield from _values(where, old, new, side)
        yield from self._keywords(where, old, new, side)
        yield from self._members(where, old, new, side)
        yield from self._inner(where, old, new, side)

    @staticmethod
    def _keywords(where: str, old: Part, new: Part, side: Side) -> Iterator[Broken]:
        for keyword in sorted({*old, *new} - ELSEWHERE - FOR_PEOPLE):
            rule = RULES.get(keyword, Rule(same, same))
            before, now = old.get(keyword, ABSENT), new.get(keyword, ABSENT)
            if not keyword.startswith("x-") and not getattr(rule, side.value)(before, now):
                yield Broken(where, f"{keyword} {_shown(before)} → {_shown(now)}")

    def _inner(self, where: str, old: Part, new: Part, side: Side) -> Iterator[Broken]:
        """A schema that is new bounds what is asked, and one that is gone what is answered."""
        for keyword, place in INNER.items():
            if keyword in (new if side is Side.ASKED else old):
                yield from self._schema(f"{where}{place}", old.get(keyword, {}), new.get(keyword, {}), side)
        every, every_now = old.get("allOf", ()), new.get("allOf", ())
        if len(every) != len(every_now):
            yield Broken(where, f"allOf of {len(every)} → {len(every_now)}")
        for before, now in zip(every, every_now, strict=False):
            yield from self._schema(where, before, now, side)

    def _members(self, where: str, old: Part, new: Part, side: Side) -> Iterator[Broken]:
        before, now = old.get("properties", {}), new.get("properties", {})
        always = _required_names(old)
        for name in before:
            if name in now:
                without = ("default",) if name in always and side is Side.ASKED else ()  # everybody sends it
                yield from self._schema(f"{where}.{name}", _but(before[name], without), _but(now[name], without), side)
            else:
                yield Broken(f"{where}.{name}", "the member is gone")
        more, fewer = _required_names(new) - always, always - _required_names(new)
        if side is Side.ASKED:
            yield from (Broken(f"{where}.{name}", "is required now") for name in sorted(more))
        else:
            yield from (Broken(f"{where}.{name}", "may be absent now") for name in sorted(fewer & now.keys()))
        yield from self._further(where, old.get("additionalProperties", True), new.get("additionalProperties", True), side)

    def _further(self, where: str, old: Any, new: Any, side: Side) -> Iterator[Broken]:
        """Members that have no name in the contract."""
        if side is Side.ASKED and new is False and old is not False:
            yield Broken(where, "takes no further members now")
        elif isinstance(old, Mapping) or (side is Side.ASKED and isinstance(new, Mapping) and old):
            before, now = (each if isinstance(each, Mapping) else {} for each in (old, new))
            yield from self._schema(f"{where}.*", before, now, side)


def _operations(document: Part) -> Iterator[tuple[str, Part]]:
    """With the parameters of its path."""
    for path, item in document["paths"].items():
        for method in (each for each in METHODS if each in item):
            parameters = [*item.get("parameters", ()), *item[method].get("parameters", ())]
            yield f"{method.upper()} {path}", {**item[method], "parameters": parameters}


def _resolved(document: Part, part: Part) -> Part:
    """With what stands beside the reference."""
    while "$ref" in part:
        *_, kind, name = part["$ref"].split("/")
        part = {**document["components"][kind][name], **_but(part, ("$ref",))}
    return part


def _but(part: Part, names: tuple[str, ...]) -> Part:
    return {name: value for name, value in part.items() if name not in names}


def _is_union(schema: Part) -> bool:
    return any(each in schema for each in UNIONS)


def _outer(schema: Part) -> Part:
    return schema if _is_union(schema) else {name: schema[name] for name in OUTER if name in schema}


def _alternatives(schema: Part, resolved: Part) -> list[Part]:
    return list(resolved.get("oneOf") or resolved.get("anyOf") or [_but(schema, OUTER)])


def _required_names(schema: Part) -> set[str]:
    return set(schema.get("required", ()))


def _changed(where: str, old: Part, new: Part, names: Any) -> Iterator[Broken]:
    for name in names:
        before, now = old.get(name, ABSENT), new.get(name, ABSENT)
        if before != now:
            yield Broken(where, f"{name} {_shown(before)} → {_shown(now)}")


def _shown(value: Any) -> str:
    return "none" if value is ABSENT else str(value)


def _values(where: str, old: Part, new: Part, side: Side) -> Iterator[Broken]:
    before, now = (each.get("enum", [each["const"]] if "const" in each else []) for each in (old, new))
    if now:
        yield from (Broken(where, f"{value!r} is gone") for value in before if value not in now)
    if now and not before:
        yield Broken(where, "only some values now")
    if before and not now and side is Side.ANSWERED:
        yield Broken(where, "any value now")


def main() -> None:
    old, new = (json.loads((HERE / name).read_bytes()) for name in ("released.json", "openapi.json"))
    found = breaks(old, new)
    sys.exit("\n".join(map(str, found)) if found else 0)


if __name__ == "__main__":
    main()
