"""What a generator of clients needs of the contract: names, bounds, closed requests, open answers, real examples."""

import json
import re
from functools import partial

import pytest
from jsonschema import Draft202012Validator

from openapi.generate import CONTRACT
from service.api.problems import STATUS

DOCUMENT = json.loads(CONTRACT.read_bytes())
SCHEMAS = DOCUMENT["components"]["schemas"]
OPERATIONS = {
    operation["operationId"]: operation
    for path in DOCUMENT["paths"].values()
    for method, operation in path.items()
    if method != "parameters"
}
EMPTY = {"$ref": "#/components/schemas/Empty"}
NAME = re.compile(r"[A-Z][A-Za-z0-9]*")

every_operation = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)


def resolved(part):
    """The part itself, or what its reference stands for."""
    if "$ref" not in part:
        return part
    found = DOCUMENT
    for name in part["$ref"].removeprefix("#/").split("/"):
        found = found[name]
    return found


def errors(schema, value):
    validator = Draft202012Validator({**schema, "components": DOCUMENT["components"]})
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]


def parts(node, at="#"):
    """Every schema inside a node, with its place."""
    if isinstance(node, dict):
        yield at, node
        for key, value in node.items():
            if key not in ("example", "examples", "default", "enum", "const"):
                yield from parts(value, f"{at}/{key}")
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from parts(value, f"{at}/{number}")


def reached(node, found):
    for _, part in parts(node):
        name = part.get("$ref", "").removeprefix("#/components/schemas/") if isinstance(part.get("$ref"), str) else ""
        if name in SCHEMAS and name not in found:
            found.add(name)
            reached(SCHEMAS[name], found)
    return found


ASKED = reached([operation.get("requestBody", {}) for operation in OPERATIONS.values()], set())
ANSWERED = reached(
    [[resolved(each) for each in operation["responses"].values()] for operation in OPERATIONS.values()], set()
)


# Examples.


@every_operation
def test_the_success_shows_a_real_answer(operation):
    for answer in (answer for status, answer in operation["responses"].items() if status.startswith("2")):
        for kind, media in answer["content"].items():
            assert kind in ("text/event-stream", "text/markdown") or not errors(media["schema"], media["example"])


@every_operation
def test_each_body_shows_a_request(operation):
    for media in operation.get("requestBody", {"content": {}})["content"].values():
        assert not errors(media["schema"], media["example"])


@every_operation
def test_each_required_parameter_shows_a_value(operation):
    for parameter in map(resolved, operation["parameters"]):
        assert "example" in parameter or not parameter.get("required"), parameter["name"]
        if "example" in parameter:
            assert not errors(parameter["schema"], parameter["example"])


@every_operation
def test_each_problem_shows_its_wording(operation):
    for status, answer in operation["responses"].items():
        media = resolved(answer).get("content", {}).get("application/problem+json")
        if media:
            codes = [name for name, _ in STATUS.items() if name in media["examples"]]
            assert codes
            for example in media["examples"].values():
                value = resolved(example)["value"]
                assert not errors(media["schema"], value)
                assert str(value["status"]) == status


@every_operation
def test_each_problem_schema_has_an_example(operation):
    for answer in operation["responses"].values():
        media = resolved(answer).get("content", {}).get("application/problem+json", {"schema": {}, "examples": {}})
        mapping = media["schema"].get("discriminator", {}).get("mapping", {})
        assert set(media["examples"]) >= set(mapping)


# Names.


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_has_a_name_that_a_class_can_have(name):
    assert NAME.fullmatch(name)


def test_operations_are_named_like_methods():
    assert all(re.fullmatch(r"[a-z][A-Za-z0-9]*", name) for name in OPERATIONS)
    assert len(OPERATIONS) == sum(len(path) for path in DOCUMENT["paths"].values())


def snake_case(name):
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


@pytest.mark.parametrize("name", SCHEMAS)
def test_no_member_is_called_like_its_own_object(name):
    """Generators of Python give both the same variable."""
    assert snake_case(name) not in SCHEMAS[name].get("properties", {})


def test_every_closed_set_has_a_name():
    inline = [at for at, part in parts(DOCUMENT) if "enum" in part and not re.fullmatch(r"#/components/schemas/\w+", at)]
    assert not inline


