"""A service of its own, listening, for what must go over the wire."""

import os
import socket
import subprocess
import sys
import time

import httpx
import pytest

READY_S = 60


@pytest.fixture(scope="session")
def live_service():
    """Address of a running service."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environ = {**os.environ, "HOST": "127.0.0.1", "PORT": str(port), "EMBERDICE_ACCESS_LOG": "false"}
    with subprocess.Popen([sys.executable, "-m", "service"], env=environ, stdout=subprocess.DEVNULL) as process:
        try:
            yield _ready(f"http://127.0.0.1:{port}", process)
        finally:
            process.terminate()


def _ready(address, process):
    deadline_s = time.monotonic() + READY_S
    while time.monotonic() < deadline_s and process.poll() is None:
        try:
            if httpx.get(f"{address}/health/ready").is_success:
                return address
        except httpx.TransportError:
            time.sleep(0.05)
    raise TimeoutError(f"the service at {address} did not become ready")
