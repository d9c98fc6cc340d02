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
TAGS = [tag["name"] for tag in json.loads((OPENAPI / "openapi.json").read_bytes())["tags"]]
ASKED = os.environ.get("EXAMPLES")
EXAMPLES = ["--max-examples", ASKED] if ASKED else ["--max-examples", "10", "--generation-deterministic"]
PHASES = {} if ASKED else {"Table": ["--phases", "examples,fuzzing"]}


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
    wanted = [f"{fuzzed.address}/openapi.json", "--no-color", "--include-tag", tag, *EXAMPLES, *PHASES.get(tag, [])]
    environ = {**os.environ, **table}
    ran = subprocess.run([*run, *wanted], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
