"""The committed contract is what the service's declarations and answers give."""

import asyncio
import difflib
import json

import pytest

import service
from openapi import generate
from service.settings import Settings


@pytest.fixture(scope="module")
def generated():
    return generate.generated()


@pytest.mark.parametrize("path", [generate.EXAMPLES, generate.CONTRACT], ids=lambda path: path.name)
def test_the_committed_file_is_what_make_contract_writes(path, generated):
    committed, now = path.read_text("utf-8").splitlines(), generated[path].decode().splitlines()
    changes = list(difflib.unified_diff(committed, now, "committed", "now", lineterm="", n=1))
    shown = "\n".join(changes[:40])
    assert not changes, f"{path.name} has drifted: run `make contract`, look at the difference, commit it.\n{shown}"


def test_two_builds_are_the_same_bytes(generated):
    assert generate.generated() == generated


def test_what_is_served_is_the_committed_file_but_for_its_server():
    async def served(settings):
        async with generate.service(settings) as client:
            return (await client.get("/openapi.json")).content

    committed = json.loads(generate.CONTRACT.read_bytes())
    elsewhere = asyncio.run(served(Settings(redis_url="redis://127.0.0.1:1", public_url="https://dice.example")))
    assert json.loads(elsewhere)["servers"] == [{"url": "https://dice.example"}]
    assert json.loads(asyncio.run(served(Settings(redis_url="redis://127.0.0.1:1")))) == committed


def test_the_version_is_that_of_the_package():
    pyproject = generate.CONTRACT.parents[1] / "pyproject.toml"
    assert f'version = "{service.__version__}"' in pyproject.read_text("utf-8")
