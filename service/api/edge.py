"""The outermost layer: what holds for every answer, whoever wrote it. Request ids, CORS, sizes, safe headers."""

import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from service import logs
from service.addresses import Proxies
from service.api.answers import TOKEN, without_tokens
from service.api.gate import Gate
from service.api.patience import Message, Patience, Receive
from service.api.problems import Refusal
from service.metrics import Metrics
from service.settings import Settings

Scope = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Refuse = Callable[[Refusal, Scope, Receive, Send], Awaitable[None]]
Header = tuple[bytes, bytes]

WITHOUT_BODY = frozenset({"GET", "HEAD"})
BODY_S = 30
"""Time in which a whole body has to be here."""
MOST_UNASKED_BYTES = 65_536
"""A body up to here may come although the caller said that it would ask first."""
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
    b"If-Match, If-None-Match, Last-Event-ID, X-Api-Key, X-Request-Id"
)
SAFE: list[Header] = [
    (b"server", b"emberdice"),  # else the server names its own software
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]

REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
ODD_PATH = re.compile(r"[\x00-\x1f\x7f\ufffd]|//|(?:^|/)\.{1,2}(?:/|$)")

faults = logging.getLogger("emberdice")


class Edge:
    """Wraps the application. `refuse` answers a refusal that is found before the application is asked."""

    def __init__(self, app: App, settings: Settings, metrics: Metrics | None, refuse: Refuse) -> None:
        self._app, self._metrics, self._refuse = app, metrics, refuse
        self._log = settings.access_log
        per_second, failures = (
            each / settings.workers for each in (settings.stateless_per_second, settings.failures_per_minute)
        )
        self._gate = Gate(settings.api_key, per_second, failures)
        self._origins = {origin.strip().encode() for origin in settings.cors_origins.split(",")}
        self._proxies = Proxies(settings.trusted_proxies)
        self._patience = Patience(BODY_S)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        request_id = _request_id(headers)
        carried = [*SAFE, *self._cors(headers.get(b"origin")), (b"x-request-id", request_id)]
        scope["request_id"] = request_id.decode()
        if self._proxies:
            forwarded = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for").decode("latin-1")
            scope["client"] = (self._proxies.client(_address(scope), forwarded), 0)
        status, started_s = 0, time.perf_counter()
        body = self._patience.timely(receive) if _has_body(scope, headers) else None

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *carried]
                if body and not body.complete and (_asks_first(headers) or not await body.is_taken_in()):
                    message["headers"].append((b"connection", b"close"))
            await send(message)

        try:
            await self._answer(scope, headers, body or receive, sending)
        except Exception:
            if status:
                raise
            faults.exception("request %s failed", scope["request_id"])
            await self._refuse(Refusal("internal-error"), scope, receive, sending)
        finally:
            self._tell(scope, status, time.perf_counter() - started_s)

    async def _answer(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive, send: Send) -> None:
        refusal = _too_much(scope) or (Refusal("not-found") if ODD_PATH.search(scope["path"]) else None)
        if refusal:
            await self._refuse(refusal, scope, receive, send)
        elif scope["method"] == "OPTIONS":
            allowed = (b"access-control-allow-headers", ALLOWED_HEADERS)
            await send({"type": "http.response.start", "status": 204, "headers": [*PREFLIGHT, allowed]})
            await send({"type": "http.response.body", "body": b""})
        elif refusal := self._gate.refusal(scope["path"], headers, _address(scope)):
            await self._refuse(refusal, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _tell(self, scope: Scope, status: int, took_s: float) -> None:
        if self._metrics:
            self._metrics.answered(_operation(scope), status, took_s)
        if self._log:
            logs.answered(scope["request_id"], scope["method"], _shown_path(scope), status, took_s)

    def _cors(self, origin: bytes | None) -> list[Header]:
        exposed = (b"access-control-expose-headers", EXPOSED)
        if b"*" in self._origins:
            return [(b"access-control-allow-origin", b"*"), exposed]
        varies = (b"vary", b"Origin")
        if origin in self._origins and origin:
            return [(b"access-control-allow-origin", origin), exposed, varies]
        return [varies]


def _operation(scope: Scope) -> str:
    """What was asked for, as the contract calls it: paths hold ids, and would make a series each."""
    operation = getattr(scope.get("route_handler"), "opt", {}).get("operation")
    return str(operation.id) if operation else "other"


def _address(scope: Scope) -> str:
    return str((scope.get("client") or ("", 0))[0])


def _has_body(scope: Scope, headers: dict[bytes, bytes]) -> bool:
    return scope["method"] not in WITHOUT_BODY or b"content-length" in headers or b"transfer-encoding" in headers


def _asks_first(headers: dict[bytes, bytes]) -> bool:
    """Whether a large body was announced, and is kept back until it is wanted."""
    return b"expect" in headers and int(headers.get(b"content-length", b"0")) > MOST_UNASKED_BYTES


def _request_id(headers: dict[bytes, bytes]) -> bytes:
    given = headers.get(b"x-request-id", b"")
    if TOKEN.search(given.decode("latin-1")):  # it would be logged
        given = b""
    return given if REQUEST_ID.fullmatch(given) else secrets.token_hex(8).encode()


def _too_much(scope: Scope) -> Refusal | None:
    if len(scope["raw_path"]) + len(scope["query_string"]) > MOST_URI_BYTES:
        return Refusal("uri-too-long", most=MOST_URI_BYTES)
    if sum(len(name) + len(value) for name, value in scope["headers"]) > MOST_HEADER_BYTES:
        return Refusal("headers-too-large", most=MOST_HEADER_BYTES)
    return None


def _shown_path(scope: Scope) -> str:
    """The path without its query, which may hold a token, and without what could forge a line of the log."""
    return ascii(without_tokens(scope["path"]))[1:-1][:300]
