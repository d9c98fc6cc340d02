"""What becomes of a Struct on its way into the contract."""

from enum import StrEnum
from typing import Annotated

import pytest
from msgspec import UNSET, Meta, Struct, UnsetType, field

from service.api.decoding import Spoken
from service.api.schemas import Schemas, reached
from service.words import Lang, Vocabulary


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"
    HUGE = "huge"


class Lonely(StrEnum):
    ONE = "one"


class Cat(Struct, tag_field="kind", tag="cat", frozen=True, forbid_unknown_fields=True):
    lives: Annotated[int, Meta(ge=1, le=9)] = 9


class Dog(Struct, tag_field="kind", tag="dog", frozen=True, forbid_unknown_fields=True):
    size: Size


class Asked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    size: Size
    pet: Annotated[Cat | Dog, Meta(title="Pet")] | None = None
    alone: Lonely = Lonely.ONE
    sides: Annotated[int, Meta(ge=6, le=6)] = 6
    share: Annotated[float, Meta(ge=0.5, le=2.0)] = 1.0
    name: Annotated[str, Meta(min_length=1, max_length=20, description="As it is shown.")] | None = None
    sizes: Annotated[list[Size], Meta(max_length=3)] | None = None


class Answered(Struct, frozen=True, kw_only=True):
    cat: Cat
    notes: list[str] = field(default_factory=list)
    secret: str | UnsetType = UNSET


VOCABULARY = Vocabulary({Lang.FR: {"label": {"size": {"small": "Petit", "large": "Grand"}}}})
SPOKEN = Spoken(VOCABULARY, {Size: "size"})
SCHEMAS = Schemas([Asked], [Answered])
ASKED = SCHEMAS.components["Asked"]["properties"]


def ref(name):
    return {"$ref": f"#/components/schemas/{name}"}


def test_a_closed_set_keeps_its_order_and_says_its_type():
    assert SCHEMAS.components["Size"] == {"type": "string", "enum": ["small", "large", "huge"]}


def test_a_set_of_one_is_a_constant():
    assert SCHEMAS.components["Lonely"] == {"type": "string", "const": "one"}
    assert ASKED["sides"] == {"type": "integer", "const": 6, "default": 6}


def test_bounds_that_are_whole_are_integers():
    assert str(ASKED["share"]) == "{'type': 'number', 'minimum': 0.5, 'maximum': 2, 'default': 1}"


def test_a_description_stands_beside_null_and_null_is_no_default():
    assert ASKED["name"]["description"] == "As it is shown."
    assert "default" not in ASKED["name"]
    assert "description" not in ASKED["name"]["anyOf"][0]


def test_a_union_with_a_title_is_a_component_of_that_name():
    assert ASKED["pet"]["anyOf"][0] == ref("Pet")
    assert SCHEMAS.components["Pet"]["oneOf"] == [ref("CatRequest"), ref("Dog")]
    assert SCHEMAS.components["Pet"]["discriminator"]["mapping"]["cat"] == ref("CatRequest")["$ref"]


def test_an_object_on_both_sides_is_closed_where_it_is_asked_and_open_in_answers():
    asked, answered = SCHEMAS.components["CatRequest"], SCHEMAS.components["Cat"]
    assert asked["additionalProperties"] is False
    assert asked["required"] == ["kind"]
    assert "additionalProperties" not in answered
    assert answered["required"] == ["kind", "lives"]
    assert "default" not in answered["properties"]["lives"]


def test_an_answer_leaves_out_only_what_is_unset():
    assert SCHEMAS.components["Answered"]["required"] == ["cat", "notes"]


def test_in_a_query_nothing_is_null_and_words_are_understood():
    flat = SCHEMAS.flat(Asked, SPOKEN)["properties"]
    assert flat["name"] == {"description": "As it is shown.", "type": "string", "maxLength": 20, "minLength": 1}
    assert flat["size"] == ref("SizeWord")
    assert flat["sizes"]["items"] == ref("SizeWord")
    assert "`small` (Petit); `large` (Grand)" in SCHEMAS.components["SizeWord"]["description"]


def test_in_a_form_what_is_optional_may_be_empty():
    SCHEMAS.form("AskedForm", SCHEMAS.flat(Asked, SPOKEN))
    form = SCHEMAS.components["AskedForm"]["properties"]
    assert form["size"] == ref("SizeWord")
    assert form["sides"] == {"default": 6, "anyOf": [{"type": "integer", "const": 6}, ref("Empty")]}


def test_components_are_found_through_others():
    assert list(reached({"schema": ref("Pet")}, SCHEMAS.components)) == ["CatRequest", "Dog", "Pet", "Size"]


def test_two_types_of_one_name_are_refused():
    class Cat(Struct):
        """Another."""

    with pytest.raises(ValueError, match="two types are called Cat"):
        Schemas([Asked, Cat], [])
