"""The log of a table, as pages, redacted for who reads it; and the state that it led to."""

import contextlib
import logging
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

import msgspec
from litestar.handlers import HTTPRouteHandler
from msgspec import UNSET, Meta, Struct, UnsetType, defstruct

from service.api import burn as burn_api
from service.api import characters as character_api
from service.api import decks as deck_api
from service.api import rolls as roll_api
from service.api import sessions as session_api
from service.api import sheets as sheet_api
from service.api.answers import MOST_TEXT, Answer, Text, joined, labelled, shortened
from service.api.operation import Call, Operation, encoder, rendered, route
from service.api.problems import Refusal
from service.api.room import Room
from service.api.sessions import Moment
from service.api.stream import EventStream, Reset
from service.api.tables import (
    SESSION,
    Command,
    Keyed,
    Play,
    Tables,
    data_type,
    refuse_in_url,
    session_id,
    shown,
    shown_type,
    token_of,
)
from service.errors import NotThere
from service.render.targets import Renderings
from service.store.live import Live
from service.store.log import Entry, Expired
from service.store.steps import LOG_ENTRIES, Busy, Seat, seat
from service.table import (
    burn,
    burn_sheets,
    cards,
    characters,
    decks,
    export,
    healing,
    hits,
    opponents,
    rolls,
    scene,
    session,
    sheets,
    state,
    undo,
)
from service.table.audience import Role, Visibility, sees
from service.table.clock import rfc3339
from service.table.records import Token
from service.table.turn import EVERYTHING, Turn
from service.words import Words

Said = Callable[[Any, Words], str]


log = logging.getLogger("emberdice")


class Kind(Struct, frozen=True):
    """A type of event: what its data are, and how it is said."""

    facts: type[Any]
    say: Said
    gm_only: bool = False
    rolled: bool = False
    secretly: str = "say.secret"
    """What everybody may read of facts that are not public."""


def _named(key: str) -> Said:
    return lambda facts, words: words(key, name=facts.name)


KINDS: dict[str, Kind] = {
    "sixd6.roll": Kind(rolls.TablePoolRoll, roll_api.say_pool, rolled=True),
    "sixd6.group_roll": Kind(rolls.GroupRoll, roll_api.say_group),
    "sixd6.damage": Kind(hits.TableWound, sheet_api.say_hit, rolled=True),
    "sixd6.group_damage": Kind(hits.GroupHit, sheet_api.say_group_hit),
    "sixd6.sheet": Kind(sheets.SheetFacts, sheet_api.say_sheet),
    "card.applied": Kind(cards.Applied, sheet_api.say_applied),
    "sixd6.healing": Kind(healing.HealingRoll, roll_api.say_healing, rolled=True),
    "sixd6.timer": Kind(healing.HealingStatusFacts, roll_api.say_status),
    "burn2d6.sheet": Kind(burn_sheets.BurnSheetFacts, burn_api.say_sheet),
    "burn2d6.roll": Kind(burn.TableActionRoll, burn_api.say_roll, rolled=True),
    "burn2d6.damage": Kind(burn.TableBurnWound, burn_api.say_hit),
    "burn2d6.surge": Kind(burn.SurgeSpent, burn_api.say_surge),
    "burn2d6.build": Kind(burn.TableBuild, burn_api.say_build),
    "opponent.put": Kind(opponents.OpponentFacts, burn_api.say_opponent),
    "opponent.burned": Kind(opponents.OpponentBurnedFacts, burn_api.say_burned),
    "opponent.deleted": Kind(opponents.OpponentFacts, burn_api.say_gone),
    "cards.drawn": Kind(decks.Drawn, deck_api.say_drawn, secretly="say.secret_draw"),
    "cards.discarded": Kind(decks.Discarded, deck_api.say_discarded),
    "cards.returned": Kind(decks.Returned, deck_api.say_returned),
    "deck.shuffled": Kind(decks.Shuffled, deck_api.say_shuffled),
    "deck.put": Kind(decks.DeckView, deck_api.say_view),
    "deck.deleted": Kind(decks.Shuffled, deck_api.say_deleted),
    "scene.ended": Kind(scene.SceneEnded, deck_api.say_scene),
    "character.put": Kind(characters.CharacterFacts, character_api.say_put),
    "character.deleted": Kind(characters.CharacterFacts, _named("table.character_deleted")),
    "undo": Kind(undo.TakenBack, lambda facts, words: words("table.undone", event=facts.undone)),
    "clock.changed": Kind(state.ClockFacts, session_api.say_clock),
    "session.changed": Kind(session.SessionFacts, lambda facts, words: words("table.changed")),
    "token.created": Kind(session.TokenFacts, lambda facts, words: words(f"table.token_created.{facts.role}"), gm_only=True),
    "token.deleted": Kind(session.TokenFacts, lambda facts, words: words("table.revoked"), gm_only=True),
}


