"""Schemathesis walks whole evenings along the contract's links: tables are opened, played at and deleted (evenings.py)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live import Service

ROOT = Path(__file__).parents[2]
ALONG_LINKS = """
[phases.stateful]
max-steps = 12
inference = { algorithms = [] }
"""
EVENINGS = os.environ.get("EXAMPLES", "25")


@pytest.fixture
def played(tmp_path):
    service = Service(tmp_path, workers=1)
    try:
        yield service.start()
    finally:
        service.kill()


def test_whole_evenings_keep_the_contract(played, tmp_path):
    config, walked = tmp_path / "schemathesis.toml", tmp_path / "walked.json"
    whole = (ROOT / "openapi" / "schemathesis.toml").read_text()
    config.write_text(whole.partition("[auth.")[0].replace('mode = "all"', 'mode = "positive"') + ALONG_LINKS)
    told = {
        "SCHEMATHESIS_HOOKS": "tests.contract.evenings",
        "PYTHONPATH": str(ROOT),
        "EVENINGS_WALKED": str(walked),
        "EVENINGS_ADDRESS": played.address,
    }
    run = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run", f"{played.address}/openapi.json"]
    wanted = ["--no-color", "--include-tag", "Table", "--phases", "stateful", "--max-examples", EVENINGS]
    seed = [] if "EXAMPLES" in os.environ else ["--seed", "6"]
    ran = subprocess.run(
        [*run, *wanted, *seed], cwd=tmp_path, env={**os.environ, **told}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    seen = json.loads(walked.read_text())
    assert len(seen["walked"]) >= 3, seen  # else it met refusals only
