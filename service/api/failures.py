"""Every exception becomes a problem document: ours, Litestar's, and those that nobody foresaw."""

import logging
from collections.abc import Mapping
from typing import Any

from litestar import Request, Response
from litestar.exceptions import HTTPException, MethodNotAllowedException
from msgspec.structs import replace

from service.api import presentation
from service.api.answers import without_tokens
from service.api.operation import MEDIA_TYPES, PROBLEM, Reply, encoder, reply, within
from service.api.presentation import Format
from service.api.problems import Refusal, problem_of, refusal_of, said_of
from service.errors import GameError
from service.render import targets
from service.store.connection import StoreUnavailable
from service.store.limits import TooManyRequests
from service.store.steps import Busy
from service.words import Lang, Words

log = logging.getLogger("emberdice")

MOST_METHOD = 40
"""Characters of one that are said again."""

# Litestar's own refusals, by status.
CODES = {400: "malformed-request", 404: "not-found", 405: "method-not-allowed", 413: "body-too-large"}


class Ready(Response[None]):
    """An answer that is complete: Litestar's exception handlers must return one of its Responses."""

    def __init__(self, answer: Reply) -> None:
        super().__init__(None)
        self._answer = answer

    def to_asgi_response(self, *_: Any, **__: Any) -> Any:
        return self._answer


class Failures:
    def __init__(self, words: Mapping[Lang, Words], prefix: str, most_body_bytes: int) -> None:
        self._words, self._prefix, self._most_body_bytes = words, prefix, most_body_bytes

    def refused(self, request: Request[Any, Any, Any], refusal: Refusal) -> Reply:
        operation = getattr(request.scope.get("route_handler"), "opt", {}).get("operation")
        shown = presentation.lenient(request, text=bool(operation and operation.text_by_default))
        of_table: Any = request.scope.get("table_lang")
        lang = shown.lang or refusal.lang or of_table or Lang.EN
        words = (operation.words if operation else self._words)[lang]
        problem = problem_of(refusal, words, request.scope["path"], self._prefix)
        headers = {
            "Cache-Control": "no-store",
            "Content-Language": words.lang.value,
            "Vary": "Accept, Accept-Language",
            **refusal.headers,
        }
        status = 200 if shown.soft_errors else refusal.status
        text = within(problem.text, shown)
        if text != problem.text and problem.errors:  # the cause before all else
            text = within(said_of(problem.errors, words), shown)
        if shown.format is not Format.JSON:
            bounds = (shown.max, shown.max_bytes)
            said = targets.fitting(text, *bounds, targets.markdown) if shown.format is Format.MARKDOWN else text
            return reply(request, f"{said}\n".encode(), MEDIA_TYPES[shown.format], headers, status)
        body = encoder.encode(problem if text == problem.text else replace(problem, text=text))
        return reply(request, body, PROBLEM, headers, status)

    def of_litestar(self, request: Request[Any, Any, Any], error: HTTPException) -> Response[Any]:
        code = CODES.get(error.status_code)
        if code is None:
            return self.unforeseen(request, error)
        told = dict(error.headers or {}).get("allow", "") if isinstance(error, MethodNotAllowedException) else ""
        allowed = ", ".join(sorted(told.split(", ")))
        headers = {"Allow": allowed} if allowed else {}
        method = without_tokens(request.scope["method"])[:MOST_METHOD]
        return Ready(
            self.refused(request, Refusal(code, headers=headers, method=method, allowed=allowed, most=self._most_body_bytes))
        )

    def of_ours(self, request: Request[Any, Any, Any], refusal: Refusal) -> Response[Any]:
        return Ready(self.refused(request, refusal))

    def of_game(self, request: Request[Any, Any, Any], error: GameError) -> Response[Any]:
        return Ready(self.refused(request, refusal_of(error, "body")))

    def of_limits(self, request: Request[Any, Any, Any], error: TooManyRequests) -> Response[Any]:
        refusal = Refusal("too-many-requests", headers={"Retry-After": str(error.seconds)}, seconds=error.seconds)
        return Ready(self.refused(request, refusal))

    def of_store(self, request: Request[Any, Any, Any], error: StoreUnavailable | Busy) -> Response[Any]:
        log.warning(
            "request %s: %s", request.scope.get("request_id", "-"), str(error) or "too many steps of one session at once"
        )
        code = "busy" if isinstance(error, Busy) else "store-unavailable"
        return Ready(self.refused(request, Refusal(code, headers={"Retry-After": "1"})))

    def unforeseen(self, request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
        log.error("request %s failed", request.scope.get("request_id", "-"), exc_info=error)
        return Ready(self.refused(request, Refusal("internal-error")))
