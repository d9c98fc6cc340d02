"""The commands of the READMEs that open a table and make a token, where the operator asks for a key."""

import os
import re
import subprocess

import httpx
import pytest

from tests.consumers.test_snippets import README
from tests.live import ROOT, Service
from tests.tools import tool

KEY = "the-operators"
ROLES = {"snippets": "chat", "roll20": "player", "foundry": "player"}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    service = Service(tmp_path_factory.mktemp("service"), workers=1, EMBERDICE_API_KEY=KEY)
    try:
        yield service.start()
    finally:
        service.kill()


def opened(name, address, folder, key=KEY):
    """What the command prints: the table's id and a token."""
    tool("curl")
    readme = (ROOT / "deploy" / "integrations" / name / "README.md").read_text("utf-8")
    command = re.search(r"^```sh\n(SERVICE=.*?)^```$", readme, re.MULTILINE | re.DOTALL)[1]
    command = command.replace("https://dice.example", address)
    environ = {**os.environ, "EMBERDICE_API_KEY": key}
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=environ, capture_output=True, text=True, check=False)
    return done.stdout.split()


@pytest.mark.parametrize(("name", "role"), ROLES.items(), ids=ROLES)
def test_one_command_opens_a_table_and_makes_a_token(name, role, service, tmp_path):
    word, session, token = opened(name, service.address, tmp_path)
    assert word == "table"
    about = {"headers": {"Authorization": f"Bearer {token}"}}
    me = httpx.get(f"{service.address}/v1/sessions/{session}/tokens/me", **about)
    assert me.json()["role"] == role
    assert opened(name, service.address, tmp_path, key="") == ["table"]


def test_at_a_table_no_piece_needs_the_operators_key(service, tmp_path):
    """What a chat token plays needs no other key; neither does a userscript, which asks below its table only."""
    _, session, token = opened("snippets", service.address, tmp_path)
    asked = re.findall(r"https://dice\.example(/v1/\S+?)\?", README)
    assert asked
    assert all(path.startswith("/v1/quick/SESSION/") for path in asked)
    rolled = httpx.get(f"{service.address}/v1/quick/{session}/roll", params={"token": token, "base": 2})
    assert rolled.is_success
    script = (ROOT / "deploy" / "integrations" / "roll20" / "emberdice.user.js").read_text("utf-8")
    assert re.findall(r"/v1/\w+", script) == ["/v1/sessions"]
    assert "/v1/sessions/${encodeURIComponent(seat.table)}${path}" in script
