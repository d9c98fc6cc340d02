"""Sessions, their tokens and their clock."""

import secrets
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from litestar.handlers import HTTPRouteHandler
from msgspec import UNSET, Meta, Struct, UnsetType, field
from msgspec.structs import replace

from service.api.answers import Answer, with_facts
from service.api.decoding import wrong_members
from service.api.operation import Call, Operation, route
from service.api.problems import Refusal, duration
from service.api.tables import SESSION, Command, Keyed, Tables, session_id, token_of
from service.store.steps import FIRST_LIFE_MS, Wish, seat, token_digest
from service.table import clock as session_clock
from service.table import session
from service.table.audience import Role
from service.table.characters import CharacterFacts, Identifier, facts_of
from service.table.clock import ClockAction, rfc3339
from service.table.export import TableExport
from service.table.imports import NotOfType, imported
from service.table.records import Character, Head, TableSettings, Token
from service.table.session import SessionFacts, SessionName, SettingsChange, TableRules, TokenFacts, TokenId, TokenList
from service.table.state import ClockFacts, clock_facts
from service.table.turn import Turn
from service.words import NO_CONTROLS, Lang, Words

Moment = Annotated[str, Meta(max_length=20, description="RFC 3339, UTC.")]
Secret = Annotated[str, Meta(max_length=64, description="Shown in this answer only: the service keeps its digest.")]
SessionId = Annotated[str, Meta(max_length=20)]
TokenLabel = Annotated[str, Meta(min_length=1, max_length=64, pattern=NO_CONTROLS)]
MOST_ADVANCE_S = 31_536_000