def test_every_object_has_a_name():
    inline = [
        at
        for at, part in parts(DOCUMENT)
        if isinstance(part.get("properties"), dict) and not re.fullmatch(r"#/components/schemas/\w+", at)
    ]
    assert not inline


def test_a_map_that_may_be_null_has_a_name():
    inline = [at for at, part in parts(DOCUMENT) for arm in part.get("anyOf", ()) if "additionalProperties" in arm]
    assert not inline


def test_unions_of_objects_are_told_apart_and_named():
    for at, part in parts(DOCUMENT):
        if "oneOf" in part:
            assert re.fullmatch(r"#/components/schemas/\w+", at) or "code" in part["discriminator"]["propertyName"], at
        arms = [arm for arm in part.get("anyOf", ()) if arm not in ({"type": "null"}, EMPTY)]
        assert len(arms) < 2 or re.fullmatch(r"#/components/schemas/\w+", at), at


def test_a_closed_set_keeps_the_order_of_the_book():
    assert SCHEMAS["Threat"]["enum"] == ["d2", "d4", "d6", "d8", "d10", "d12"]
    assert SCHEMAS["Difficulty"]["enum"][0] == "easy"


# Requests are closed and bounded, answers open and complete.


@pytest.mark.parametrize("name", sorted(ASKED))
def test_a_request_refuses_what_it_does_not_know(name):
    assert "properties" not in SCHEMAS[name] or SCHEMAS[name]["additionalProperties"] is False


@pytest.mark.parametrize("name", sorted(ANSWERED))
def test_an_answer_may_grow(name):
    assert SCHEMAS[name].get("additionalProperties", {}) is not False
    assert not [member for member, part in SCHEMAS[name].get("properties", {}).items() if "default" in part]


def bounded(part):
    """Whether a schema says how large its values may be."""
    kinds = {
        "integer": lambda p: "const" in p or {"minimum", "maximum"} <= p.keys(),
        "number": lambda p: {"minimum", "maximum"} <= p.keys(),
        "string": lambda p: bool({"maxLength", "enum", "const", "pattern"} & p.keys()),
        "array": lambda p: "maxItems" in p or (p.get("uniqueItems") and "$ref" in p["items"]),
        "object": lambda p: "properties" in p or "maxProperties" in p,
    }
    return kinds.get(part.get("type"), lambda p: True)(part)


def unbounded(node, where):
    return [f"{where}{at}" for at, part in parts(node) if isinstance(part.get("type"), str) and not bounded(part)]


@pytest.mark.parametrize("name", sorted(ASKED))
def test_everything_asked_in_a_body_is_bounded(name):
    assert not unbounded(SCHEMAS[name], name)


@every_operation
def test_everything_asked_in_path_and_query_is_bounded(operation):
    for parameter in map(resolved, operation["parameters"]):
        assert parameter["in"] == "header" or not unbounded(parameter["schema"], parameter["name"])


# Every operation.


@every_operation
def test_an_operation_is_described(operation):
    assert operation["summary"]
    assert operation["description"]
    assert set(operation["tags"]) <= {tag["name"] for tag in DOCUMENT["tags"]}
    assert all(tag["description"] for tag in DOCUMENT["tags"])


@every_operation
def test_common_parameters_stand_on_every_operation(operation):
    names = {resolved(parameter)["name"] for parameter in operation["parameters"]}
    assert {"lang", "format", "max", "X-Request-Id"} <= names
    assert "errors" not in names


@every_operation
def test_every_answer_tells_its_request_id_and_comes_as_text(operation):
    for status, answer in ((status, resolved(answer)) for status, answer in operation["responses"].items()):
        assert "X-Request-Id" in answer["headers"]
        assert status == "304" or "text/plain" in answer["content"]


@every_operation
def test_an_empty_value_is_an_absent_one(operation):
    in_query = partial(filter, lambda parameter: parameter["in"] == "query")
    for parameter in in_query(map(resolved, operation["parameters"])):
        assert parameter.get("required") or parameter["allowEmptyValue"]


def test_game_words_are_understood_in_both_languages():
    word = SCHEMAS["DifficultyWord"]
    assert "Difficile" in word["description"]
    assert not errors(word, "Difficile")
    assert errors(word, "x" * 201)
