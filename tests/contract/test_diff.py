"""`make contract-diff`: each kind of break is found where it was seeded, and what may change within v1 is let pass."""

import json
from copy import deepcopy
from pathlib import Path

import pytest

from openapi.diff import breaks

WHOLE = json.loads((Path(__file__).parents[2] / "openapi" / "openapi.json").read_bytes())
ROLL, OPEN, DRAW = "/v1/sixd6/rolls", "/v1/sessions", "/v1/sessions/{session}/decks/{deck}/draws"
SEEDED = {ROLL, OPEN, DRAW, "/v1/sixd6/roll", "/v1/sessions/{session}", "/v1/sessions/{session}/events"}
CONTRACT = {**WHOLE, "paths": {path: item for path, item in WHOLE["paths"].items() if path in SEEDED}}


def operation(document, path=ROLL, method="post"):
    return document["paths"][path][method]


def schema(document, name):
    return document["components"]["schemas"][name]


def members(document, name):
    return schema(document, name)["properties"]


def asked(document):
    return members(document, "PoolRequest")


def answered(document):
    return members(document, "PoolRoll")


def problems(document):
    """Those of one status."""
    return schema(document, "InvalidRequestOrFacesMismatchProblem")["oneOf"]


def parameter(document, name):
    return next(each for each in operation(document, "/v1/sixd6/roll", "get")["parameters"] if each.get("name") == name)


BREAKS = {
    # what was done: (how, what is said of it)
    "an operation removed": (lambda d: d["paths"].pop(ROLL), f"POST {ROLL}: the operation is gone"),
    "a method removed": (
        lambda d: d["paths"]["/v1/sessions/{session}"].pop("delete"),
        "DELETE /v1/sessions/{session}: the op",
    ),
    "an operation renamed": (lambda d: operation(d).update(operationId="roll"), "operationId rollPool → roll"),
    "a token asked for": (lambda d: operation(d).update(security=[{"token": []}]), "nothing is no longer enough"),
    "a parameter removed": (
        lambda d: operation(d, "/v1/sixd6/roll", "get")["parameters"].remove(parameter(d, "base")),
        "query.base: the parameter is gone",
    ),
    "a parameter made required": (lambda d: parameter(d, "red").update(required=True), "query.red: is required now"),
    "a new required parameter": (
        lambda d: operation(d)["parameters"].append({"name": "x", "in": "query", "required": True, "schema": {}}),
        "query.x: a new required parameter",
    ),
    "a parameter read otherwise": (
        lambda d: parameter(d, "faces").update(explode=True),
        "explode False → True",
    ),
    "a form no longer read": (
        lambda d: operation(d)["requestBody"]["content"].pop("application/x-www-form-urlencoded"),
        "body: application/x-www-form-urlencoded is gone",
    ),
    "a body made required": (
        lambda d: operation(d, DRAW)["requestBody"].update(required=True),
        f"POST {DRAW} body: is required now",
    ),
    "a member of a request removed": (lambda d: asked(d).pop("red"), "body.red: the member is gone"),
    "a new required member": (
        lambda d: [asked(d).update(x={"type": "integer"}), schema(d, "PoolRequest")["required"].append("x")],
        "body.x: is required now",
    ),
    "a member made required": (lambda d: schema(d, "PoolRequest")["required"].append("red"), "body.red: is required now"),
    "a value of a request removed": (lambda d: schema(d, "Difficulty")["enum"].remove("hard"), "'hard' is gone"),
    "a maximum lowered": (lambda d: asked(d)["base"].update(maximum=5), "body.base: maximum 6 → 5"),
    "a minimum raised": (lambda d: asked(d)["base"].update(minimum=1), "body.base: minimum 0 → 1"),
    "a text shortened": (lambda d: _inner(asked(d)["label"]).update(maxLength=9), "body.label: maxLength"),
    "a list shortened": (lambda d: _inner(asked(d)["faces"]).update(maxItems=9), "body.faces: maxItems"),
    "a pattern changed": (lambda d: _inner(asked(d)["label"]).update(pattern="^a$"), "body.label: pattern"),
    "a new bound": (lambda d: asked(d)["red"].update(multipleOf=2), "body.red: multipleOf none → 2"),
    "a type changed": (lambda d: asked(d)["base"].update(type="string"), "body.base: type integer → string"),
    "null no longer taken": (lambda d: asked(d).update(label=_inner(asked(d)["label"])), "body.label: null is gone"),
    "a default changed": (lambda d: asked(d)["red"].update(default=1), "body.red: default 0 → 1"),
    "a status changed": (
        lambda d: operation(d, OPEN)["responses"].update({"200": operation(d, OPEN)["responses"].pop("201")}),
        f"POST {OPEN} 201: the status is gone",
    ),
    "a media type of an answer removed": (
        lambda d: operation(d)["responses"]["200"]["content"].pop("text/plain"),
        "200: text/plain is gone",
    ),
    "a header removed": (
        lambda d: operation(d, OPEN)["responses"]["201"]["headers"].pop("Location"),
        "201 Location: the header is gone",
    ),
    "a member of an answer removed": (lambda d: answered(d).pop("margin"), "200.margin: the member is gone"),
    "a member that may be absent": (
        lambda d: schema(d, "PoolRoll")["required"].remove("margin"),
        "200.margin: may be absent now",
    ),
    "a member that may be null": (
        lambda d: answered(d).update(base={"anyOf": [answered(d)["base"], {"type": "null"}]}),
        "200.base: may be null now",
    ),
    "a type of an answer changed": (lambda d: answered(d)["base"].update(type="string"), "200.base: type integer → string"),
    "a type of an answer's list": (lambda d: members(d, "PoolDie")["face"].update(type="string"), "200.dice[].face: type"),
    "a value of an answer renamed": (
        lambda d: schema(d, "Outcome").update(enum=["fatal", *schema(d, "Outcome")["enum"][1:]]),
        "'fatal_error' is gone",
    ),
    "a problem removed": (
        lambda d: problems(d).pop(),
        "Problem is gone",
    ),
    "a shape of an answer removed": (
        lambda d: schema(d, "DrawnOrRedactedAnswer")["oneOf"].pop(),
        "200: RedactedAnswer is gone",
    ),
}


