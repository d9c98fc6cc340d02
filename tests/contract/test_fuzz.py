"""Schemathesis over the wire: every check, valid and broken input, nothing excluded (openapi/schemathesis.toml).

`make fuzz` asks for more examples, at random; here they are the same in each run.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from service.app import operations, routes
from service.dice import SystemDice

CONFIG = Path(__file__).parents[2] / "openapi" / "schemathesis.toml"
TAGS = sorted({operation.tag for operation in operations(routes(SystemDice(), ""))})
ASKED = os.environ.get("EXAMPLES")
EXAMPLES = ["--max-examples", ASKED] if ASKED else ["--max-examples", "10", "--generation-deterministic"]


@pytest.mark.parametrize("tag", TAGS)
def test_the_service_keeps_its_contract(tag, live_service, tmp_path):
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIG), "run", f"{live_service}/openapi.json"]
    ran = subprocess.run(
        [*command, "--no-color", "--include-tag", tag, *EXAMPLES], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
