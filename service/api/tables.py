"""How an operation of a session is offered: the token read, the step played, the facts worded for their reader."""

import hashlib
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, get_args, get_origin

from litestar import Request
from litestar.handlers import HTTPRouteHandler
from msgspec import Meta, Struct, to_builtins
from msgspec.structs import fields

from service.api.answers import Answer, Text, joined, labelled, with_facts
from service.api.decoding import Spoken
from service.api.operation import Call, Operation, encoder, placed, route
from service.api.problems import Refusal, refusal_of
from service.errors import GameError, NotAllowed, Unauthorized
from service.store.connection import StoreUnavailable
from service.store.limits import Limits, TooManyRequests
from service.store.steps import Busy, Done, Store, Wish, seat
from service.systems.sixd6 import complications
from service.table.audience import Role, Visibility, sees
from service.table.decks import DealtCard
from service.table.records import Token
from service.table.turn import ANY_VERSION, NO_VERSION, Turn
from service.words import Lang, Words

SESSION = "/v1/sessions/{session:str}"
SESSION_ID = re.compile(r"[0-9a-f]{20}")
KEY = re.compile(r"[\x21-\x7e]{1,128}")
VERSION = re.compile(r'"(0|[1-9][0-9]{0,14})"')
TAG = "Table"

IdempotencyKey = Annotated[
    str, Meta(pattern=r"^[\u0021-\u007e]{1,128}(?![\s\S])", description="Or as the header Idempotency-Key.")
]


class Keyed(Struct, frozen=True, kw_only=True):
    """A repetition under the same key gets the same answer, and changes nothing again, for 24 hours. Of more than 1,000 keys
    at one table, the further ones are kept for a minute."""

    idempotency_key: IdempotencyKey | None = None


Holder = Annotated[str, Meta(max_length=64, description="Whom it is active for; null: the table, or not active.")]


class ShownCard(Struct, frozen=True, kw_only=True):
    """One card of the table, in the reader's language. `id` is this card, `card` its text in the deck."""

    id: Annotated[str, Meta(max_length=80)]
    card: Annotated[str, Meta(max_length=64)]
    name: Annotated[str, Meta(max_length=64)]
    effect: Annotated[str, Meta(max_length=300)]
    deck: Annotated[str, Meta(max_length=64)]
    character: Holder | None


class RedactedAnswer(Answer, frozen=True, kw_only=True):
    """What the others may see of a roll or draw that is not public: that it was made."""

    redacted: Annotated[bool, Meta(extra_json_schema={"const": True})]
    visibility: Visibility
    public_text: Text
    event: Annotated[str, Meta(max_length=20)]


def shown_card(card: DealtCard, lang: Lang) -> ShownCard:
    name, effect = card.name, card.effect
    if card.deck in GAME_DECKS:
        worded = complications.cards(complications.Deck(card.deck))[card.card].worded(lang)
        name, effect = worded.name, worded.effect
    return ShownCard(id=card.id, card=card.card, name=name, effect=effect, deck=card.deck, character=card.holder or None)


def card_names(cards: tuple[DealtCard, ...], words: Words) -> str:
    return words.listed(shown_card(each, words.lang).name for each in cards) or "—"


GAME_DECKS = frozenset(each.value for each in complications.Deck)


SHOWN: dict[str, type[Any]] = {}


def shown_type(
    facts: type[Struct],
    *,
    carried: type[Answer] | None = Answer,
    name: str | None = None,
    without: tuple[str, ...] = (),
) -> type[Any]:
    """The answer of a table's facts: cards with their texts, and what every answer carries. Made once for each name."""
    called = name or facts.__name__.removesuffix("Facts")
    if called not in SHOWN:
        worded = {each.name: kind for each in fields(facts) if (kind := _worded_type(each.type)) is not None}
        parts = (carried, facts) if carried else (facts,)
        SHOWN[called] = joined(called, *parts, strict=False, about=facts.__doc__, without=without, **worded)
    return SHOWN[called]