FORM = "application/x-www-form-urlencoded"
BREAKS |= {
    "a default beside a reference changed": (
        lambda d: asked(d)["visibility"].update(default="gm"),
        "body.visibility: default public → gm",
    ),
    "a default where there was none": (
        lambda d: asked(d)["difficulty"].update(default="hard"),
        "body.difficulty: default none → hard",
    ),
    "a default gone": (lambda d: asked(d)["roll_rest"].pop("default"), "body.roll_rest: default False → none"),
    "a bound beside a reference": (lambda d: asked(d)["visibility"].update(maxLength=3), "maxLength none → 3"),
    "a key that is sent otherwise": (
        lambda d: d["components"]["securitySchemes"]["token"].update(type="apiKey"),
        "security token: type http → apiKey",
    ),
    "a key in another header": (
        lambda d: d["components"]["securitySchemes"]["key"].update(name="X-Key"),
        "security key: name X-Api-Key → X-Key",
    ),
    "a token asked for by all": (
        lambda d: [operation(d).pop("security", None), d.update(security=[{"token": []}])],
        f"POST {ROLL}: security: nothing is no longer enough",
    ),
    "a required parameter of a path": (
        lambda d: d["paths"][ROLL].update(parameters=[{"name": "x", "in": "query", "required": True, "schema": {}}]),
        f"POST {ROLL} query.x: a new required parameter",
    ),
    "a parameter that is written as a document": (
        lambda d: parameter(d, "red").update(content={"application/json": {"schema": parameter(d, "red").pop("schema")}}),
        "query.red: is written otherwise",
    ),
    "an empty parameter no longer taken": (
        lambda d: [each.pop("allowEmptyValue", None) for each in all_parameters(d)],
        "may not be empty now",
    ),
    "a form that is read otherwise": (
        lambda d: operation(d)["requestBody"]["content"][FORM]["encoding"]["faces"].update(explode=True),
        "body encoding: faces",
    ),
    "a form's member that is read otherwise": (
        lambda d: operation(d)["requestBody"]["content"][FORM]["encoding"].update(red={"style": "spaceDelimited"}),
        "body encoding: red none → ",
    ),
    "names of members bounded": (
        lambda d: asked(d)["red"].update(propertyNames={"maxLength": 3}),
        "body.red{names}: maxLength none → 3",
    ),
    "one more that has to hold": (lambda d: asked(d)["red"].update(allOf=[{"minimum": 2}]), "body.red: allOf of 0 → 1"),
    "a member that asks for another": (
        lambda d: schema(d, "PoolRequest").update(dependentRequired={"red": ["label"]}),
        "body: dependentRequired none → ",
    ),
    "an item that has to be there": (
        lambda d: _inner(asked(d)["faces"]).update(contains={"const": 6}),
        "body.faces[some]: only some values now",
    ),
    "a keyword that nobody foresaw": (lambda d: asked(d)["red"].update({"not": {"const": 1}}), "body.red: not none → "),
    "a member that is only answered": (lambda d: asked(d)["red"].update(readOnly=True), "body.red: readOnly none → True"),
    "a member that is only asked": (lambda d: answered(d)["base"].update(writeOnly=True), "200.base: writeOnly"),
    "a text that is packed": (
        lambda d: _inner(asked(d)["label"]).update(contentEncoding="base64"),
        "body.label: contentEncoding none → base64",
    ),
    "a union told apart by another member": (
        lambda d: discriminated(d)["discriminator"].update(propertyName="sort"),
        "discriminator",
    ),
    "a union whose words mean others": (
        lambda d: mapping(d).update({next(iter(mapping(d))): "#/components/schemas/BusyProblem"}),
        "discriminator",
    ),
    "a union no longer told apart": (lambda d: discriminated(d).pop("discriminator"), "discriminator"),
    "a closed set of an answer opened": (lambda d: schema(d, "Outcome").pop("enum"), "any value now"),
    "a bound of an answer gone": (lambda d: answered(d)["base"].pop("maximum"), "200.base: maximum 6 → none"),
    "another status of success": (
        lambda d: operation(d)["responses"].update({"202": {"description": "Later."}}),
        f"POST {ROLL} 202: a new status of success",
    ),
    "a link removed": (
        lambda d: operation(d, OPEN)["responses"]["201"]["links"].pop("readSessionBySession"),
        "201 readSessionBySession: the link is gone",
    ),
    "a link that leads elsewhere": (
        lambda d: d["components"]["links"]["readSessionBySession"].update(operationId="deleteSession"),
        "readSessionBySession: operationId readSession → deleteSession",
    ),
}


