"""The log of a table, as pages, redacted for who reads it; and the state that it led to."""

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from litestar.handlers import HTTPRouteHandler
from msgspec import Meta, Struct, defstruct

from service.api import characters as character_api
from service.api import decks as deck_api
from service.api import rolls as roll_api
from service.api import sessions as session_api
from service.api import sheets as sheet_api
from service.api.answers import Answer, Text, joined, labelled
from service.api.operation import Call, Operation, route
from service.api.problems import Refusal
from service.api.sessions import Moment
from service.api.tables import SESSION, Command, Tables, data_type, session_id, shown, token_of
from service.store.log import Entry, Expired, Log
from service.store.steps import seat
from service.table import cards, characters, decks, healing, hits, rolls, scene, session, sheets, state
from service.table.audience import Role, Visibility, sees
from service.table.clock import rfc3339
from service.table.records import Token
from service.table.turn import EVERYTHING
from service.words import Words

Said = Callable[[Any, Words], str]


class Kind(Struct, frozen=True):
    """A type of event: what its data are, and how it is said."""

    facts: type[Any]
    say: Said
    gm_only: bool = False
    rolled: bool = False


def _named(key: str) -> Said:
    return lambda facts, words: words(key, name=facts.name)


KINDS: dict[str, Kind] = {
    "sixd6.roll": Kind(rolls.TablePoolRoll, roll_api.say_pool, rolled=True),
    "sixd6.group_roll": Kind(rolls.GroupRoll, roll_api.say_group),
    "sixd6.damage": Kind(hits.TableWound, sheet_api.say_hit, rolled=True),
    "sixd6.sheet": Kind(sheets.SheetFacts, sheet_api.say_sheet),
    "card.applied": Kind(cards.Applied, sheet_api.say_applied),
    "sixd6.healing": Kind(healing.HealingRoll, roll_api.say_healing, rolled=True),
    "sixd6.timer": Kind(healing.HealingStatusFacts, roll_api.say_status),
    "cards.drawn": Kind(decks.Drawn, deck_api.say_drawn),
    "cards.discarded": Kind(decks.Discarded, deck_api.say_discarded),
    "cards.returned": Kind(decks.Returned, deck_api.say_returned),
    "deck.shuffled": Kind(decks.Shuffled, deck_api.say_shuffled),
    "deck.put": Kind(decks.DeckView, deck_api.say_view),
    "deck.deleted": Kind(decks.Shuffled, deck_api.say_deleted),
    "scene.ended": Kind(scene.SceneEnded, deck_api.say_scene),
    "character.put": Kind(characters.CharacterFacts, character_api.say_put),
    "character.deleted": Kind(characters.CharacterFacts, _named("table.character_deleted")),
    "clock.changed": Kind(state.ClockFacts, session_api.say_clock),
    "session.changed": Kind(session.SessionFacts, lambda facts, words: words("table.changed")),
    "token.created": Kind(session.TokenFacts, lambda facts, words: words(f"table.minted.{facts.role}"), gm_only=True),
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


DATA: dict[str, type[Any]] = {type_: data_type(kind.facts) for type_, kind in KINDS.items()}


def event_name(type_: str) -> str:
    return "".join(part.title() for part in type_.replace(".", " ").split()) + "Event"


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


EVENT_ID = re.compile(r"[0-9]{1,15}")


class Order(StrEnum):
    ASC = "asc"
    DESC = "desc"


class EventQuery(Struct, frozen=True, kw_only=True):
    after: Annotated[str, Meta(pattern=r"^[0-9]{1,15}(?![\s\S])", description="Id of the last event seen.")] | None = None
    limit: Annotated[int, Meta(ge=1, le=500)] = 100
    order: Annotated[Order, Meta(description="`desc`: newest first; `after` then goes back in time.")] = Order.ASC


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
    event, kind = entry.event, KINDS[entry.event.type]
    if kind.gm_only and token.role is not Role.GM:
        return None
    mine = event.actor.token == token.id
    visibility = Visibility(event.visibility)
    open_to = token.role is not Role.CHAT or visibility is Visibility.PUBLIC
    whole = open_to and sees(visibility, role=token.role, is_roller=mine)
    facts = msgspec.convert(event.data, kind.facts, str_keys=True) if whole else None
    text = words("say.secret") if facts is None else said(kind, facts, words)
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
    def __init__(self, tables: Tables, log: Log) -> None:
        self._tables, self._log = tables, log

    def routes(self) -> list[HTTPRouteHandler]:
        return [self._tables.route(STATE), self._page(), self._one()]

    async def _token(self, call: Call) -> tuple[str, Token, Words]:
        identifier = session_id(call)
        done = await self._tables.store.look(seat(identifier, token_of(call)), lambda turn: turn.token)
        return identifier, done.facts, self._tables.words[call.presentation.lang or done.lang]

    def _page(self) -> HTTPRouteHandler:
        async def play(call: Call, asked: EventQuery) -> Any:
            identifier, token, words = await self._token(call)
            read = self._log.after if asked.order is Order.ASC else self._log.before
            try:
                page = await read(identifier, asked.after, asked.limit)
            except Expired:
                raise Refusal("cursor-expired") from None
            events = [told for entry in page.entries if (told := worded(entry, token, words)) is not None]
            return EventPage(
                events=events,
                next=page.entries[-1].id if page.entries else asked.after,
                has_more=page.has_more,
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
                refuses=("unauthorized", "cursor-expired", "store-unavailable"),
            ),
            play,
        )

    def _one(self) -> HTTPRouteHandler:
        async def play(call: Call, asked: None) -> Any:
            identifier, token, words = await self._token(call)
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
            bearer=True,
            **told,
        )


STATE = Command(
    id="readState",
    method="GET",
    path="/state",
    summary="Read the whole table",
    about="Characters with cards and healing limits, decks, clock, marks; `last_event` is a cursor for the log.",
    facts=state.TableState,
    play=lambda turn, path, asked: state.state(turn),
    say=lambda facts, words: words.count("table.state", len(facts.characters), role=words(f"table.role.{facts.role}")),
    wants=lambda path, asked: (EVERYTHING,),
    changes=False,
)