def data_type(facts: type[Struct]) -> type[Any]:
    """The facts inside another answer or an event: cards with their texts, nothing carried."""
    name = f"{facts.__name__.removesuffix('Facts')}Data"
    return shown_type(facts, carried=None, name=name, without=("roller", "created_ms"))


def _worded_type(type_: Any) -> Any:
    """What a member's type becomes when its cards are worded; None where it has none."""
    if type_ is DealtCard:
        return ShownCard
    item = _item(type_)
    if item is DealtCard:
        return list[ShownCard]
    if item is not None and any(_worded_type(each.type) is not None for each in fields(item)):
        return list[data_type(item)]  # type: ignore[misc]  # a type made above
    return None


def _item(type_: Any) -> Any:
    """The Struct that a tuple holds, if it holds Structs."""
    if get_origin(type_) is Annotated:
        type_ = get_args(type_)[0]
    item = get_args(type_)[0] if get_origin(type_) is tuple else None
    return item if isinstance(item, type) and issubclass(item, Struct) else None


def shown(kind: type[Any], facts: Struct, words: Words, **carried: object) -> Any:
    """The facts as an answer, their cards worded."""
    said = {name: _worded(type_, getattr(facts, name), words) for name, type_ in _to_word(type(facts))}
    return with_facts(kind, facts, **said, **carried)


@cache
def _to_word(facts: type[Struct]) -> tuple[tuple[str, Any], ...]:
    """Members of the facts that hold cards, and their types."""
    return tuple((each.name, each.type) for each in fields(facts) if _worded_type(each.type) is not None)


def _worded(type_: Any, value: Any, words: Words) -> Any:
    if type_ is DealtCard:
        return shown_card(value, words.lang)
    item = _item(type_)
    if item is DealtCard:
        return [shown_card(card, words.lang) for card in value]
    return [shown(data_type(item), each, words) for each in value]


Play = Callable[[Turn, Mapping[str, str], Any], Any]


class Command(Struct, frozen=True, kw_only=True):
    """An operation of a session. `play` gets the turn, the path's members and what was asked."""

    id: str
    method: str
    path: str
    summary: str
    about: str
    facts: type[Any]
    play: Play
    say: Callable[[Any, Words], str]
    body: type[Any] | None = None
    query: type[Any] | None = None
    form: type[Any] | None = None
    wants: Callable[[Mapping[str, str], Any], tuple[str, ...]] = lambda path, asked: ()
    refuses: tuple[str, ...] = ()
    status: int = 200
    changes: bool = True
    fresh: bool = True
    answer: type[Any] | None = None
    others: tuple[type[Any], ...] = ()
    """Further shapes that the answer can have."""
    show: Callable[[type[Any], Any, Words, dict[str, Any]], Any] | None = None
    example: Mapping[str, object] | None = None
    visible: bool = False
    """Whether the facts have a visibility, and may be redacted for their reader."""
    secretly: str = "say.secret"
    """What everybody may read of facts that are not public."""
    creates: Callable[[Any], bool] = lambda facts: False
    """Whether the step made something new: 201, and its address in Location."""
    created_path: Callable[[Mapping[str, str], Any], str] | None = None
    root: str = SESSION
    text_by_default: bool = False
    """A one-liner: a GET that plays, with its token in the address and its answer as text."""
    system: str | None = None
    gives: Mapping[str, str] = {}
    """Members of later paths that the answer names."""
    versioned: bool = False
    """Answers carry the version as an ETag, and a change may name the one it was decided on in If-Match."""


