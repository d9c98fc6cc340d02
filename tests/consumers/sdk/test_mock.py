"""A user of an SDK can test without the service: a mock of the contract answers with its examples."""

import socket
import subprocess
from contextlib import suppress

import httpx
import pytest

from openapi.sdk import generate
from tests.consumers.sdk.conftest import NODE_MODULES, program
from tests.live import END_S, READY_S, until


@pytest.fixture
def mock(sdk):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    prism = NODE_MODULES / "@stoplight" / "prism-cli" / "dist" / "index.js"
    command = [generate.NODE, prism, "mock", "--host", "127.0.0.1", "--port", str(port)]
    running = subprocess.Popen([*command, generate.CONTRACT], stdout=subprocess.DEVNULL)

    def is_there():
        with suppress(httpx.TransportError):
            return httpx.get(f"{address}/v1/systems", timeout=5).is_success
        return False

    try:
        until(is_there, READY_S)
        yield address
    finally:
        running.terminate()
        running.wait(END_S)


def test_the_newcomers_programs_run_against_a_mock(mock, run):
    """One test, since the mock needs long to start."""
    for name, language in (("newcomer.py", "python"), ("newcomer.mts", "ts")):
        text = program(generate.ROOT / "README.md", language)
        rolled, drawn, healed, *refused = run(name, text=text.replace("http://localhost:8000", mock))
        assert rolled.startswith("Zoé: ")
        assert drawn.startswith("1 card drawn for Zoé: ")
        assert "Zoé" in healed
        assert refused == []
