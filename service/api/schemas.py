"""The schemas of the contract: what msgspec says of our Structs, finished for readers, fuzzers and generators."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

import msgspec
from msgspec import UNSET, Struct, inspect
from msgspec.structs import astuple, fields

from service.api.decoding import LONGEST_WORD, Spoken
from service.words import folded

Schema = dict[str, Any]
REF = "#/components/schemas/{name}"
NULL = {"type": "null"}
EMPTY = {"description": "An empty value is an absent one.", "type": "string", "const": ""}


class Schemas:
    """Components, and the schema of each type: closed and with defaults where it is asked, open and complete in answers.

    An object that stands on both sides is written twice: `Rates` in answers, `RatesRequest` in requests.
    """

    def __init__(self, asked: Sequence[Any], answered: Sequence[Any]) -> None:
        ask_refs, ask = _written(asked, _classes(asked))
        classes = _classes(answered)
        self.answered, answer = _written(answered, classes)
        shared = ask.keys() & answer.keys()
        twice = {
            name for name in shared if any("properties" in part for part in (ask[name], *reached(ask[name], ask).values()))
        }
        names = {REF.format(name=name): REF.format(name=f"{name}Request") for name in twice}
        self.asked: dict[Any, Schema] = {kind: _renamed(ref, names) for kind, ref in ask_refs.items()}
        self.components: dict[str, Schema] = {
            **{f"{name}Request" if name in twice else name: _renamed(schema, names) for name, schema in ask.items()},
            **{name: _open(schema, classes.get(name)) for name, schema in answer.items()},
        }

    def flat(self, kind: type[Struct], spoken: Spoken) -> Schema:
        """A Struct of a query string or a form: nothing is null, and game words are understood in every language."""
        words = {REF.format(name=enum.__name__): REF.format(name=f"{enum.__name__}Word") for enum in spoken.sections}
        for enum, section in spoken.sections.items():
            if f"{enum.__name__}Word" not in self.components:
                self.components[f"{enum.__name__}Word"] = _word(enum.__name__, spoken.vocabulary.shown(section))
        schema = self.components[kind.__name__]
        members = {name: _renamed(_not_null(member), words) for name, member in schema["properties"].items()}
        return {**schema, "properties": members}

    def form(self, name: str, flat: Schema) -> Schema:
        """A flat Struct as a form."""
        self.components["Empty"] = EMPTY
        members = flat["properties"].items()
        told = {member: schema if member in flat["required"] else _or_empty(schema) for member, schema in members}
        self.components[name] = {**flat, "properties": told}
        return {"$ref": REF.format(name=name)}


def reached(node: Any, components: Mapping[str, Schema]) -> dict[str, Schema]:
    """The components that a part of the contract refers to, directly or not, by name."""
    found: dict[str, Schema] = {}
    todo = list(_refs(node))
    while todo:
        name = todo.pop()
        if name not in found:
            found[name] = components[name]
            todo += _refs(components[name])
    return dict(sorted(found.items()))


def _refs(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        ref = node.get("$ref")
        if isinstance(ref, str) and ref.startswith(REF.format(name="")):
            yield ref.removeprefix(REF.format(name=""))
    if isinstance(node, dict | list):
        for each in node.values() if isinstance(node, dict) else node:
            yield from _refs(each)


def _renamed(node: Any, names: Mapping[str, str]) -> Any:
    if isinstance(node, dict):
        return {key: _renamed(value, names) for key, value in node.items()}
    if isinstance(node, list):
        return [_renamed(each, names) for each in node]
    return names.get(node, node) if isinstance(node, str) else node


def _classes(types: Iterable[Any]) -> dict[str, type[Any]]:
    """Every Struct and enum in the types, by the name of its component."""
    found: dict[str, type[Any]] = {}
    todo: list[Any] = list(inspect.multi_type_info(types))
    while todo:
        info = todo.pop()
        if isinstance(info, list | tuple):
            todo += info
        elif isinstance(info, inspect.Type | inspect.Field):
            kind = getattr(info, "cls", None)
            if kind is None or kind.__name__ not in found:
                todo += astuple(info)
            if kind and found.setdefault(kind.__name__, kind) is not kind:
                raise ValueError(f"two types are called {kind.__name__}")
    return found


def _written(types: Sequence[Any], classes: Mapping[str, type[Any]]) -> tuple[dict[Any, Schema], dict[str, Schema]]:
    """The schema of each type, and the components that they refer to. What has a title of its own is a component too."""
    refs, raw = msgspec.json.schema_components(types, ref_template=REF)
    found: dict[str, Schema] = {}
    for name, schema in raw.items():
        told = {key: value for key, value in schema.items() if key != "title"}
        if issubclass(classes[name], Enum):
            told["enum"] = [member.value for member in classes[name]]  # msgspec sorts; the book's order says more
        found[name] = _finished(told, found)
    return {kind: _finished(ref, found) for kind, ref in zip(types, refs, strict=True)}, found


def _finished(node: Any, found: dict[str, Schema]) -> Any:
    """A node as generators want it. Named parts go to `found`, and a reference stays in their place."""
    if isinstance(node, float) and node.is_integer():
        return int(node)
    if isinstance(node, list):
        return [_finished(each, found) for each in node]
    if not isinstance(node, dict):
        return node
    schema = {key: _finished(value, found) for key, value in node.items()}
    if "default" in schema and schema["default"] is None:
        del schema["default"]
    if isinstance(schema.get("enum"), list):
        schema = _closed_set(schema)
    if "minimum" in schema and schema["minimum"] == schema.get("maximum"):
        schema["const"] = schema.pop("minimum")
        del schema["maximum"]
    if "discriminator" in schema:
        schema["oneOf"] = schema.pop("anyOf")
    if isinstance(schema.get("anyOf"), list):
        schema = _described(schema)
    if isinstance(schema.get("title"), str):
        name = schema.pop("title")
        found[name] = schema
        return {"$ref": REF.format(name=name)}
    return schema


def _closed_set(schema: Schema) -> Schema:
    values = schema.pop("enum")
    return {"type": "string", **schema, **({"const": values[0]} if len(values) == 1 else {"enum": values})}


def _described(schema: Schema) -> Schema:
    """What describes the one thing that is not null describes the member."""
    arms = [arm for arm in schema["anyOf"] if arm != NULL]
    if len(arms) == 1 and "description" in arms[0]:
        return {"description": arms[0].pop("description"), **schema}
    return schema


def _open(schema: Schema, kind: type[Any] | None) -> Schema:
    """An answer may grow, and leaves out nothing but what is UNSET."""
    if "properties" not in schema or kind is None:
        return schema
    members = {name: {k: v for k, v in member.items() if k != "default"} for name, member in schema["properties"].items()}
    omits: bool = kind.__struct_config__.omit_defaults
    left_out = {field.encode_name for field in fields(kind) if field.default is UNSET or (omits and not field.required)}
    told = {"properties": members, "required": [name for name in members if name not in left_out]}
    return {key: value for key, value in {**schema, **told}.items() if key != "additionalProperties"}


def _not_null(member: Schema) -> Schema:
    arms = [arm for arm in member.get("anyOf", ()) if arm != NULL]
    return {key: value for key, value in member.items() if key != "anyOf"} | arms[0] if len(arms) == 1 else member


def _or_empty(member: Schema) -> Schema:
    value = {key: told for key, told in member.items() if key not in ("description", "default")}
    told = {key: told for key, told in member.items() if key not in value}
    return {**told, "anyOf": [value, {"$ref": REF.format(name="Empty")}]}


def _word(name: str, words: Mapping[str, Sequence[str]]) -> Schema:
    """A member of a closed set, or any word that is understood for it."""
    said = []
    for identifier, spellings in words.items():
        others = {folded(each): each for each in spellings if folded(each) != folded(identifier)}
        said.append(f"`{identifier}`" + (f" ({' · '.join(others.values())})" if others else ""))
    return {
        "description": f"One of these words, without regard to case and accents: {'; '.join(said)}.",
        "anyOf": [{"$ref": REF.format(name=name)}, {"type": "string", "maxLength": LONGEST_WORD}],
    }