def all_parameters(document):
    inline = [each for item in document["paths"].values() for way in item.values() for each in way.get("parameters", ())]
    return [*inline, *document["components"]["parameters"].values()]


def discriminated(document):
    return schema(document, "InvalidRequestOrFacesMismatchProblem")


def mapping(document):
    return discriminated(document)["discriminator"]["mapping"]


ALLOWED = {
    "a new operation": lambda d: d["paths"].update({"/v1/new": {"get": operation(d)}}),
    "a new optional member of a request": lambda d: asked(d).update(x={"type": "integer"}),
    "a new optional parameter": lambda d: operation(d)["parameters"].append({"name": "x", "in": "query", "schema": {}}),
    "a new value": lambda d: schema(d, "Difficulty")["enum"].append("absurd"),
    "a wider bound": lambda d: asked(d)["base"].update(maximum=7, minimum=-1),
    "a bound gone": lambda d: _inner(asked(d)["label"]).pop("maxLength"),
    "a new member of an answer": lambda d: [
        answered(d).update(x={"type": "integer"}),
        schema(d, "PoolRoll")["required"].append("x"),
    ],
    "a member of an answer that is never absent now": lambda d: schema(d, "PoolRoll").update(required=[*answered(d)]),
    "a new header": lambda d: operation(d)["responses"]["200"]["headers"].update(X={"schema": {"type": "string"}}),
    "a new media type": lambda d: operation(d)["responses"]["200"]["content"].update({"text/csv": {}}),
    "a new status": lambda d: operation(d)["responses"].update({"418": {"description": "Tea."}}),
    "other words": lambda d: [operation(d).update(summary="x", description="y"), asked(d)["base"].update(description="z")],
    "a token no longer needed": lambda d: operation(d, DRAW).update(security=[{}]),
    "null taken": lambda d: asked(d).update(base={"anyOf": [asked(d)["base"], {"type": "null"}]}),
    "a new problem": lambda d: problems(d).append({"$ref": "#/components/schemas/BusyProblem"}),
}


