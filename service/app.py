"""The composition root: settings and dice in, an ASGI application out. Nothing else builds parts."""

import asyncio
import contextlib
import signal
from functools import partial
from pathlib import Path
from typing import NamedTuple

from litestar import Litestar
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler

from service.api import burn, characters, contract, decks, games, log, pages, quick, rolls, sessions, sheets
from service.api.edge import Edge, Scope, Send
from service.api.failures import Failures
from service.api.operation import Operation
from service.api.patience import Receive
from service.api.problems import Refusal
from service.api.request import PlainRequest
from service.api.room import Room
from service.api.tables import Tables
from service.dice import Chance, Dice, SystemDice
from service.errors import GameError
from service.metrics import Metrics
from service.settings import Settings
from service.store.connection import StoreUnavailable, connect, connect_for_news
from service.store.limits import Limits, TooManyRequests
from service.store.live import Live
from service.store.log import Log
from service.store.steps import Busy, Store
from service.systems import SYSTEMS
from service.words import Words, load

DAY_MS = 86_400_000
MESSAGES = load(Path(__file__).parent / "messages")
WORDS = {lang: Words(lang, tree) for lang, tree in MESSAGES.items()}


class Memory(NamedTuple):
    """All that needs Redis."""

    store: Store
    limits: Limits
    live: Live
    room: Room


def tables(dice: Dice) -> list[games.Table]:
    """Every game with its words: the service's own, and its own on top."""
    return [
        games.Table(game, {lang: Words(lang, MESSAGES[lang], tree) for lang, tree in game.messages().items()}, dice)
        for game in SYSTEMS.values()
    ]


def routes(memory: Memory, settings: Settings) -> list[HTTPRouteHandler]:
    offered = tables(memory.store.chance)
    return [
        *(handler for table in offered for handler in table.routes()),
        games.systems_route(offered, WORDS, settings.public_url),
        *table_routes(memory, offered, settings),
        *pages.Pages(WORDS, memory.store).routes(),
    ]


def table_routes(memory: Memory, played: list[games.Table], settings: Settings) -> list[HTTPRouteHandler]:
    """Everything that needs a session, in the words of the service and of the game that it plays."""
    at_table = {
        each.game.id: Tables(memory.store, memory.limits, each.words, each.spoken, settings.public_url) for each in played
    }
    offered = at_table["sixd6"]
    return [
        *sessions.Sessions(offered, settings.max_import_bytes).routes(),
        *offered.routes((*characters.COMMANDS, *rolls.COMMANDS, *sheets.COMMANDS, *decks.COMMANDS)),
        *offered.routes(quick.commands(offered.spoken.vocabulary.find)),
        *at_table["burn2d6"].routes(burn.COMMANDS),
        *log.EventLog(offered, memory.live, memory.room).routes(),
    ]


def operations(handlers: list[HTTPRouteHandler]) -> list[Operation]:
    return [handler.opt["operation"] for handler in handlers if "operation" in handler.opt]


def end_streams_on_signal(live: Live) -> None:
    """SIGUSR1, which the parent sends first when it stops: an open stream would hold the server."""
    loop = asyncio.get_running_loop()
    with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # not in a main thread, or not on a Unix
        loop.add_signal_handler(signal.SIGUSR1, lambda: loop.create_task(live.close()))


def create_app(settings: Settings, chance: Chance | None = None) -> Edge:
    """The whole application. Nothing is connected before the first request that needs the store."""
    redis = connect(settings.redis_url)
    metrics = Metrics() if settings.metrics else None
    store = Store(
        redis,
        chance or SystemDice(),
        life_ms=settings.session_days * DAY_MS,
        most_per_second=(settings.steps_per_second, settings.token_steps_per_second),
        metrics=metrics,
    )
    limits = Limits(
        redis,
        creations=settings.creations_per_minute,
        failures=settings.failures_per_minute,
        sessions=settings.max_sessions,
    )
    live = Live(Log(redis), lambda: connect_for_news(settings.redis_url))
    told = (metrics.listeners.set,) if metrics else ()
    room = Room(settings.max_streams, settings.streams_per_address, *told)
    handlers = routes(Memory(store, limits, live, room), settings)
    document = contract.encoded(contract.document(operations(handlers), settings.public_url))
    failures = Failures(WORDS, settings.public_url, settings.max_body_bytes)
    app = Litestar(
        [*handlers, pages.contract_route(document), *pages.metrics_routes(metrics, settings.metrics_token)],
        openapi_config=None,
        logging_config=None,
        request_max_body_size=settings.max_body_bytes,
        request_class=PlainRequest,
        exception_handlers={
            HTTPException: failures.of_litestar,
            Refusal: failures.of_ours,
            GameError: failures.of_game,
            TooManyRequests: failures.of_limits,
            StoreUnavailable: failures.of_store,
            Busy: failures.of_store,
            Exception: failures.unforeseen,
        },
        on_startup=[partial(end_streams_on_signal, live)],
        on_shutdown=[live.close, redis.aclose],
        debug=False,
    )

    async def refuse(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
        request = PlainRequest(scope, receive, send)  # type: ignore[arg-type]
        await failures.refused(request, refusal)(scope, receive, send)

    return Edge(app, settings, metrics, refuse)  # type: ignore[arg-type]
