"""What a service says of itself: health, its contract, its documentation, the page of each problem."""

import hashlib
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from litestar import HttpMethod, Request
from litestar.handlers import HTTPRouteHandler
from msgspec import Meta

from service.api.answers import Answer
from service.api.operation import JSON, Call, Operation, Reply, has, reply, route
from service.api.presentation import NOTHING_SPOKEN
from service.api.problems import STATUS, Refusal
from service.metrics import Metrics
from service.store.steps import Store
from service.words import Lang, Words

STATIC = Path(__file__).parent / "static"
MEDIA_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".txt": "text/plain"}
DOCS_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# No string becomes markup on the table's page, whatever a character is called.
TABLE_POLICY = f"{DOCS_POLICY}; require-trusted-types-for 'script'; trusted-types 'none'"


class Health(Answer, frozen=True, kw_only=True):
    status: Annotated[str, Meta(max_length=20)]


class ProblemPage(Answer, frozen=True, kw_only=True):
    code: Annotated[str, Meta(max_length=64)]
    title: Annotated[str, Meta(max_length=200)]
    status: Annotated[int, Meta(ge=400, le=599)]
    about: Annotated[str, Meta(max_length=1_000, description="What it means and what to do.")]


class Pages:
    """The pages that speak, in every language."""

    def __init__(self, words: Mapping[Lang, Words], store: Store) -> None:
        self._words, self._store = words, store

    def routes(self) -> list[HTTPRouteHandler]:
        return [
            self._health("live", "Is the process alive?", "For a supervisor that restarts what does not answer."),
            self._health("ready", "Can it serve tables?", "For a load balancer: 503 while Redis is away."),
            self._problem_page(),
            *_page("docs", STATIC, DOCS_POLICY),
            *_page("table", STATIC / "table", TABLE_POLICY),
            served("/", _to_docs),
        ]

    def _operation(self, **told: Any) -> Operation:
        return Operation(method="GET", tag="Service", words=self._words, spoken=NOTHING_SPOKEN, **told)

    def _health(self, name: str, summary: str, about: str) -> HTTPRouteHandler:
        async def play(call: Call, asked: None) -> Health:
            if name == "ready":
                await self._store.now_ms()
            return Health(status="ok", text=call.said(call.words(f"say.{name}")), lang=call.words.lang)

        identifier, path = f"health{name.title()}", f"/health/{name}"
        refuses = ("store-unavailable",) if name == "ready" else ()
        operation = self._operation(
            id=identifier, path=path, summary=summary, about=about, answer=Health, refuses=refuses, fresh=name == "ready"
        )
        return route(operation, play)

    def _problem_page(self) -> HTTPRouteHandler:
        async def play(call: Call, asked: None) -> ProblemPage:
            code = call.request.path_params["code"]
            if code not in STATUS:
                raise Refusal("not-found")
            title, about = (call.words(f"problem.{code}.{part}") for part in ("title", "about"))
            text = call.said(call.words("say.problem_page", title=title, about=about))
            status = STATUS[code][0]
            return ProblemPage(code=code, title=title, status=status, about=about, text=text, lang=call.words.lang)

        operation = self._operation(
            id="problemPage",
            path="/problems/{code:str}",
            summary="What a problem means",
            about="Every problem's `type` is the address of its page.",
            answer=ProblemPage,
            refuses=("not-found",),
            tagged=True,
        )
        return route(operation, play)


async def _to_docs(request: Request[Any, Any, Any]) -> Reply:
    return Reply(307, {"Location": "docs"})


def _page(name: str, folder: Path, policy: str) -> list[HTTPRouteHandler]:
    """`/name` and what it loads, read once; it loads nothing from elsewhere."""
    files = {path.name: (path.read_bytes(), MEDIA_TYPES[path.suffix]) for path in folder.iterdir() if path.is_file()}
    html = files.pop(f"{name}.html")

    async def page(request: Request[Any, Any, Any]) -> Reply:
        if request.scope["raw_path"].endswith(b"/"):  # what the page names is relative to its address
            return Reply(308, {"Location": f"../{name}"})
        return tagged_reply(request, *html, {"Content-Security-Policy": policy})

    async def asset(request: Request[Any, Any, Any]) -> Reply:
        wanted = request.path_params["name"]
        if wanted not in files:
            raise Refusal("not-found")
        return tagged_reply(request, *files[wanted], {})

    return [served(f"/{name}", page), served(f"/{name}/assets/{{name:str}}", asset)]


def served(path: str, handler: Any) -> HTTPRouteHandler:
    return HTTPRouteHandler(path, http_method=[HttpMethod.GET, HttpMethod.HEAD], include_in_schema=False)(handler)


def tagged_reply(request: Request[Any, Any, Any], body: bytes, media_type: str, headers: dict[str, str]) -> Reply:
    tag = f'"{hashlib.sha256(body).hexdigest()[:24]}"'
    headers = {**headers, "ETag": tag, "Cache-Control": "no-cache"}
    return Reply(304, headers) if has(request, tag) else reply(request, body, media_type, headers)


def metrics_routes(metrics: Metrics | None, token: str) -> list[HTTPRouteHandler]:
    """For who knows the operator's token; where none is set, there is no such page."""

    async def read(request: Request[Any, Any, Any]) -> Reply:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if metrics is None or not secrets.compare_digest(given.encode(), token.encode()):
            raise Refusal("unauthorized", headers={"WWW-Authenticate": "Bearer"})
        return reply(request, metrics.text(), "text/plain", {"Cache-Control": "no-store"})

    return [served("/metrics", read)] if metrics and token else []


def contract_route(document: bytes) -> HTTPRouteHandler:
    async def contract(request: Request[Any, Any, Any]) -> Reply:
        return tagged_reply(request, document, JSON, {})

    return served("/openapi.json", contract)
