"""An operator can give a table a new game master's token."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.live import ROOT

SCRIPT = Path(__file__).parents[2] / "deploy/gm_token.py"


def given(redis_url, session):
    environ = {"REDIS_URL": redis_url, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, SCRIPT, session], env=environ, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.anyio
async def test_the_new_token_is_a_gm_s_and_can_revoke_the_lost_one(table, redis_url):
    lost = (await table.get("/tokens/me"))["id"]
    ran = given(redis_url, table.id)
    assert ran.returncode == 0, ran.stderr
    new = ran.stdout.strip()
    assert (await table.get("/tokens/me", by=new))["role"] == "gm"
    assert {each["label"] for each in (await table.get("/tokens", by=new))["tokens"]} >= {"from the operator"}
    assert (await table.ask(f"DELETE /tokens/{lost}", by=new)).status_code == 200
    assert (await table.ask("GET")).status_code == 401


def test_a_session_that_is_not_there_gets_none(redis_url):
    ran = given(redis_url, "0" * 20)
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", "there is no such session\n")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("redis+foo://u:SECRET@a", "REDIS_URL=redis+foo://…@a: must look like "),
        ("redis://u:SECRET@a?max_connections=3", "REDIS_URL=redis://…@a?…: max_connections is not an option"),
        ("unix:///nowhere.sock?password=SECRET", "no token: "),
    ],
)
def test_a_store_that_is_none_is_said_in_a_line_without_its_password(url, said):
    ran = given(url, "0" * 20)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (1, "", 1)
    assert ran.stderr.startswith(said)
    assert "SECRET" not in ran.stderr
