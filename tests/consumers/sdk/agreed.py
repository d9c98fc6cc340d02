"""What the committed contract says of one answer."""

import json
import re
from typing import Any

import jsonschema
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from openapi.sdk import generate

CONTRACT = json.loads(generate.CONTRACT.read_text("utf-8"))
HERE = "urn:contract"
DOCUMENT = Registry().with_resource(HERE, Resource.from_contents(CONTRACT, default_specification=DRAFT202012))


def _operation(method: str, path: str) -> dict[str, Any]:
    """A path without members in braces is meant before one with."""
    fits = (each for each in sorted(CONTRACT["paths"], key=lambda each: "{" in each.rpartition("/")[2]))
    found = next(each for each in fits if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", each), path))
    return CONTRACT["paths"][found][method.lower()]


def faults(method: str, path: str, status: int, media_type: str, body: bytes) -> list[str]:
    """Where an answer is not what its operation promises."""
    answers = _operation(method, path)["responses"]
    if str(status) not in answers:
        return [f"{method} {path}: no {status} is promised"]
    answer = answers[str(status)]
    shared = answer.get("$ref", "").rpartition("/")[2]
    schema = (CONTRACT["components"]["responses"][shared] if shared else answer)["content"][media_type]["schema"]
    validator = jsonschema.Draft202012Validator({"$ref": f"{HERE}{schema['$ref']}"}, registry=DOCUMENT)
    return [f"{method} {path}: {fault.json_path} {fault.message[:200]}" for fault in validator.iter_errors(json.loads(body))]
