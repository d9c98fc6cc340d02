"""The outermost layer: what holds for every answer, whoever wrote it. Request ids, CORS, sizes, safe headers."""

import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from service.api.problems import Refusal

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Refuse = Callable[[Refusal, Scope, Receive, Send], Awaitable[None]]
Header = tuple[bytes, bytes]

MOST_URI_BYTES = 8_192
MOST_HEADER_BYTES = 32_768

EXPOSED = b"Content-Language, ETag, Idempotency-Replayed, Link, Location, Retry-After, X-Request-Id"
PREFLIGHT: list[Header] = [
    (b"access-control-allow-methods", b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"),
    (b"access-control-allow-private-network", b"true"),
    (b"access-control-max-age", b"86400"),
]
ALLOWED_HEADERS = (
    b"Accept, Accept-Language, Authorization, Content-Type, Idempotency-Key, "
    b"If-Match, If-None-Match, Last-Event-ID, X-Request-Id"
)
SAFE: list[Header] = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer")]

REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
ODD_PATH = re.compile(r"[\x00-\x1f\x7f\ufffd]|(?:^|/)\.{1,2}(?:/|$)")

access = logging.getLogger("emberdice.access")
faults = logging.getLogger("emberdice")


class Edge:
    """Wraps the application. `refuse` answers a refusal that is found before the application is asked."""

    def __init__(
        self, app: App, *, origins: str, log: bool, refuse: Callable[[Refusal, Scope, Receive, Send], Awaitable[None]]
    ) -> None:
        self._app, self._log, self._refuse = app, log, refuse
        self._origins = {origin.strip().encode() for origin in origins.split(",")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        request_id = _request_id(headers)
        carried = [*SAFE, *self._cors(headers.get(b"origin")), (b"x-request-id", request_id)]
        scope["request_id"] = request_id.decode()
        status, started_s = 0, time.perf_counter()

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *carried]
            await send(message)

        try:
            await self._answer(scope, receive, sending)
        except Exception:
            if status:
                raise
            faults.exception("request %s failed", scope["request_id"])
            await self._refuse(Refusal("internal-error"), scope, receive, sending)
        finally:
            if self._log:
                took_ms = (time.perf_counter() - started_s) * 1_000
                access.info("%s %s %s %d %.1f", scope["request_id"], scope["method"], _shown_path(scope), status, took_ms)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = _too_much(scope) or (Refusal("not-found") if ODD_PATH.search(scope["path"]) else None)
        if refusal:
            await self._refuse(refusal, scope, receive, send)
        elif scope["method"] == "OPTIONS":
            allowed = (b"access-control-allow-headers", ALLOWED_HEADERS)
            await send({"type": "http.response.start", "status": 204, "headers": [*PREFLIGHT, allowed]})
            await send({"type": "http.response.body", "body": b""})
        else:
            await self._app(scope, receive, send)

    def _cors(self, origin: bytes | None) -> list[Header]:
        exposed = (b"access-control-expose-headers", EXPOSED)
        if b"*" in self._origins:
            return [(b"access-control-allow-origin", b"*"), exposed]
        varies = (b"vary", b"Origin")
        if origin in self._origins and origin:
            return [(b"access-control-allow-origin", origin), exposed, varies]
        return [varies]


def _request_id(headers: dict[bytes, bytes]) -> bytes:
    given = headers.get(b"x-request-id", b"")
    return given if REQUEST_ID.fullmatch(given) else secrets.token_hex(8).encode()


def _too_much(scope: Scope) -> Refusal | None:
    if len(scope["raw_path"]) + len(scope["query_string"]) > MOST_URI_BYTES:
        return Refusal("uri-too-long", most=MOST_URI_BYTES)
    if sum(len(name) + len(value) for name, value in scope["headers"]) > MOST_HEADER_BYTES:
        return Refusal("headers-too-large", most=MOST_HEADER_BYTES)
    return None


def _shown_path(scope: Scope) -> str:
    """The path without its query, which may hold a token, and without what could forge a line of the log."""
    return ascii(scope["path"])[1:-1][:300]
