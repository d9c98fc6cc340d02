"""Who asks: what a proxy of ours says is believed, what a caller says is not, and an IPv6 caller is one."""

import asyncio
import time

import httpx
import pytest

from service.addresses import Proxies, caller, is_loopback
from service.api import edge
from service.app import create_app
from service.settings import Settings

FORWARDED = [
    # proxies, nearest, X-Forwarded-For, client
    ("", "203.0.113.9", "198.51.100.1", "203.0.113.9"),
    ("10.0.0.1", "203.0.113.9", "198.51.100.1", "203.0.113.9"),
    ("10.0.0.1", "10.0.0.1", "198.51.100.1", "198.51.100.1"),
    ("10.0.0.1", "10.0.0.1", "127.0.0.1, 198.51.100.1", "198.51.100.1"),  # the first was forged
    ("10.0.0.1, 10.0.0.2", "10.0.0.1", "127.0.0.1, 198.51.100.1, 10.0.0.2", "198.51.100.1"),
    ("10.0.0.0/8", "10.9.8.7", "198.51.100.1,10.1.2.3", "198.51.100.1"),
    ("10.0.0.0/8", "::ffff:10.9.8.7", "198.51.100.1", "198.51.100.1"),
    ("10.0.0.1", "10.0.0.1", "", "10.0.0.1"),
    ("10.0.0.1", "10.0.0.1", "unknown", "10.0.0.1"),
    ("10.0.0.1", "10.0.0.1", "198.51.100.1, <script>", "10.0.0.1"),
    ("10.0.0.1", "10.0.0.1", "198.51.100.1:4711", "198.51.100.1"),
    ("fd00::/8", "fd00::1", "[2001:db8::1]:443", "2001:db8::1"),
    ("10.0.0.1", "10.0.0.1", "," * 5_000, "10.0.0.1"),
]  # fmt: skip


@pytest.mark.parametrize(("proxies", "nearest", "forwarded", "client"), FORWARDED)
def test_the_nearest_address_that_is_no_proxy_of_ours_asks(proxies, nearest, forwarded, client):
    assert Proxies(proxies).client(nearest, forwarded) == client


@pytest.mark.parametrize("told", ["10.0.0.1/33", "proxy.example", "10.0.0.1 10.0.0.2", "*"])
def test_a_proxy_is_an_address_or_a_network(told):
    with pytest.raises(ValueError, match="does not appear to be"):
        Proxies(told)


CALLERS = [
    # address, what is counted
    ("203.0.113.9", "203.0.113.9"),
    ("::ffff:203.0.113.9", "203.0.113.9"),
    ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
    ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
    ("", "unknown"),
    ("nonsense", "unknown"),
]  # fmt: skip


@pytest.mark.parametrize(("address", "counted"), CALLERS)
def test_one_network_of_ipv6_is_one_caller(address, counted):
    assert caller(address) == counted


def test_loopback_has_several_shapes():
    assert [is_loopback(each) for each in ("127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1")] == [True] * 4
    assert not any(is_loopback(each) for each in ("", "localhost", "203.0.113.9", "::ffff:203.0.113.9"))


@pytest.mark.anyio
async def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(edge, "BODY_S", 0.05)
    started_s, transport = time.monotonic(), _Sending(create_app(Settings(redis_url="redis://nowhere", access_log=False)))
    async with httpx.AsyncClient(transport=transport, base_url="http://emberdice") as client:
        answer = await client.post("/v1/sixd6/rolls", content=b'{"base":', headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (408, "body-too-slow")
    assert answer.headers["connection"] == "close"
    assert time.monotonic() - started_s < 10


class _Sending(httpx.AsyncBaseTransport):
    """Sends the body's beginning and then nothing. httpx's own transport would end it."""

    def __init__(self, app):
        self._app = app

    async def handle_async_request(self, request):
        parts, said = [{"type": "http.request", "body": request.content, "more_body": True}], []

        async def receive():
            return parts.pop() if parts else await asyncio.sleep(60)

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