class Tables:
    def __init__(self, store: Store, limits: Limits, words: Mapping[Lang, Words], spoken: Spoken, prefix: str) -> None:
        self.store, self.limits, self.words, self.spoken, self.prefix = store, limits, words, spoken, prefix

    def routes(self, commands: tuple[Command, ...]) -> list[HTTPRouteHandler]:
        return [self.route(command) for command in commands]

    def route(self, command: Command) -> HTTPRouteHandler:
        answer = self.answer_type(command)

        async def play(call: Call, asked: Any) -> Any:
            return await self.answer(call, command, asked, command.play)

        return route(self.operation(command, answer), play)

    async def answer(self, call: Call, command: Command, asked: Any, play: Play) -> Any:
        done = await self.run(call, command, asked, play)
        words = self.words[call.presentation.lang or done.lang]
        return self._answered(call, command, self.answer_type(command), done, words)

    def answer_type(self, command: Command) -> type[Any]:
        return command.answer or shown_type(command.facts)

    def operation(self, command: Command, answer: type[Any]) -> Operation:
        versioned = ("precondition-failed",) if command.versioned and command.changes else ()
        keyed = ("idempotency-key-reused", "quota-exceeded") if command.changes else ()
        return Operation(
            id=command.id,
            method=command.method,
            path=command.root + command.path,
            tag=TAG,
            summary=command.summary,
            about=command.about,
            answer=answer,
            also=(*command.others, *((RedactedAnswer,) if command.visible else ())),
            words=self.words,
            spoken=self.spoken,
            query=command.query,
            body=command.body,
            form=command.form,
            refuses=("unauthorized", "forbidden", *keyed, *versioned, *command.refuses, "store-unavailable", "busy"),
            fresh=command.fresh,
            example=command.example,
            status=command.status,
            versioned=command.versioned,
            text_by_default=command.text_by_default,
            may_create=command.created_path is not None,
            failed=self.limits.count_failure,
            language=self.language,
            bearer=True,
            keyed=command.changes,
            gives={**command.gives, **({"event": "event"} if command.changes and _tells_event(answer) else {})},
        )

    async def language(self, request: Request[Any, Any, Any]) -> Lang | None:
        """The session's, for who holds a token of it."""
        session = str(request.path_params.get("session", ""))
        token = request.headers.get("authorization", "").partition(" ")[2].strip() or request.query_params.get("token", "")
        if not SESSION_ID.fullmatch(session) or not token:
            return None
        try:
            done: Done[Lang] = await self.store.look(seat(session, token), lambda turn: turn.head.lang, counts=False)
        except (Unauthorized, StoreUnavailable, TooManyRequests):
            return None
        return done.lang

    async def run(self, call: Call, command: Command, asked: Any, play: Play) -> Done[Any]:
        path, session = call.request.path_params, session_id(call)
        if command.text_by_default:
            refuse_prefetch(call.request.headers)
        at = seat(session, token_of(call, asked))
        wants = command.wants(path, asked)
        try:
            if not command.changes:
                return await self.store.look(at, lambda turn: _seen(call, turn, asked, play(turn, path, asked)), wants)
            key = key_of(call, asked)
            wish = Wish(
                play=lambda turn: play(turn, path, asked),
                facts=command.facts,
                wants=wants,
                key=key,
                fingerprint=_fingerprint(command, path, asked) if key else "",
                expects=expected_version(call) if command.versioned else None,
            )
            done = await self.store.play(at, wish)
            await self.limits.used(session, done.now_ms + self.store.life_ms)
            return done
        except Unauthorized:
            raise
        except (Busy, StoreUnavailable, TooManyRequests):
            call.request.scope["table_lang"] = self.store.language(session)  # type: ignore[typeddict-unknown-key]
            raise
        except GameError as error:
            refusal = placed(refusal_of(error, call.place), call)
            refusal.lang = self.store.language(session)
            raise refusal from error

    def _answered(self, call: Call, command: Command, answer: type[Any], done: Done[Any], words: Words) -> Any:
        facts = done.facts
        if done.replayed:
            call.headers["Idempotency-Replayed"] = "true"
        if command.created_path and (command.status == 201 or command.creates(facts)):
            call.headers["Location"] = self.prefix + command.created_path(call.request.path_params, facts)
        call.made.append(201 if command.creates(facts) else command.status)
        call.headers["Content-Language"] = words.lang.value
        if command.versioned:
            call.headers["ETag"] = f'"{facts.version}"'
        if command.visible and facts.visibility is not Visibility.PUBLIC:
            return self._secret(call, command, answer, done, words)
        return self._whole(call, command, answer, facts, words)

    def _whole(self, call: Call, command: Command, answer: type[Any], facts: Any, words: Words, **more: Any) -> Any:
        sentence = command.say(facts, words)
        if command.visible or command.text_by_default:
            sentence = labelled(sentence, getattr(facts, "label", None), words)
        carried = {"text": call.said(sentence), "lang": words.lang, **more}
        if command.system:
            carried["system"] = command.system
        return (command.show or _shown)(answer, facts, words, carried)

    def _secret(self, call: Call, command: Command, answer: type[Any], done: Done[Any], words: Words) -> Any:
        """All of it for whom it is meant; a chat token always gets the public form."""
        facts, token = done.facts, done.token
        public = call.said(words(command.secretly))
        is_roller = token.id == facts.roller
        if token.role is not Role.CHAT and sees(facts.visibility, role=token.role, is_roller=is_roller):
            return self._whole(call, command, answer, facts, words, public_text=public)
        return RedactedAnswer(
            redacted=True,
            visibility=facts.visibility,
            public_text=public,
            event=facts.event,
            text=public,
            lang=words.lang,
        )


