"""The composition root: settings and dice in, an ASGI application out. Nothing else builds parts."""

from pathlib import Path
from typing import Any

from litestar import Litestar, Request
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler

from service.api import contract, games, pages
from service.api.edge import Edge, Receive, Scope, Send
from service.api.failures import Failures
from service.api.operation import Operation
from service.api.problems import Refusal
from service.dice import Dice, SystemDice
from service.settings import Settings
from service.systems import SYSTEMS
from service.words import Words, load

MESSAGES = load(Path(__file__).parent / "messages")
WORDS = {lang: Words(lang, tree) for lang, tree in MESSAGES.items()}


def tables(dice: Dice) -> list[games.Table]:
    """Every game with its words: the service's own, and its own on top."""
    return [
        games.Table(game, {lang: Words(lang, MESSAGES[lang], tree) for lang, tree in game.messages().items()}, dice)
        for game in SYSTEMS.values()
    ]


def routes(dice: Dice, prefix: str) -> list[HTTPRouteHandler]:
    offered = tables(dice)
    return [
        *(handler for table in offered for handler in table.routes()),
        games.systems_route(offered, WORDS, prefix),
        *pages.Pages(WORDS).routes(),
    ]


def operations(handlers: list[HTTPRouteHandler]) -> list[Operation]:
    return [handler.opt["operation"] for handler in handlers if "operation" in handler.opt]


def create_app(settings: Settings, dice: Dice | None = None) -> Edge:
    handlers = routes(dice or SystemDice(), settings.public_url)
    document = contract.encoded(contract.document(operations(handlers), settings.public_url))
    failures = Failures(WORDS, settings.public_url, settings.max_body_bytes)
    app = Litestar(
        [*handlers, pages.contract_route(document)],
        openapi_config=None,
        request_max_body_size=settings.max_body_bytes,
        exception_handlers={HTTPException: failures.of_litestar, Refusal: failures.of_ours, Exception: failures.unforeseen},
        debug=False,
    )

    async def refuse(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
        request: Request[Any, Any, Any] = Request(scope, receive, send)  # type: ignore[arg-type]
        await failures.refused(request, refusal)(scope, receive, send)  # type: ignore[arg-type]

    return Edge(app, origins=settings.cors_origins, log=settings.access_log, refuse=refuse)  # type: ignore[arg-type]
