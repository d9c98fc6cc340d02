"""Schemathesis over the wire: every check, valid and broken input, nothing excluded (openapi/schemathesis.toml).

`make fuzz` asks for more examples, at random; here they are the same in each run, and tables are spared the long phase
that tries each bound of each member.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.live import Service

OPENAPI = Path(__file__).parents[2] / "openapi"
CONTRACT = json.loads((OPENAPI / "openapi.json").read_bytes())
TAGS = [tag["name"] for tag in CONTRACT["tags"]]
BODIES = {
    path: told["post"]["requestBody"]["content"]
    for path, told in CONTRACT["paths"].items()
    if path.count("{") == 0 and "post" in told
}
ASKED = os.environ.get("EXAMPLES")
EXAMPLES = ["--max-examples", ASKED] if ASKED else ["--max-examples", "6", "--generation-deterministic"]
STATELESS = ["--phases", "examples,coverage,fuzzing"]  # nothing leads from one of these to another
PHASES = {"Table": [] if ASKED else ["--phases", "examples,fuzzing"]}


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory):
    service = Service(tmp_path_factory.mktemp("fuzzed"), workers=1)
    try:
        yield service.start()
    finally:
        service.kill()


@pytest.fixture
def table(fuzzed):
    """A table with two characters. The fuzzer plays: a gm would delete it."""
    sessions = f"{fuzzed.address}/v1/sessions"
    opened = httpx.post(sessions, json={"characters": ["Zoé", "Max"], "settings": {"tier_size": 3}}).json()
    gm = {"Authorization": f"Bearer {opened['tokens']['gm']}"}
    chat = httpx.post(f"{sessions}/{opened['id']}/tokens", json={"role": "chat"}, headers=gm).json()
    return {
        "EMBERDICE_SESSION": opened["id"],
        "EMBERDICE_TOKEN": opened["tokens"]["player"],
        "EMBERDICE_CHAT_TOKEN": chat["token"],
    }


@pytest.mark.parametrize("tag", TAGS)
def test_the_service_keeps_its_contract(tag, fuzzed, table, tmp_path):
    run = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(OPENAPI / "schemathesis.toml"), "run"]
    wanted = [f"{fuzzed.address}/openapi.json", "--no-color", "--include-tag", tag, *EXAMPLES, *PHASES.get(tag, STATELESS)]
    environ = {**os.environ, **table}
    ran = subprocess.run([*run, *wanted], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("path", BODIES)
def test_the_fuzzer_starts_from_a_request_that_is_answered(path, fuzzed):
    """It tries bounds one by one on the example, with each default in its place: a refusal there would hide all others."""
    media = BODIES[path]["application/json"]
    members = CONTRACT["components"]["schemas"][media["schema"]["$ref"].rpartition("/")[2]]["properties"]
    body = {**media["example"], **{name: told["default"] for name, told in members.items() if "default" in told}}
    assert httpx.post(f"{fuzzed.address}{path}", json=body).is_success
