"""What the outermost layer refuses or replaces: bodies that do not come, odd request ids."""

import asyncio
import time

import httpx
import pytest

from service.api import edge, patience
from service.app import create_app
from service.settings import Settings

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