class EventActor(Struct, frozen=True, kw_only=True):
    role: Role
    token: Annotated[str, Meta(max_length=32, description="Id of the token, not the token.")]
    label: Annotated[str, Meta(max_length=64)] | None


class EventBase(Struct, frozen=True, kw_only=True):
    id: Annotated[str, Meta(max_length=20)]
    at: Moment
    elapsed_seconds: Annotated[float, Meta(ge=0, description="Session time (R17).")]
    actor: EventActor
    character: Annotated[str, Meta(max_length=64)] | None
    idempotency_key: Annotated[str, Meta(max_length=128, description="Shown to who sent it, and to the gm.")] | None
    visibility: Visibility
    redacted: Annotated[bool, Meta(description="`data` is kept from this reader.")]
    text: Text
    renderings: Renderings | UnsetType = UNSET


DATA: dict[str, type[Any]] = {type_: data_type(kind.facts) for type_, kind in KINDS.items()}


def event_name(type_: str) -> str:
    return "".join(part.capitalize() for part in re.split(r"[._]", type_)) + "Event"


EVENTS: dict[str, type[Any]] = {
    type_: defstruct(
        event_name(type_),
        [("data", data | None)],
        bases=(EventBase,),
        frozen=True,
        kw_only=True,
        tag_field="type",
        tag=type_,
    )
    for type_, data in DATA.items()
}
AnyEvent: Any = None
for each in EVENTS.values():
    AnyEvent = each if AnyEvent is None else AnyEvent | each
AnyEvent = Annotated[
    AnyEvent, Meta(title="Event", description="Something that happened at the table, told apart by `type`.")
]


Streamed = Annotated[
    AnyEvent.__origin__ | Reset,
    Meta(title="StreamedEvent", description="What a stream sends: events, and `reset` last of all where it cannot go on."),
]


UrlToken = Annotated[
    str, Meta(min_length=1, max_length=100, description="A chat or observer token, for callers that send no headers.")
]
EVENT_ID = re.compile(r"[0-9]{1,15}")


MOST_TRIES = 20
"""Of an undo, at a table that is being played at the same time."""

MOST_SAID = 1_000
"""Worded entries that a worker keeps for its streams."""


class EventOrder(StrEnum):
    ASC = "asc"
    DESC = "desc"


class EventQuery(Struct, frozen=True, kw_only=True):
    after: Annotated[str, Meta(pattern=r"^[0-9]{1,15}(?![\s\S])", description="Id of the last event seen.")] | None = None
    limit: Annotated[int, Meta(ge=1, le=500)] = 100
    order: Annotated[EventOrder, Meta(description="`desc`: newest first; `after` then goes back in time.")] = EventOrder.ASC
    token: UrlToken | None = None


class StateQuery(Struct, frozen=True, kw_only=True):
    token: UrlToken | None = None


