"""Strict reading: a JSON body, a form, a query string. Nothing unknown, repeated or nearly right gets through."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import cache
from typing import Any, NoReturn, TypeVar
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct, inspect
from msgspec.structs import FieldInfo, fields

from service.api.problems import Kinds, OneOf, Refusal
from service.words import Vocabulary

T = TypeVar("T")
Found = tuple[str, str, dict[str, object]]
"""Where, the id of the sentence that says what is wrong, and what that sentence needs."""


@cache
def decoder(type_: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type_)


MOST_SEARCHED_BYTES = 65_536
"""A wrong body of more is not searched for keys that stand twice as well: it would take long."""


class Repeated(ValueError):
    """An object that has the same key twice."""


def decode_json(body: bytes, type_: type[T]) -> T:
    """Raises Refusal: malformed-body for what is not JSON, invalid-request for what is not the type."""
    if is_empty(body):
        raise _malformed(0, "malformed-body.empty")
    struct: Any = type_
    try:
        value: T = decoder(struct).decode(body)
        unique.decode(body.decode())
    except (ValueError, RecursionError, msgspec.DecodeError) as error:
        _explain(body, type_, error)
    if _has_sets(struct) and (found := _repeats(json.loads(body), inspect.type_info(struct), "body")):
        raise Refusal("invalid-request", faults=tuple(found))
    return value


def is_empty(body: bytes) -> bool:
    return not body or body.isspace()


def _unique(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) < len(pairs):
        raise Repeated


unique = json.JSONDecoder(object_pairs_hook=_unique)
"""Reads nothing that msgspec has not read already: it is there for keys that stand twice."""


@cache
def _has_sets(type_: Any) -> bool:
    return "FrozenSetType(" in repr(inspect.type_info(type_))


def _repeats(value: Any, info: inspect.Type, at: str) -> list[Found]:
    """The items that stand twice in what is read as a set, and the keys that stand twice in one object."""
    match info, value:
        case inspect.Metadata(type=inner), _:
            return _repeats(value, inner, at)
        case inspect.StructType() | inspect.DictType() | inspect.AnyType(), dict():
            inside = [_repeats(value[name], kind, f"{at}.{name}") for name, kind in _typed(value, info)]
            return _keys_twice(value, at) + [found for each in inside for found in each]
        case inspect.ListType() | inspect.VarTupleType() | inspect.AnyType(), list():
            item = getattr(info, "item_type", info)
            return [found for n, each in enumerate(value) for found in _repeats(each, item, f"{at}[{n}]")]
        case inspect.UnionType(types=types), _:
            return next((found for each in types if (found := _repeats(value, each, at))), [])
        case inspect.FrozenSetType(), list():
            first: dict[str, int] = {}
            words = [(n, each) for n, each in enumerate(value) if isinstance(each, str)]
            return [(f"{at}[{n}]", "repeated", {}) for n, each in words if first.setdefault(each, n) < n]
        case _:
            return []


def _typed(value: dict[str, Any], info: inspect.Type) -> list[tuple[str, inspect.Type]]:
    """The names of an object whose types are known. What may be anything holds what may be anything."""
    if not isinstance(info, inspect.StructType):
        return [(name, getattr(info, "value_type", info)) for name in value]
    return [(each.encode_name, each.type) for each in info.fields if each.encode_name in value]


class Twice(dict[str, Any]):
    """An object, with the names that were more than one of its keys."""

    names: tuple[str, ...] = ()


def _keys_twice(value: dict[str, Any], at: str) -> list[Found]:
    return [(f"{at}.{name}", "repeated", {}) for name in value.names] if isinstance(value, Twice) else []


def _explain(body: bytes, type_: Any, error: Exception) -> NoReturn:
    value = _parsed(body)
    if not isinstance(error, (msgspec.ValidationError, Repeated)):
        at = re.search(r"byte (\d+)", str(error))
        raise _malformed(int(at[1]) if at else len(body)) from None
    repeats = isinstance(error, Repeated) or len(body) <= MOST_SEARCHED_BYTES
    try:
        found = (repeats and _repeats(value, inspect.type_info(type_), "body")) or wrong_members(value, type_)
    except UnicodeEncodeError:  # half of a surrogate pair
        raise _malformed(max(body.find(b"\\u"), 0)) from None
    raise Refusal("invalid-request", faults=tuple(found or [("body", *_worded(str(error)))])) from None


def _parsed(body: bytes) -> Any:
    try:
        text = body.decode()
        return json.loads(text, parse_constant=_no_constant, parse_int=_integer, object_pairs_hook=_object)
    except UnicodeDecodeError as error:
        raise _malformed(error.start) from None
    except json.JSONDecodeError as error:
        raise _malformed(len(text[: error.pos].encode())) from None
    except Constant as error:
        raise _malformed(max(body.find(str(error).encode()), 0)) from None
    except RecursionError:
        raise _malformed(0) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = Twice(pairs)
    if len(read) < len(pairs):
        read.names = tuple(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
    return read


class Constant(Exception):
    """NaN or an infinity, which JSON does not have."""


def _no_constant(name: str) -> NoReturn:
    raise Constant(name)


def _integer(digits: str) -> int:
    """A number beyond every bound of ours is cut to one that is still beyond it: thousands of digits cost too much."""
    return int(digits[:25])


def _malformed(position: int, detail: str = "malformed-body") -> Refusal:
    refusal = Refusal("malformed-body", members={"position": position}, position=position)
    refusal.detail = detail
    return refusal


def wrong_members(value: Any, type_: Any, at: str = "body") -> list[Found]:
    """Everything that is wrong with an object's own members, not the first thing only."""
    if not isinstance(value, dict) or not (isinstance(type_, type) and issubclass(type_, Struct)):
        return _conversion_error(value, type_, at)
    known = _fields(type_)
    told: dict[str, object] = {"known": ", ".join(known)}
    found: list[Found] = [(f"{at}.{name[:100]}", "unknown", told) for name in value if name not in known]
    for name, field in known.items():
        if name in value:
            found += _conversion_error(value[name], field.type, f"{at}.{name}")
        elif field.required:
            found.append((f"{at}.{name}", "missing", {}))
    return found


