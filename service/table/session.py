"""Opening, reading and changing a session, and the tokens that open it."""

import hashlib
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from service.dice import Chance
from service.errors import InvalidValue, NotAllowed, NotThere, QuotaExceeded
from service.systems.sixd6.healing import RollLimit, TierSize
from service.table import characters, clock, decks
from service.table.audience import Role
from service.table.names import numbered, slug
from service.table.records import Character, Counts, Head, Marks, ProvidedFaces, Reshuffle, TableSettings, Token
from service.table.turn import Turn
from service.words import NO_CONTROLS, Lang

MOST_TOKENS = 50

SessionName = Annotated[str, Meta(min_length=1, max_length=100, pattern=NO_CONTROLS)]
TokenId = Annotated[str, Meta(max_length=32)]
Names = Annotated[tuple[characters.GivenName, ...], Meta(max_length=characters.MOST_CHARACTERS)]


class SessionFacts(Struct, frozen=True, kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=100)] | None
    lang: Lang
    settings: TableSettings
    created_ms: int
    event: str | None = None


class TableRules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a table decides for itself: rulings R16, A7, R14, and who may send faces thrown elsewhere."""

    tier_size: TierSize | None = None
    reshuffle: Reshuffle = Reshuffle.WHEN_EMPTY
    roll_limit: RollLimit = RollLimit.PER_CARE
    provided_faces: ProvidedFaces = ProvidedFaces.EVERYONE


class SettingsChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A merge patch: what is absent stays, null resets."""

    tier_size: TierSize | UnsetType | None = UNSET
    reshuffle: Reshuffle | UnsetType | None = UNSET
    roll_limit: RollLimit | UnsetType | None = UNSET
    provided_faces: ProvidedFaces | UnsetType | None = UNSET


class TokenFacts(Struct, frozen=True, kw_only=True):
    id: TokenId
    role: Role
    label: Annotated[str, Meta(max_length=64)] | None
    characters: tuple[characters.Identifier, ...] | None
    created_ms: int
    event: str | None = None


class TokenList(Struct, frozen=True, kw_only=True):
    tokens: tuple[TokenFacts, ...]


def opened(head: Head, names: tuple[str, ...], *, running: bool, chance: Chance) -> dict[str, Any]:
    """The first records of a session. Raises InvalidValue for a name that cannot be kept or stands twice."""
    dealt, counts = decks.game_decks(Counts(), chance)
    seated: dict[str, Character] = {}
    for at, name in enumerate(names):
        try:
            kept = characters.free_name("", name, seated)
        except InvalidValue as wrong:
            raise InvalidValue(f"characters[{at}]", wrong.problem, **wrong.data) from None
        identifier = slug(kept) or "character"
        while identifier in seated or identifier == "character":
            identifier = numbered(identifier, counts.next_character)
            counts = replace(counts, next_character=counts.next_character + 1)
        seated[identifier] = Character(name=kept)
    return {
        "head": head,
        "clock": clock.started(head.created_ms, running=running),
        "scene": Marks(),
        "counts": counts,
        **dealt,
        **{f"c:{identifier}": character for identifier, character in seated.items()},
    }


def facts_of(head: Head, event: str | None = None) -> SessionFacts:
    return SessionFacts(name=head.name, lang=head.lang, settings=head.settings, created_ms=head.created_ms, event=event)


def change(turn: Turn, told: dict[str, Any], settings: SettingsChange | UnsetType | None) -> SessionFacts:
    """A merge patch of name, language and settings."""
    turn.allow()
    defaults = {"name": None, "lang": Lang.EN}
    head = replace(turn.head, **{each: defaults[each] if value is None else value for each, value in told.items()})
    if settings is not UNSET:
        head = replace(head, settings=_patched(head.settings, settings))
    if head == turn.head:
        return facts_of(head)  # nothing was to be changed
    turn.put("head", head)
    facts = facts_of(head, turn.next_event)
    turn.tell("session.changed", facts)
    return facts


def _patched(settings: TableSettings, told: SettingsChange | None) -> TableSettings:
    if told is None:
        return TableSettings()
    given = {each: getattr(told, each) for each in told.__struct_fields__ if getattr(told, each) is not UNSET}
    defaults = TableSettings()
    return replace(settings, **{each: getattr(defaults, each) if value is None else value for each, value in given.items()})


# Tokens.


def token_facts(token: Token, event: str | None = None) -> TokenFacts:
    return TokenFacts(
        id=token.id,
        role=token.role,
        label=token.label,
        characters=token.characters,
        created_ms=token.created_ms,
        event=event,
    )


def mint(turn: Turn, secret: str, told: Token) -> TokenFacts:
    """Raises NotThere for a character that is not there, QuotaExceeded, InvalidValue."""
    turn.allow()
    if told.characters is not None and told.role not in (Role.PLAYER, Role.CHAT):
        raise InvalidValue("characters", "only_for_players")
    if len(set(told.characters or ())) < len(told.characters or ()):
        raise InvalidValue("characters", "repeated")
    for n, each in enumerate(told.characters or ()):
        characters.known(turn, each, f"characters[{n}]")
    if len(turn.fields("k:")) >= MOST_TOKENS:
        raise QuotaExceeded("tokens", MOST_TOKENS)
    turn.put(f"k:{hashlib.sha256(secret.encode()).hexdigest()}", told)
    facts = token_facts(told, turn.next_event)
    turn.tell("token.created", facts)
    return facts


def tokens(turn: Turn) -> TokenList:
    turn.allow()
    every: list[Token] = [turn.get(name) for name in turn.fields("k:")]
    return TokenList(tokens=tuple(token_facts(each) for each in sorted(every, key=lambda each: (each.created_ms, each.id))))


def revoke(turn: Turn, identifier: str) -> TokenFacts:
    """Raises NotThere, and NotAllowed for the last gm token."""
    turn.allow()
    every: dict[str, Token] = {name: turn.get(name) for name in turn.fields("k:")}
    found = next((name for name, token in every.items() if token.id == identifier), None)
    if found is None:
        raise NotThere("token", identifier[:64])
    gms = [token for token in every.values() if token.role is Role.GM]
    if every[found].role is Role.GM and len(gms) == 1:
        raise NotAllowed("last_gm")
    turn.put(found, None)
    facts = token_facts(every[found], turn.next_event)
    turn.tell("token.deleted", facts)
    return facts