def _tells_event(answer: Any) -> bool:
    return isinstance(answer, type) and issubclass(answer, Struct) and any(each.name == "event" for each in fields(answer))


def _shown(kind: type[Any], facts: Any, words: Words, carried: dict[str, Any]) -> Any:
    return shown(kind, facts, words, **carried)


def session_id(call: Call) -> str:
    """Raises Unauthorized for what cannot be a session's id."""
    identifier: str = call.request.path_params["session"]
    if not SESSION_ID.fullmatch(identifier):
        raise Unauthorized
    return identifier


def _seen(call: Call, turn: Turn, asked: Any, facts: Any) -> Any:
    refuse_in_url(call, asked, turn.token)
    return facts


PREFETCHES = (("purpose", "prefetch"), ("sec-purpose", "prefetch"), ("x-moz", "prefetch"), ("x-purpose", "preview"))


def refuse_prefetch(headers: Mapping[str, str]) -> None:
    """A browser or a chat that looks ahead must not play. Best effort: the narrow token is the protection."""
    if any(word in headers.get(name, "").lower() for name, word in PREFETCHES):
        raise Refusal("forbidden", faults=(("header.Purpose", "prefetch", {}),))


def refuse_in_url(call: Call, asked: Any, token: Token) -> None:
    """Addresses are kept in logs and histories: only tokens that may do little are read from them."""
    in_url = getattr(asked, "token", None) and not call.request.headers.get("authorization")
    if in_url and token.role not in (Role.CHAT, Role.OBSERVER):
        raise NotAllowed("in_url")


def token_of(call: Call, asked: Any = None) -> str:
    """The bearer token, or where the operation takes it one in the address. Raises Unauthorized where there is none."""
    in_url = getattr(asked, "token", None)
    if in_url and not call.request.headers.get("authorization"):
        return str(in_url)
    scheme, _, token = call.request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthorized
    return token.strip()


def key_of(call: Call, asked: Any) -> str | None:
    header = call.request.headers.get("idempotency-key")
    own = getattr(asked, "idempotency_key", None)
    if header is None:
        return own
    if not KEY.fullmatch(header) or (own is not None and own != header):
        raise Refusal("invalid-request", faults=(("header.Idempotency-Key", "bad_key", {}),))
    return header


def expected_version(call: Call) -> int | None:
    """What If-Match names: one version in quotes, or * for any that is there. If-None-Match: * wants none."""
    if call.request.headers.get("if-none-match", "").strip() == "*":
        return NO_VERSION
    given = call.request.headers.get("if-match")
    if given is None:
        return None
    if given.strip() == "*":
        return ANY_VERSION
    version = VERSION.fullmatch(given.strip())
    if version is None:
        raise Refusal("invalid-request", faults=(("header.If-Match", "bad_version", {}),))
    return int(version[1])


def _fingerprint(command: Command, path: Mapping[str, str], asked: Any) -> str:
    told = to_builtins(asked, str_keys=True, order="deterministic") if asked is not None else {}
    told = {name: value for name, value in told.items() if name != "idempotency_key"} if isinstance(told, dict) else told
    said = encoder.encode([command.id, dict(sorted(path.items())), told])
    return hashlib.sha256(said).hexdigest()[:32]