@cache
def _fields(type_: type[Struct]) -> dict[str, FieldInfo]:
    return {field.encode_name: field for field in fields(type_)}


def _conversion_error(value: Any, type_: Any, at: str) -> list[Found]:
    """What is wrong with a value; with each entry of its own, where it is read as a dict."""
    if isinstance(value, dict) and _is_dict(type_):
        entries = [_entry_error(name, value[name], type_, f"{at}.{name[:100]}") for name in value]
        return [found for each in entries for found in each] or _wrong(value, type_, at)
    return _wrong(value, type_, at)


def _entry_error(name: str, value: Any, type_: Any, at: str) -> list[Found]:
    """msgspec does not say which entry it means."""
    return [(place.replace("[...]", "", 1), *told) for place, *told in _wrong({name: value}, type_, at)]  # type: ignore[misc]


@cache
def _is_dict(type_: Any) -> bool:
    return _holds_dict(inspect.type_info(type_))


def _holds_dict(info: inspect.Type) -> bool:
    match info:
        case inspect.Metadata(type=inner):
            return _holds_dict(inner)
        case inspect.UnionType(types=types):
            return any(map(_holds_dict, types))
        case _:
            return isinstance(info, inspect.DictType)


def _wrong(value: Any, type_: Any, at: str) -> list[Found]:
    try:
        msgspec.convert(value, type_, str_keys=True)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `")
        inside = place.removeprefix("key` in `").removeprefix("$").rstrip("`")
        problem, data = _worded(message)
        if problem == "stray" and (known := _known_at(inspect.type_info(type_), value, inside)):
            problem, data = "unknown", {**data, "known": ", ".join(known)}
        if problem in ("missing", "stray", "unknown"):
            inside = f"{inside}.{str(data.pop('member'))[:100]}"
        if problem == "choice" and (choices := _members(_at(inspect.type_info(type_), value, inside)) or _choices(type_)):
            problem, data = "choices", {"choices": ", ".join(choices)}
        return [(at + inside, problem, data)]
    return []


STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
"""From an object to a member of it, or from a list to an item; msgspec does not say which entry of a dict it means."""


def _known_at(info: inspect.Type, value: Any, inside: str) -> list[str]:
    """Members of the object that stands `inside` the value; none where that cannot be told."""
    info = _at(info, value, inside)
    if not isinstance(info, inspect.StructType):
        return []
    tag = [info.tag_field] if info.tag_field else []
    return [*tag, *(each.encode_name for each in info.fields)]


def _at(info: inspect.Type, value: Any, inside: str) -> inspect.Type:
    """The type of what stands `inside` the value."""
    for name, item in STEP.findall(inside):
        info, value = _stepped(_met(info, value), value, name or item)
    return _met(info, value)


