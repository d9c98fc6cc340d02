"""A service that takes requests and says nothing is given up in the caller's time; a stream may be silent for longer."""

import json
import threading
from collections import Counter
from contextlib import suppress
from http.server import BaseHTTPRequestHandler

import pytest

from tests.consumers.sdk.agreed import CONTRACT
from tests.consumers.sdk.line import serving
from tests.live import END_S

TRIES = 2
LOG = CONTRACT["paths"]["/v1/sessions/{session}/events"]["get"]["responses"]["200"]["content"]["application/json"]
EVENT = LOG["example"]["events"][0]
# Program, why there was no answer, for each who plays in it.
PROGRAMS = [
    ("silence.py", ["timed out", "ReadTimeout"]),
    ("silence.mts", ["The operation was aborted due to timeout"]),
]


class Silence:
    """Answers no step. A listener hears an event when each try of a step has been given up."""

    def __init__(self):
        self.keys, self.listeners = [], 0
        self.given_up = threading.Semaphore(0)

    def listening(self):
        return serving(type("Request", (_Request,), {"silence": self}))


class _Request(BaseHTTPRequestHandler):
    silence: Silence

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.silence.keys.append(self.headers["Idempotency-Key"])
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        with suppress(OSError):
            self.rfile.read(1)  # until the caller closes
        self.silence.given_up.release()

    def do_GET(self):
        self.silence.listeners += 1
        if all(self.silence.given_up.acquire(timeout=END_S) for _ in range(TRIES)):
            self.send_response_only(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.write(f"id: {EVENT['id']}\ndata: {json.dumps(EVENT)}\n\n".encode())


@pytest.mark.parametrize(("name", "reasons"), PROGRAMS, ids=[name for name, _ in PROGRAMS])
def test_a_silent_service_is_given_up_and_a_silent_stream_is_not(name, reasons, run):
    silence = Silence()
    with silence.listening() as address:
        printed = run(name, address)
    assert printed[::2] == [f"The service does not answer: {reason}" for reason in reasons]
    assert printed[1::2] == [f"heard {EVENT['type']}"] * len(reasons)
    assert silence.listeners == len(reasons)
    assert list(Counter(silence.keys).values()) == [TRIES] * len(reasons)