class ClockState(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"


class ImportedTable(TableExport, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An export as it was answered; its sentence is not read."""

    text: Annotated[str, Meta(max_length=10_000)] = ""
    lang: Lang | None = None


class OpenRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: SessionName | None = None
    lang: Lang = Lang.EN
    settings: TableRules = TableRules()
    characters: session.Names = ()
    clock: ClockState = ClockState.RUNNING
    imported: Annotated[
        ImportedTable | None,
        Meta(description="What an export gave: its settings, characters and clock are taken, not these."),
    ] = field(name="import", default=None)


class SessionView(Answer, frozen=True, kw_only=True):
    """`lang` is the session's own language; the header Content-Language tells that of the text."""

    id: SessionId
    name: SessionName | None
    settings: TableRules
    created_at: Moment
    expires_at: Moment


class FirstTokens(Struct, frozen=True, kw_only=True):
    gm: Secret
    player: Secret


class OpenedSession(SessionView, frozen=True, kw_only=True):
    """`lang` is the session's own language; the header Content-Language tells that of the text."""

    characters: list[CharacterFacts]
    tokens: FirstTokens


class SessionChange(Keyed, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A merge patch: what is absent stays, null resets."""

    name: SessionName | UnsetType | None = UNSET
    lang: Lang | UnsetType | None = UNSET
    settings: SettingsChange | UnsetType | None = UNSET


class Deleted(Answer, frozen=True, kw_only=True):
    id: SessionId


class TokenRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    role: Role
    label: TokenLabel | None = None
    characters: Annotated[tuple[Identifier, ...], Meta(min_length=1, max_length=100)] | None = None


class TokenView(Struct, frozen=True, kw_only=True):
    id: TokenId
    role: Role
    label: TokenLabel | None
    characters: tuple[Identifier, ...] | None
    created_at: Moment


class TokenAnswer(Answer, frozen=True, kw_only=True):
    id: TokenId
    role: Role
    label: TokenLabel | None
    characters: tuple[Identifier, ...] | None
    created_at: Moment


class MintedToken(TokenAnswer, frozen=True, kw_only=True):
    token: Secret


class TokenListAnswer(Answer, frozen=True, kw_only=True):
    tokens: list[TokenView]


class ClockRequest(Keyed, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`seconds` goes with advance, and only with it."""

    action: ClockAction
    seconds: Annotated[int, Meta(ge=1, le=MOST_ADVANCE_S)] | None = None


class Sessions:
    def __init__(self, tables: Tables, most_import_bytes: int) -> None:
        self._tables, self._store, self._limits = tables, tables.store, tables.limits
        self._most_import_bytes = most_import_bytes

    def routes(self) -> list[HTTPRouteHandler]:
        return [self._open(), self._read(), self._change(), self._delete(), self._mint(), *self._tables.routes(COMMANDS)]

    def _operation(self, path: str, **told: Any) -> Operation:
        refuses = (*told.pop("refuses", ()), "store-unavailable")
        return Operation(
            path=path,
            tag="Table",
            words=self._tables.words,
            spoken=self._tables.spoken,
            refuses=refuses,
            fresh=True,
            failed=self._limits.count_failure if told.get("bearer") else None,
            language=self._tables.language if told.get("bearer") else None,
            **told,
        )

    def _words(self, call: Call, lang: Lang) -> Words:
        """In which the answer speaks: the caller's, else the table's."""
        words = self._tables.words[call.presentation.lang or lang]
        call.headers["Content-Language"] = words.lang.value
        return words

    def _open(self) -> HTTPRouteHandler:
        async def play(call: Call, asked: OpenRequest) -> OpenedSession:
            _refuse_key(call)
            identifier = secrets.token_hex(10)
            now_ms = await self._store.now_ms(identifier)
            await self._limits.count_creation(call.address)
            first = {role: new_secret(role) for role in (Role.GM, Role.PLAYER)}
            tokens = {
                token_digest(secret): Token(id=secrets.token_hex(6), role=role, created_ms=now_ms)
                for role, secret in first.items()
            }
            gm = next(token.id for token in tokens.values() if token.role is Role.GM)
            records = self._records(asked, now_ms, gm) | {f"k:{digest}": token for digest, token in tokens.items()}
            head: Head = records["head"]
            await self._limits.count_session(identifier, now_ms + FIRST_LIFE_MS, now_ms)
            await self._store.create(identifier, records, now_ms)
            call.headers["Location"] = f"{self._tables.prefix}/v1/sessions/{identifier}"
            words = self._words(call, head.lang)
            seated = [facts_of(f[2:], each) for f, each in records.items() if isinstance(each, Character)]
            return OpenedSession(
                **_session_members(identifier, session.facts_of(head), now_ms + FIRST_LIFE_MS),
                text=call.said(words.count("table.opened", len(seated))),
                characters=seated,
                tokens=FirstTokens(gm=first[Role.GM], player=first[Role.PLAYER]),
            )

        operation = self._operation(
            "/v1/sessions",
            id="openSession",
            method="POST",
            summary="Open a table",
            about="The tokens are shown in this answer only. A session lives for a day until its second use.",
            body=OpenRequest,
            answer=OpenedSession,
            most_body_bytes=self._most_import_bytes,
            status=201,
            below=lambda answer: (answer.id, answer.tokens.gm, answer.tokens.player),
            gives={"session": "id"},
            example={"name": "Vendredi", "lang": "fr", "settings": {"tier_size": 3}, "characters": ["Zoé", "Max"]},
        )
        return route(operation, play)

    def _records(self, asked: OpenRequest, now_ms: int, gm: str) -> dict[str, Any]:
        """The first records of a session: of a new table, or of one that was exported."""
        if asked.imported is not None:
            try:
                records = imported(asked.imported, now_ms, owner=gm)
            except NotOfType as wrong:
                place = f"body.{wrong.field}"
                faults = wrong_members(wrong.value, wrong.kind, place) or [(place, "impossible", {})]
                raise Refusal("invalid-request", faults=tuple(faults)) from None
            told = {name: getattr(asked, name) for name in ("name",) if getattr(asked, name) is not None}
            return {**records, "head": replace(records["head"], **told)}
        head = Head(
            name=asked.name,
            lang=asked.lang,
            settings=with_facts(TableSettings, asked.settings),
            created_ms=now_ms,
        )
        running = asked.clock is ClockState.RUNNING
        return session.opened(head, asked.characters, running=running, chance=self._store.chance)

    def _read(self) -> HTTPRouteHandler:
        async def play(call: Call, asked: None) -> SessionView:
            identifier = session_id(call)
            done = await self._store.look(seat(identifier, token_of(call)), lambda turn: session.facts_of(turn.head))
            return self._view(call, identifier, done.facts, done.expires_ms, done.lang)

        operation = self._operation(
            SESSION,
            id="readSession",
            method="GET",
            summary="Read a session",
            about="Its settings, and how long it lives without being used.",
            answer=SessionView,
            refuses=("unauthorized",),
            bearer=True,
        )
        return route(operation, play)

    def _view(self, call: Call, identifier: str, facts: SessionFacts, expires_ms: int, lang: Lang) -> SessionView:
        words = self._words(call, lang)
        text = words("table.session", name=facts.name or identifier)
        return SessionView(**_session_members(identifier, facts, expires_ms), text=call.said(text))

    def _change(self) -> HTTPRouteHandler:
        command = Command(
            id="changeSession",
            method="PATCH",
            path="",
            summary="Change a session",
            about="A merge patch: what is absent stays, null resets.",
            body=SessionChange,
            facts=SessionFacts,
            play=_change_session,
            say=lambda facts, words: words("table.changed"),
            answer=SessionView,
            example={"settings": {"tier_size": 4}},
        )

        async def play(call: Call, asked: SessionChange) -> SessionView:
            identifier = session_id(call)
            done = await self._tables.run(call, command, asked, _change_session)
            if done.replayed:
                call.headers["Idempotency-Replayed"] = "true"
            now = await self._store.look(seat(identifier, token_of(call)), lambda turn: None, counts=False)
            view = self._view(call, identifier, done.facts, now.expires_ms, done.lang)
            words = self._words(call, done.lang)
            return replace(view, text=call.said(words("table.changed" if done.facts.event else "table.unchanged")))

        return route(self._tables.operation(command, SessionView), play)

    def _delete(self) -> HTTPRouteHandler:
        async def play(call: Call, asked: None) -> Deleted:
            identifier = session_id(call)
            done = await self._store.look(seat(identifier, token_of(call)), lambda turn: turn.allow())
            await self._store.delete(identifier)
            await self._limits.release(identifier)
            words = self._words(call, done.lang)
            return Deleted(id=identifier, text=call.said(words("table.deleted")), lang=words.lang)

        operation = self._operation(
            SESSION,
            id="deleteSession",
            method="DELETE",
            summary="Delete a session",
            about="All of it, at once and for good; replies kept for repetitions lapse within a day, open to nobody.",
            answer=Deleted,
            refuses=("unauthorized", "forbidden"),
            bearer=True,
        )
        return route(operation, play)

    def _mint(self) -> HTTPRouteHandler:
        async def play(call: Call, asked: TokenRequest) -> MintedToken:
            _refuse_key(call)
            identifier = session_id(call)
            secret, token_id = new_secret(asked.role), secrets.token_hex(6)

            def minted(turn: Turn) -> TokenFacts:
                told = Token(
                    id=token_id,
                    role=asked.role,
                    label=asked.label,
                    characters=asked.characters,
                    created_ms=turn.now_ms,
                )
                return session.mint(turn, secret, told)

            done = await self._store.play(seat(identifier, token_of(call)), Wish(play=minted, facts=TokenFacts))
            call.headers["Location"] = f"{self._tables.prefix}/v1/sessions/{identifier}/tokens/{token_id}"
            words = self._words(call, done.lang)
            text = call.said(words(f"table.minted.{asked.role}"))
            return MintedToken(**_token_members(done.facts), token=secret, text=text, lang=words.lang)

        operation = self._operation(
            SESSION + "/tokens",
            id="mintToken",
            method="POST",
            summary="Mint a token",
            about="Shown in this answer only. `characters` binds a player or chat token to those it may act for.",
            body=TokenRequest,
            answer=MintedToken,
            status=201,
            refuses=("unauthorized", "forbidden", "not-found", "quota-exceeded", "busy"),
            bearer=True,
            below=lambda answer: (answer.token,),
            gives={"token": "id"},
            example={"role": "chat", "label": "nightbot"},
        )
        return route(operation, play)


def _change_session(turn: Turn, path: Mapping[str, str], asked: SessionChange) -> SessionFacts:
    told = {name: getattr(asked, name) for name in ("name", "lang") if getattr(asked, name) is not UNSET}
    return session.change(turn, told, asked.settings)


def _refuse_key(call: Call) -> None:
    if call.request.headers.get("idempotency-key") is not None:
        raise Refusal("invalid-request", faults=(("header.Idempotency-Key", "no_key_here", {}),))


def new_secret(role: Role) -> str:
    """256 random bits, and what they are for."""
    return f"ember_{role}_{secrets.token_urlsafe(32)}"


def _session_members(identifier: str, facts: SessionFacts, expires_ms: int) -> dict[str, Any]:
    return {
        "id": identifier,
        "name": facts.name,
        "lang": facts.lang,
        "settings": with_facts(TableRules, facts.settings),
        "created_at": rfc3339(facts.created_ms // 1_000),
        "expires_at": rfc3339(expires_ms // 1_000),
    }


def _token_members(facts: TokenFacts) -> dict[str, Any]:
    return {
        "id": facts.id,
        "role": facts.role,
        "label": facts.label,
        "characters": facts.characters,
        "created_at": rfc3339(facts.created_ms // 1_000),
    }


def _show_token(kind: type[Any], facts: TokenFacts, words: Words, carried: dict[str, Any]) -> Any:
    return kind(**_token_members(facts), **carried)


def _show_tokens(kind: type[Any], facts: TokenList, words: Words, carried: dict[str, Any]) -> Any:
    return kind(tokens=[TokenView(**_token_members(each)) for each in facts.tokens], **carried)


def _move_clock(turn: Turn, path: Mapping[str, str], asked: ClockRequest) -> ClockFacts:
    turn.allow()
    moved = session_clock.moved(turn.clock, asked.action, (asked.seconds or 0) * 1_000, turn.now_ms)
    if moved == turn.clock:
        return clock_facts(turn)
    turn.put("clock", moved)
    facts = clock_facts(turn, turn.next_event)
    turn.tell("clock.changed", facts)
    return facts


def _checked_clock(turn: Turn, path: Mapping[str, str], asked: ClockRequest) -> ClockFacts:
    if (asked.action is ClockAction.ADVANCE) != (asked.seconds is not None):
        raise Refusal("invalid-request", faults=(("body.seconds", "seconds_with_advance", {}),))
    return _move_clock(turn, path, asked)


def say_clock(facts: ClockFacts, words: Words) -> str:
    state = "running" if facts.running else "paused"
    return words(f"table.clock_{state}", elapsed=duration(int(facts.elapsed_seconds)))


COMMANDS = (
    Command(
        id="listTokens",
        method="GET",
        path="/tokens",
        summary="List the tokens",
        about="Without their secrets, which nobody has but their holders.",
        facts=TokenList,
        answer=TokenListAnswer,
        show=_show_tokens,
        play=lambda turn, path, asked: session.tokens(turn),
        say=lambda facts, words: words.count("table.tokens", len(facts.tokens)),
        changes=False,
    ),
    Command(
        id="readOwnToken",
        method="GET",
        path="/tokens/me",
        summary="Read the token that asks",
        about="Its role, and the characters it may act for.",
        facts=TokenFacts,
        answer=TokenAnswer,
        show=_show_token,
        play=lambda turn, path, asked: session.token_facts(turn.token),
        say=lambda facts, words: words(f"table.me.{facts.role}"),
        changes=False,
    ),
    Command(
        id="revokeToken",
        method="DELETE",
        path="/tokens/{token:str}",
        summary="Revoke a token",
        about="At once. The last gm token stays.",
        facts=TokenFacts,
        answer=TokenAnswer,
        show=_show_token,
        play=lambda turn, path, asked: session.revoke(turn, path["token"]),
        say=lambda facts, words: words("table.revoked"),
        refuses=("not-found",),
    ),
    Command(
        id="readClock",
        method="GET",
        path="/clock",
        summary="Read the session's clock",
        about="Session time (R17), which the healing limits are counted in.",
        facts=ClockFacts,
        play=lambda turn, path, asked: clock_facts(turn),
        say=say_clock,
        changes=False,
    ),
    Command(
        id="moveClock",
        method="POST",
        path="/clock",
        summary="Pause, resume or advance the clock",
        about="It never goes back (R17). Pausing a paused clock is no error.",
        body=ClockRequest,
        facts=ClockFacts,
        play=_checked_clock,
        say=say_clock,
        example={"action": "advance", "seconds": 28_800},
    ),
)
