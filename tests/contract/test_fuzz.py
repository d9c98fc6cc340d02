"""Schemathesis over the wire: every check, valid and broken input, nothing excluded (openapi/schemathesis.toml).

`make fuzz` asks for more examples, at random; here they are the same in each run.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live import Service

OPENAPI = Path(__file__).parents[2] / "openapi"
TAGS = [tag["name"] for tag in json.loads((OPENAPI / "openapi.json").read_bytes())["tags"]]
ASKED = os.environ.get("EXAMPLES")
EXAMPLES = ["--max-examples", ASKED] if ASKED else ["--max-examples", "10", "--generation-deterministic"]


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory):
    service = Service(tmp_path_factory.mktemp("fuzzed"), workers=1)
    try:
        yield service.start()
    finally:
        service.kill()


@pytest.mark.parametrize("tag", TAGS)
def test_the_service_keeps_its_contract(tag, fuzzed, tmp_path):
    run = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(OPENAPI / "schemathesis.toml"), "run"]
    wanted = [f"{fuzzed.address}/openapi.json", "--no-color", "--include-tag", tag, *EXAMPLES]
    ran = subprocess.run([*run, *wanted], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