def _stepped(info: inspect.Type, value: Any, step: str) -> tuple[inspect.Type, Any]:
    """The type and the value of a member or item."""
    match info, value:
        case inspect.StructType(), dict() if step in value:
            types = {each.encode_name: each.type for each in info.fields}
            return types.get(step, inspect.AnyType()), value[step]
        case inspect.DictType(value_type=inner), dict() if len(value) == 1:
            return inner, next(iter(value.values()))
        case inspect.ListType(item_type=inner) | inspect.VarTupleType(item_type=inner), list() if step.isdecimal():
            return inner, value[int(step)]
        case _:
            return inspect.AnyType(), value


def _met(info: inspect.Type, value: Any) -> inspect.Type:
    """Of several types the one that the value was read as: of objects the one that its tag names."""
    match info:
        case inspect.Metadata(type=inner):
            return _met(inner, value)
        case inspect.UnionType(types=types):
            met = (_met(each, value) for each in types)
            return next((each for each in met if _is_like(each, value)), inspect.AnyType())
        case _:
            return info


def _is_like(info: inspect.Type, value: Any) -> bool:
    match info, value:
        case inspect.StructType(tag_field=str(tag_field)), dict():
            return bool(value.get(tag_field) == info.tag)
        case inspect.StructType() | inspect.DictType(), dict():
            return True
        case inspect.ListType() | inspect.VarTupleType(), list():
            return True
        case _:
            return False


def _choices(type_: Any) -> list[str]:
    """The members of the closed set that a type asks for, itself, in a list, as keys or as one of its alternatives."""
    return _members(inspect.type_info(type_))


def _members(info: inspect.Type) -> list[str]:
    match info:
        case inspect.EnumType(cls=enum):
            return [str(member.value) for member in enum]
        case inspect.UnionType(types=types):
            return [member for inner in types for member in _members(inner)]
        case inspect.ListType(item_type=item) | inspect.FrozenSetType(item_type=item) | inspect.VarTupleType(item_type=item):
            return _members(item)
        case inspect.Metadata(type=inner) | inspect.DictType(key_type=inner):
            return _members(inner)
        case inspect.StructType(tag=str(tag)):
            return [tag]
        case _:
            return []


# msgspec's own words, and the sentence of ours that says the same.
WORDINGS: list[tuple[re.Pattern[str], str]] = [
    (re.compile(r"Object missing required field `(?P<member>.*)`"), "missing"),
    (re.compile(r"Object contains unknown field `(?P<member>.*)`", re.DOTALL), "stray"),
    (re.compile(r"Expected `(?:int|float).*` >= (?P<least>-?[\d.]+)"), "too_low"),
    (re.compile(r"Expected `(?:int|float).*` <= (?P<most>-?[\d.]+)"), "too_high"),
    (re.compile(r"Expected `str.*` of length >= (?P<n>\d+)"), "text_too_short"),
    (re.compile(r"Expected `str.*` of length <= (?P<n>\d+)"), "text_too_long"),
    (re.compile(r"Expected `(?:array|object).*` of length >= (?P<n>\d+)"), "list_too_short"),
    (re.compile(r"Expected `(?:array|object).*` of length <= (?P<n>\d+)"), "list_too_long"),
    (re.compile(r"Expected `str.*` matching regex.*a-z0-9-"), "shape"),
    (re.compile(r"Expected `str.*` matching regex '\^\[0-9\]"), "bad_cursor"),
    (re.compile(r"Expected `str.*` matching regex '\^\[\\\\u0021-"), "bad_key"),
    (re.compile(r"Expected `str.*` matching regex"), "pattern"),
    (re.compile(r"Invalid (?:enum )?value"), "choice"),
    (
        re.compile(r"Expected `int.*`, got `float`|Integer value out of range|Expected `int.*`, got `int`"),
        "not_integer",
    ),
    (re.compile(r"Expected `(?P<expected>[^`]*)`, got `(?P<got>[^`]*)`"), "type"),
]


def _worded(message: str) -> tuple[str, dict[str, object]]:
    for pattern, problem in WORDINGS:
        if match := pattern.match(message):
            told: dict[str, object] = {n: int(said) if n == "n" else said for n, said in match.groupdict().items()}
            return problem, {name: Kinds.of(str(each)) for name, each in told.items()} if problem == "type" else told
    return "other", {"message": message}


# Query strings and forms.

Pairs = list[tuple[str, str]]