class UndoRequest(Keyed, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing to tell but, perhaps, a key."""


EventPage = joined(
    "EventPage",
    Answer,
    strict=False,
    more=(
        ("events", Annotated[list[AnyEvent], Meta(max_length=500)]),
        ("next", Annotated[str, Meta(max_length=20, description="Cursor for the next page.")] | None),
        ("has_more", bool),
    ),
)


def worded(entry: Entry, token: Token, words: Words) -> Any | None:
    """The event for its reader; None where it is not for this one at all."""
    event, kind = entry.event, KINDS.get(entry.event.type)
    if kind is None:  # of a newer version, beside which this one still runs
        return None
    if kind.gm_only and token.role is not Role.GM:
        return None
    mine = event.actor.token == token.id
    visibility = Visibility(event.visibility)
    open_to = token.role is not Role.CHAT or visibility is Visibility.PUBLIC
    whole = open_to and sees(visibility, role=token.role, is_roller=mine)
    facts, text = None, words(kind.secretly)
    if whole:
        try:
            facts = msgspec.convert(event.data, kind.facts, str_keys=True)
            text = shortened(said(kind, facts, words), MOST_TEXT)
        except msgspec.ValidationError as error:  # one entry that cannot be read must not hide all others
            log.warning("event %s of type %s cannot be read: %s", entry.id, event.type, error)
            facts, text = None, words("say.unreadable")
    return EVENTS[event.type](
        id=entry.id,
        at=rfc3339(event.at_ms // 1_000),
        elapsed_seconds=event.elapsed_ms / 1_000,
        actor=EventActor(role=event.actor.role, token=event.actor.token, label=event.actor.label),
        character=event.character,
        idempotency_key=event.key if mine or token.role is Role.GM else None,
        visibility=visibility,
        redacted=facts is None,
        text=text,
        data=None if facts is None else shown(DATA[event.type], facts, words),
    )


def said(kind: Kind, facts: Any, words: Words) -> str:
    """The event's sentence, after the label of a roll."""
    return labelled(kind.say(facts, words), getattr(facts, "label", None) if kind.rolled else None, words)


class EventLog:
    def __init__(self, tables: Tables, live: Live, room: Room) -> None:
        self._tables, self._log, self._live, self._room = tables, live.log, live, room
        self._said: dict[Any, bytes | None] = {}

    def routes(self) -> list[HTTPRouteHandler]:
        return [*self._tables.routes((STATE, EXPORT)), self._page(), self._one(), self._undo()]

    async def _token(self, call: Call, asked: Any) -> tuple[Seat, Token, Words, int]:
        """Who reads, in which words, and the session's version. Raises Unauthorized, NotAllowed."""
        at = seat(session_id(call), token_of(call, asked))
        done = await self._tables.store.look(at, lambda turn: (turn.token, turn.version - 1))
        token, version = done.facts
        refuse_in_url(call, asked, token)
        words = self._tables.words[call.presentation.lang or done.lang]
        call.headers["Content-Language"] = words.lang.value
        return at, token, words, version

    def _page(self) -> HTTPRouteHandler:
        async def play(call: Call, asked: EventQuery) -> Any:
            at, token, words, version = await self._token(call, asked)
            if call.presentation.stream:
                return self._stream(call, at, token, words, first_cursor(call, asked, version))
            try:
                events, cursor, has_more = await self._told(at.session, asked, lambda entry: worded(entry, token, words))
            except Expired:
                raise Refusal("cursor-expired") from None
            return EventPage(
                events=events,
                next=cursor,
                has_more=has_more,
                text=call.said("\n".join(each.text for each in events) or words("table.nothing_happened")),
                lang=words.lang,
            )

        return route(
            self._operation(
                "/events",
                id="listEvents",
                summary="Read the log",
                about="What happened at the table, redacted for who reads it. The newest 500 steps are kept.",
                query=EventQuery,
                answer=EventPage,
                streams=Streamed,
                example={"limit": 3},
                refuses=("unauthorized", "forbidden", "cursor-expired", "store-unavailable"),
            ),
            play,
        )

    async def _told(
        self, session: str, asked: EventQuery, tell: Callable[[Entry], Any]
    ) -> tuple[list[Any], str | None, bool]:
        """As many events as were asked for, the cursor behind them, and whether more follow: what is not for this reader is
        passed over. Raises Expired."""
        read = self._log.after if asked.order is EventOrder.ASC else self._log.before
        events: list[Any] = []
        cursor, at_once = asked.after, asked.limit
        while True:
            page = await read(session, cursor, at_once)
            for entry in page.entries:
                told = tell(entry)
                if told is not None and len(events) == asked.limit:
                    return events, cursor, True
                cursor = entry.id
                if told is not None:
                    events.append(told)
            if not page.has_more:
                return events, cursor, False
            at_once = LOG_ENTRIES

    def _stream(self, call: Call, at: Seat, token: Token, words: Words, cursor: int) -> EventStream:
        """What happened after the cursor, then what happens. Each entry is worded once for readers of one kind."""
        store, said = self._tables.store, self._said

        def event(entry: Entry) -> bytes | None:
            mine = entry.event.actor.token == token.id
            key = (at.session, entry.id, token.role, mine, words.lang, call.presentation)
            if key not in said:
                told = worded(entry, token, words)
                said[key] = None if told is None else encoder.encode(rendered(call, told))
                if len(said) > MOST_SAID:
                    said.pop(next(iter(said)))
            return said[key]

        async def still_allowed() -> None:
            await store.look(at, lambda turn: turn.token, counts=False)

        async def last() -> str:
            return str((await store.look(at, lambda turn: turn.version - 1, counts=False)).facts)

        return EventStream(self._live.follow(at.session, cursor), event, still_allowed, last, self._room)

    def _undo(self) -> HTTPRouteHandler:
        async def play(call: Call, asked: UndoRequest) -> Any:
            at, wanted = seat(session_id(call), token_of(call)), call.request.path_params["event"]
            for _ in range(MOST_TRIES):
                await self._tables.store.look(at, lambda turn: turn.allow(), counts=False)
                entry = await self._log.one(at.session, wanted) if EVENT_ID.fullmatch(wanted) else None
                try:
                    take_back = _no_such_event if entry is None else await self._taking_back(at.session, entry)
                except Expired:  # it has just gone from the log
                    take_back = _no_such_event
                with contextlib.suppress(undo.Moved):
                    return await self._tables.answer(call, UNDO, asked, take_back)
            raise Busy

        return route(self._tables.operation(UNDO, self._tables.answer_type(UNDO)), play)

    async def _taking_back(self, session: str, entry: Entry) -> Play:
        """The play that takes the entry back, as long as the log is as it was read here."""
        page = await self._log.after(session, entry.id, LOG_ENTRIES)
        newest = page.entries[-1].number if page.entries else entry.number
        return partial(_take_back, step_of(entry), [step_of(each) for each in page.entries], newest)

    def _one(self) -> HTTPRouteHandler:
        async def play(call: Call, asked: None) -> Any:
            at, token, words, _ = await self._token(call, asked)
            identifier = at.session
            wanted = call.request.path_params["event"]
            entry = (
                await self._log.one(identifier, wanted)
                if wanted.isascii() and wanted.isdigit() and len(wanted) < 16
                else None
            )
            event = worded(entry, token, words) if entry else None
            if event is None:
                raise Refusal("not-found")
            return event

        return route(
            self._operation(
                "/events/{event:str}",
                id="readEvent",
                summary="Read one event again",
                about="In any language, or as text.",
                answer=AnyEvent,
                refuses=("unauthorized", "not-found", "store-unavailable"),
            ),
            play,
        )

    def _operation(self, path: str, **told: Any) -> Operation:
        return Operation(
            method="GET",
            path=SESSION + path,
            tag="Table",
            words=self._tables.words,
            spoken=self._tables.spoken,
            fresh=True,
            failed=self._tables.limits.count_failure,
            language=self._tables.language,
            bearer=True,
            **told,
        )


def _take_back(
    step: undo.Step, later: list[undo.Step], newest: int, turn: Turn, path: Mapping[str, str], asked: UndoRequest
) -> undo.TakenBack:
    return undo.undo(turn, step, later, newest)


def _no_such_event(turn: Turn, path: Mapping[str, str], asked: UndoRequest) -> undo.TakenBack:
    """Asked of the store all the same: a repetition under a key is answered also when the log forgot the event."""
    raise NotThere("event", path["event"][:20])


def step_of(entry: Entry) -> undo.Step:
    before = msgspec.json.decode(entry.before, type=dict[str, str | None])
    undoes = entry.event.data["undone"] if entry.event.type == "undo" else None
    return undo.Step(entry.id, entry.event.type, before, undoes)


def first_cursor(call: Call, asked: EventQuery, version: int) -> int:
    """The event last seen, else now; now, too, for who has seen more than there is (a server can lose its last steps)."""
    return min(int(last_event_id(call) or asked.after or version), version)


def last_event_id(call: Call) -> str | None:
    """Where a stream that was cut off goes on: who connects again has the same `after` in the address as at first."""
    given = call.request.headers.get("last-event-id")
    if not given:
        return None
    if not EVENT_ID.fullmatch(given):
        raise Refusal("invalid-request", faults=(("header.Last-Event-ID", "bad_cursor", {}),))
    return given


UNDO = Command(
    id="undoEvent",
    method="POST",
    path="/events/{event:str}/undo",
    summary="Take an event back",
    about="What it changed gets the values from before. Refused while a later event touched the same things. The gm's.",
    body=UndoRequest,
    facts=undo.TakenBack,
    play=lambda turn, path, asked: None,
    say=lambda facts, words: words("table.undone", event=facts.undone),
    wants=lambda path, asked: (EVERYTHING,),
    refuses=("not-found", "cannot-undo", "quota-exceeded"),
    example={},
)

EXPORT = Command(
    id="exportSession",
    method="GET",
    path="/export",
    summary="Export the table",
    about="Everything but its tokens and its log; POST /v1/sessions takes it back as `import`. The gm's.",
    facts=export.TableExport,
    answer=shown_type(export.TableExport, name="ExportedTable"),
    play=lambda turn, path, asked: export.export(turn),
    say=lambda facts, words: words("table.exported"),
    wants=lambda path, asked: (EVERYTHING,),
    changes=False,
)

STATE = Command(
    id="readState",
    method="GET",
    path="/state",
    summary="Read the whole table",
    about="Characters with cards and healing limits, decks, clock, marks; `last_event` is a cursor for the log.",
    query=StateQuery,
    facts=state.TableState,
    play=lambda turn, path, asked: state.state(turn),
    say=lambda facts, words: words.count("table.state", len(facts.characters), role=words(f"table.role.{facts.role}")),
    wants=lambda path, asked: (EVERYTHING,),
    changes=False,
)
