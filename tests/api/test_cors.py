"""Any page may call: a macro in a player's browser reads every answer, errors included, and no cookie is involved."""

import asyncio

import httpx
import pytest

from service.app import create_app
from service.settings import Settings

ANY = create_app(Settings(redis_url="redis://nowhere", access_log=False, max_body_bytes=2_048))
SOME = create_app(
    Settings(
        redis_url="redis://nowhere",
        access_log=False,
        max_body_bytes=2_048,
        cors_origins="https://table.example, https://vtt.example:30000",
    )
)
TABLE, VTT, STRANGER = "https://table.example", "https://vtt.example:30000", "https://stranger.example"


def call(app, method, url, origin=None, **told):
    headers = {**({"Origin": origin} if origin else {}), **told.pop("headers", {})}

    async def called():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://emberdice") as client:
            return await client.request(method, url, headers=headers, **told)

    return asyncio.run(called())


def names(answer, header):
    return {each.strip().lower() for each in answer.headers.get(header, "").split(",")}


ANSWERS = [
    # status, request
    (200, {"method": "POST", "url": "/v1/sixd6/rolls", "json": {"base": 0}}),
    (200, {"method": "GET", "url": "/v1/sixd6/roll?base=0&format=text"}),
    (200, {"method": "GET", "url": "/openapi.json"}),
    (200, {"method": "HEAD", "url": "/v1/systems"}),
    (304, {"method": "GET", "url": "/v1/systems", "headers": {"If-None-Match": "*"}}),
    (400, {"method": "POST", "url": "/v1/sixd6/rolls", "headers": {"Content-Type": "application/json"}, "content": b"{"}),
    (401, {"method": "GET", "url": "/v1/sessions/00000000000000000000"}),
    (404, {"method": "GET", "url": "/nowhere"}),
    (404, {"method": "GET", "url": "/problems/%00"}),
    (405, {"method": "DELETE", "url": "/v1/systems"}),
    (413, {"method": "POST", "url": "/v1/sixd6/rolls", "json": {"base": 0, "label": "x" * 3_000}}),
    (414, {"method": "GET", "url": f"/v1/systems?{'x' * 9_216}"}),
    (415, {"method": "POST", "url": "/v1/sixd6/rolls", "content": b"{}"}),
    (422, {"method": "POST", "url": "/v1/sixd6/rolls", "json": {}}),
    (431, {"method": "GET", "url": "/v1/systems", "headers": {"X-Large": "x" * 40_000}}),
    (503, {"method": "GET", "url": "/health/ready"}),
]
every_answer = pytest.mark.parametrize(("status", "request_"), ANSWERS, ids=lambda part: str(part)[:60])


@every_answer
@pytest.mark.parametrize("origin", [None, TABLE, "null"])
def test_any_page_may_read_every_answer(status, request_, origin):
    answer = call(ANY, origin=origin, **request_)
    assert answer.status_code == status
    assert answer.headers.get_list("access-control-allow-origin") == ["*"]
    assert {"x-request-id", "retry-after", "etag", "location", "idempotency-replayed", "content-language"} <= names(
        answer, "access-control-expose-headers"
    )
    assert "origin" not in names(answer, "vary")
    assert "access-control-allow-credentials" not in answer.headers
    assert "set-cookie" not in answer.headers


@every_answer
@pytest.mark.parametrize("origin", [TABLE, VTT])
def test_a_configured_page_may_read_every_answer(status, request_, origin):
    answer = call(SOME, origin=origin, **request_)
    assert answer.status_code == status
    assert answer.headers.get_list("access-control-allow-origin") == [origin]
    assert "x-request-id" in names(answer, "access-control-expose-headers")
    assert "origin" in names(answer, "vary")
    assert "access-control-allow-credentials" not in answer.headers


@every_answer
@pytest.mark.parametrize("origin", [None, STRANGER, "https://table.example.evil", "http://table.example", "null", "*"])
def test_other_pages_may_not_and_caches_know_that_it_depends(status, request_, origin):
    answer = call(SOME, origin=origin, **request_)
    assert answer.status_code == status
    assert "access-control-allow-origin" not in answer.headers
    assert "origin" in names(answer, "vary")


@pytest.mark.parametrize("path", ["/v1/sixd6/rolls", "/v1/sessions/x/characters", "/nowhere"])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_preflight_allows_what_scripts_need(path, method):
    asked = {"Access-Control-Request-Method": method, "Access-Control-Request-Headers": "authorization,content-type"}
    answer = call(ANY, "OPTIONS", path, origin=TABLE, headers=asked)
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["access-control-allow-origin"] == "*"
    assert method.lower() in names(answer, "access-control-allow-methods")
    wanted = {
        "authorization",
        "content-type",
        "idempotency-key",
        "if-match",
        "if-none-match",
        "last-event-id",
        "x-request-id",
    }
    assert wanted <= names(answer, "access-control-allow-headers")
    assert int(answer.headers["access-control-max-age"]) >= 600
    assert answer.headers["access-control-allow-private-network"] == "true"
    assert "access-control-allow-credentials" not in answer.headers


def test_a_preflight_of_a_configured_page():
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    theirs, others = (call(SOME, "OPTIONS", "/v1/sixd6/rolls", origin=origin, headers=asked) for origin in (VTT, STRANGER))
    assert theirs.headers["access-control-allow-origin"] == VTT
    assert "access-control-allow-origin" not in others.headers
    assert "origin" in names(theirs, "vary") & names(others, "vary")


def test_a_preflight_needs_no_token():
    asked = {"Access-Control-Request-Method": "DELETE", "Access-Control-Request-Headers": "authorization"}
    assert call(ANY, "OPTIONS", "/v1/sessions/x", origin=TABLE, headers=asked).status_code == 204
