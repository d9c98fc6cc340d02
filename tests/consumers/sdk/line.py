"""A bad line between a client and the service: answers are lost, streams are cut, it may say itself that it is busy.

It holds what passes against the contract.
"""

import http.client
import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.consumers.sdk.agreed import CONTRACT, faults

BUSY = CONTRACT["components"]["examples"]["busy"]["value"]
OPENING = "/v1/sessions"
LOST_OPENING = "POST /v1/sessions?lang=fr"
EXPIRED = "expired"
RESET = b'id: 99\ndata: {"type":"reset","last_event":"99"}\n\n'


class BadLine:
    """Loses the first answer to each request but the opening of a table, and cuts each stream after its first events.

    A request is the same again under the same key or, without one, the same line. It is busy for a second when systems are
    asked for, and for an hour when it is asked whether the service is ready.
    """

    def __init__(self, host: str, port: int) -> None:
        self.upstream = (host, port)
        self.lost: Counter[str] = Counter()
        self.replayed = self.cut = 0
        self.faults: list[str] = []
        self.lock = threading.Lock()

    def loses(self, method: str, path: str, key: str | None) -> bool:
        if path == OPENING:
            return False
        with self.lock:
            same = key or f"{method} {path}"
            self.lost[same] += 1
            return self.lost[same] == 1

    def listening(self) -> AbstractContextManager[str]:
        return serving(type("Line", (_Request,), {"line": self}))


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server whose requests are handled so."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Request(BaseHTTPRequestHandler):
    line: BadLine

    def log_message(self, *_: Any) -> None:
        pass

    def _pass_on(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/v1/systems" and self.line.loses("busy", path, None):
            self._busy("1")
        elif path == "/health/ready":
            self._busy("3600")
        elif self.headers["Last-Event-ID"] == EXPIRED:
            self._answer(200, [("Content-Type", "text/event-stream")], RESET)
        else:
            self._ask(self.line.loses(self.command, self.path, self.headers["Idempotency-Key"]))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass_on  # noqa: N815

    def _ask(self, is_lost: bool) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        upstream = http.client.HTTPConnection(*self.line.upstream, timeout=30)
        try:
            upstream.request(self.command, self.path, body, dict(self.headers))
            response = upstream.getresponse()
            if response.headers["Content-Type"].startswith("text/event-stream"):
                self._stream(response, is_lost)
            else:
                said = response.read()
                self.line.replayed += response.headers["Idempotency-Replayed"] == "true"
                path, media_type = self.path.partition("?")[0], response.headers["Content-Type"].partition(";")[0]
                self.line.faults += faults(self.command, path, response.status, media_type, said)
                if not is_lost:
                    kept = [
                        each for each in response.getheaders() if each[0].lower() not in ("transfer-encoding", "connection")
                    ]
                    self._answer(response.status, kept, said)
        finally:
            upstream.close()

    def _stream(self, response: http.client.HTTPResponse, is_lost: bool) -> None:
        """Nothing of a stream that is lost; else it is cut after its first events."""
        if is_lost:
            return
        self._answer(200, [("Content-Type", "text/event-stream")], b"")
        said = b""
        while b"\n\n" not in said.partition(b"data:")[2]:
            said += response.read1(65_536)
        self.wfile.write(said)
        self.line.cut += 1

    def _busy(self, retry_after: str) -> None:
        problem = json.dumps(BUSY).encode()
        headers = [("Content-Type", "application/problem+json"), ("Retry-After", retry_after)]
        self._answer(503, headers, problem)

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