def pairs_of(raw: bytes, at: str) -> Pairs:
    """Name and value, in order. Raises Refusal for what is not UTF-8."""
    try:
        return parse_qsl(raw.decode(), keep_blank_values=True, errors="strict", max_num_fields=100)
    except UnicodeDecodeError:
        raise Refusal("invalid-request", faults=((at, "not_utf8", {}),)) from None
    except ValueError:
        raise Refusal("invalid-request", faults=((at, "too_many_members", {"most": 100}),)) from None


def decode_pairs(pairs: Iterable[tuple[str, str]], type_: type[T], vocabulary: "Spoken", at: str) -> T:
    """The Struct that the pairs describe. Raises Refusal, with every fault. An empty value is an absent one."""
    struct: Any = type_
    readers = readers_of(struct, vocabulary)
    values: dict[str, object] = {}
    found: list[Found] = []
    seen: set[str] = set()
    unread: set[str] = set()
    for name, text in pairs:
        if name in seen:
            found.append((f"{at}.{name}", "repeated", {}))
        elif name not in readers:
            found.append((f"{at}.{name[:100]}", "unknown", {"known": ", ".join(readers)}))
        elif text:
            try:
                values[name] = readers[name](text)
            except Unreadable as error:
                found += [(f"{at}.{name}{item}", problem, data) for item, problem, data in error.faults]
                unread.add(f"{at}.{name}")
        seen.add(name)
    unread |= {fault[0] for fault in found}
    found += [fault for fault in wrong_members(values, type_, at) if fault[0] not in unread]
    if found:
        raise Refusal("invalid-request", faults=tuple(found))
    return msgspec.convert(values, type_)


class Unreadable(Exception):
    """What is wrong with a text; of a list each item at fault, with its place."""

    def __init__(self, *faults: Found) -> None:
        super().__init__(faults)
        self.faults = faults


LONGEST_WORD = 200
"""Characters; no game word is nearly so long, and nothing longer is looked up."""


class Spoken:
    """The closed sets whose words are understood in both languages."""

    def __init__(self, vocabulary: Vocabulary, sections: Mapping[type[StrEnum], str]) -> None:
        self.vocabulary, self.sections = vocabulary, sections

    def reader(self, enum: type[Any]) -> Callable[[str], object]:
        section = self.sections.get(enum)
        members = [str(member.value) for member in enum]

        def read(text: str) -> object:
            word = self.vocabulary.find(section, text) if section else text
            if word not in members or len(text) > LONGEST_WORD:
                raise Unreadable(("", "choices", {"choices": OneOf(section, tuple(members))}))
            return word

        return read


@cache
def readers_of(type_: Any, spoken: Spoken) -> dict[str, Callable[[str], object]]:
    return {each.encode_name: _reader(inspect.type_info(each.type), spoken) for each in fields(type_)}


def _reader(info: inspect.Type, spoken: Spoken) -> Callable[[str], object]:
    match info:
        case inspect.Metadata(type=inner):
            return _reader(inner, spoken)
        case inspect.UnionType(types=types):
            return next(_reader(inner, spoken) for inner in types if not isinstance(inner, inspect.NoneType))
        case inspect.IntType() | inspect.BoolType():
            return _read_integer if isinstance(info, inspect.IntType) else _read_bool
        case inspect.EnumType(cls=enum):
            return spoken.reader(enum)
        case inspect.ListType(item_type=item) | inspect.FrozenSetType(item_type=item):
            read, unlike = _reader(item, spoken), isinstance(info, inspect.FrozenSetType)
            return lambda text: _listed(text.split(","), read, unlike=unlike)
        case _:
            return str


IN_LIST = {"not_decimal": "not_decimals", "choices": "choices_listed"}
"""What is said of an item also says how items are told apart."""


def _listed(texts: list[str], read: Callable[[str], object], *, unlike: bool) -> list[object]:
    items: list[object] = []
    found: list[Found] = []
    for n, text in enumerate(texts):
        try:
            items.append(read(text) if text else _no_item())
        except Unreadable as error:
            found += [(f"[{n}]", IN_LIST.get(problem, problem), data) for _, problem, data in error.faults]
    if found:
        raise Unreadable(*found)
    if unlike and len(set(items)) < len(items):
        raise Unreadable(("", "repeated", {}))
    return items


def _no_item() -> NoReturn:
    raise Unreadable(("", "empty_item", {}))


CANONICAL = re.compile(r"0|-?[1-9][0-9]*")


def _read_integer(text: str) -> int:
    if not CANONICAL.fullmatch(text):
        raise Unreadable(("", "not_decimal", {}))
    return _integer(text)


def _read_bool(text: str) -> bool:
    if text not in ("true", "false"):
        raise Unreadable(("", "not_bool", {}))
    return text == "true"