ALLOWED |= {
    "a wider bound of an answer": lambda d: answered(d)["base"].update(maximum=9),
    "a narrower bound of an answer": lambda d: answered(d)["base"].update(minimum=1),
    "a member no longer required, with a default": lambda d: [
        schema(d, "PoolRequest")["required"].remove("base"),
        asked(d)["base"].update(default=3),
    ],
    "null taken beside a reference": lambda d: asked(d).update(
        visibility={"anyOf": [{"$ref": asked(d)["visibility"].pop("$ref")}, {"type": "null"}], **asked(d)["visibility"]}
    ),
    "one more word of a union": lambda d: mapping(d).update(x="#/components/schemas/BusyProblem"),
    "a parameter of all methods": lambda d: d["paths"]["/v1/sixd6/roll"].update(
        parameters=operation(d, "/v1/sixd6/roll", "get").pop("parameters")
    ),
    "a key described": lambda d: d["components"]["securitySchemes"]["key"].update(description="x"),
    "a new link": lambda d: (
        operation(d)["responses"]["200"].setdefault("links", {}).update(x={"operationId": "readSession"})
    ),
    "another reference to the same": lambda d: [
        d["components"]["schemas"].update(Seen=schema(d, "Visibility")),
        asked(d)["visibility"].update({"$ref": "#/components/schemas/Seen"}),
    ],
    "marked as deprecated": lambda d: [operation(d).update(deprecated=True), asked(d)["red"].update(deprecated=True)],
}


def _inner(schema):
    """What a member is where it is not null."""
    return next(each for each in schema.get("anyOf", [schema]) if each.get("type") != "null")


@pytest.mark.parametrize("done", BREAKS)
def test_a_break_is_found_and_named(done):
    change, said = BREAKS[done]
    new = deepcopy(CONTRACT)
    change(new)
    found = [str(each) for each in breaks(CONTRACT, new)]
    assert [each for each in found if said in each], found


@pytest.mark.parametrize("done", ALLOWED)
def test_what_may_change_within_v1_is_no_break(done):
    new = deepcopy(CONTRACT)
    ALLOWED[done](new)
    assert new != CONTRACT
    assert not breaks(CONTRACT, new)


def test_a_contract_does_not_break_itself():
    assert not breaks(WHOLE, WHOLE)


def test_the_contract_keeps_what_was_released():
    released = json.loads((Path(__file__).parents[2] / "openapi" / "released.json").read_bytes())
    assert not breaks(released, WHOLE)


def test_a_parameter_or_a_header_may_be_written_as_a_document():
    written = {"content": {"application/json": {"schema": {"type": "integer", "maximum": 9}}}}
    document = deepcopy(CONTRACT)
    operation(document)["parameters"].append({"name": "x", "in": "query", **written})
    operation(document)["responses"]["200"]["headers"].update(X=written)
    assert not breaks(document, document)
    narrower = deepcopy(document)
    operation(narrower)["parameters"][-1]["content"]["application/json"]["schema"].update(maximum=3)
    assert [str(each) for each in breaks(document, narrower)] == [f"POST {ROLL} query.x: maximum 9 → 3"]


def test_names_of_members_are_compared_as_schemas_are():
    bounded, unbounded = deepcopy(CONTRACT), deepcopy(CONTRACT)
    asked(bounded)["red"].update(propertyNames={"type": "string", "maxLength": 9})
    assert not breaks(bounded, unbounded)
    longer = deepcopy(bounded)
    asked(longer)["red"]["propertyNames"].update(maxLength=10)
    assert not breaks(bounded, longer)
    assert next(str(each) for each in breaks(longer, bounded)).endswith("body.red{names}: maxLength 10 → 9")
