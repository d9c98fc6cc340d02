"""What the outermost layer refuses or replaces: bodies that do not come, odd request ids."""

import asyncio
import socket
import time

import httpx
import pytest

from service.api import edge, patience
from service.app import create_app
from service.settings import Settings
from tests.live import Service

APP = create_app(Settings(redis_url="redis://nowhere", access_log=False))


@pytest.mark.anyio
async def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(edge, "BODY_S", 0.05)
    monkeypatch.setattr(patience, "SWEEP_S", 0.05)
    started_s = time.monotonic()
    transport = _Sending(create_app(Settings(redis_url="redis://nowhere", access_log=False)))
    async with httpx.AsyncClient(transport=transport, base_url="http://emberdice") as client:
        answer = await client.post("/v1/sixd6/rolls", content=b'{"base":', headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (408, "body-too-slow")
    assert answer.headers["connection"] == "close"
    assert time.monotonic() - started_s < 10


J = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    live = Service(tmp_path_factory.mktemp("edge"), workers=1)
    yield live.start()
    live.kill()


@pytest.mark.parametrize(
    ("path", "size", "status"),
    [("/v1/sixd6/rolls", 1_100_000, 413), ("/v1/nothing", 500_000, 404), ("/v1/systems", 50_000, 405)],
)
def test_a_connection_is_of_use_after_a_body_that_was_refused_unread(service, path, size, status):
    with httpx.Client(base_url=service.address, timeout=30) as client:
        got = [
            (client.post(path, content=b"x" * size, headers=J).status_code, client.get("/health/live").status_code)
            for _ in range(40)
        ]
    assert set(got) == {(status, 200)}


@pytest.mark.parametrize(
    ("path", "expects", "sent", "answer"),
    [
        pytest.param("/v1/nothing", "", patience.MOST_UNWANTED_BYTES, b"HTTP/1.1 404 ", id="more than is taken in"),
        pytest.param("/v1/nothing", "", 1_000, b"HTTP/1.1 404 ", id="the rest does not come"),
        pytest.param("/v1/sixd6/rolls", "Expect: 100-continue\r\n", 0, b"HTTP/1.1 413 ", id="curl asks before it sends"),
    ],
)
def test_a_connection_that_cannot_be_used_again_is_closed_in_words(service, path, expects, sent, answer):
    at = httpx.URL(service.address)
    head = "Host: x\r\nContent-Type: application/json\r\nContent-Length: 20000000\r\n"
    with socket.create_connection((at.host, at.port), timeout=10) as line:
        line.sendall(f"POST {path} HTTP/1.1\r\n{head}{expects}\r\n".encode() + b" " * sent)
        said = b"".join(iter(lambda: line.recv(65_536), b""))
    assert said.startswith(answer)
    assert b"\r\nconnection: close\r\n" in said.lower()


@pytest.mark.anyio
async def test_who_gives_up_waiting_is_not_told_that_the_body_was_slow():
    waiting = asyncio.create_task(patience.Patience(60).timely(asyncio.Event().wait)())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


@pytest.mark.anyio
async def test_a_body_that_ends_early_is_malformed_and_no_fault_of_ours(caplog):
    transport = _Sending(APP, {"type": "http.disconnect"})
    async with httpx.AsyncClient(transport=transport, base_url="http://emberdice") as client:
        answer = await client.post("/v1/sixd6/rolls", content=b'{"base":', headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"], answer.json()["position"]) == (400, "malformed-body", 8)
    assert caplog.text == ""


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("given", "kept"),
    [("trace-1.a_b", True), ("a b", False), ("x" * 65, False), (f"ember_gm_{'A' * 43}", False), ("", False)],
)
async def test_a_request_id_is_the_caller_s_unless_it_is_odd_or_a_token(given, kept):
    async with httpx.AsyncClient(transport=httpx.ASGITransport(APP), base_url="http://emberdice") as client:
        answer = await client.get("/health/live", headers={"X-Request-Id": given})
    assert (answer.headers["x-request-id"] == given) is kept
    assert answer.headers["server"] == "emberdice"


class _Sending(httpx.AsyncBaseTransport):
    """Sends the body's beginning, then what is told or nothing. httpx's own transport would end it."""

    def __init__(self, app, then=None):
        self._app, self._then = app, then

    async def handle_async_request(self, request):
        parts, said = [{"type": "http.request", "body": request.content, "more_body": True}], []

        async def receive():
            return parts.pop() if parts else self._then or await asyncio.sleep(60)

        async def send(message):
            said.append(message)

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "path": request.url.path,
            "raw_path": request.url.raw_path,
            "query_string": b"",
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "client": ("203.0.113.9", 1),
            "server": ("emberdice", 80),
            "scheme": "http",
            "root_path": "",
        }
        await self._app(scope, receive, send)
        body = b"".join(each.get("body", b"") for each in said[1:])
        return httpx.Response(said[0]["status"], headers=said[0]["headers"], content=body, request=request)
