"""One step of a session while it is played: what was read, what it changes, what it tells the log. No I/O."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from service.dice import Tape
from service.errors import NotAllowed, VersionMoved
from service.systems.sixd6 import complications
from service.table.audience import Role
from service.table.clock import elapsed_ms
from service.table.names import no_id
from service.table.records import (
    Actor,
    BurnSheet,
    Character,
    Clock,
    Counts,
    Deck,
    Event,
    Head,
    Marks,
    Opponent,
    OwnCard,
    PendingHit,
    SixD6Sheet,
    Token,
)

T = TypeVar("T")

ID = re.compile(r"[a-z0-9-]{1,64}")

NO_VERSION = 0
ANY_VERSION = -1
"""What a caller expects who wants the thing only to be there."""
EVERYTHING = "*"
"""Asks for every field but the texts of own decks."""

TYPES: dict[str, Any] = {
    "head": Head,
    "clock": Clock,
    "scene": Marks,
    "counts": Counts,
    "k:": Token,
    "c:": Character,
    "d:": Deck,
    "t:": tuple[OwnCard, ...],
    "s:": SixD6Sheet,
    "p:": PendingHit,
    "b:": BurnSheet,
    "o:": Opponent,
}


class Unread(Exception):
    """The play needs a field that was not read: read it, and play again."""

    def __init__(self, field: str) -> None:
        super().__init__(field)
        self.field = field


@cache
def _decoder(type_: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type_)


def type_of(field: str) -> Any:
    return TYPES[field if field in TYPES else field[:2]]


def is_record(field: str) -> bool:
    """Whether a field of the hash is one of ours: the store keeps its own numbers beside them."""
    return field in TYPES or field[:2] in TYPES


class Records(Mapping[str, Any]):
    """Fields as they were read, decoded when they are looked at."""

    def __init__(self, raw: dict[str, bytes | None], *, whole: bool) -> None:
        self.raw, self.whole = raw, whole
        self._decoded: dict[str, Any] = {}

    def __getitem__(self, field: str) -> Any:
        if field not in self._decoded:
            self.need(field)
            raw = self.raw.get(field)
            self._decoded[field] = None if raw is None else _decoder(type_of(field)).decode(raw)
        return self._decoded[field]

    def need(self, field: str) -> None:
        """Raises Unread for a field that was not read."""
        if field not in self.raw and not (self.whole and not field.startswith("t:")):
            raise Unread(field)

    def __iter__(self) -> Iterator[str]:
        if not self.whole:
            raise Unread(EVERYTHING)
        return iter(field for field, raw in self.raw.items() if raw is not None and is_record(field))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Turn:
    """`now_ms` is Redis' time and never goes back; `version` is the one that a change would make."""

    def __init__(
        self,
        records: Records,
        *,
        now_ms: int,
        version: int,
        token: Token,
        dice: Tape,
        key: str | None = None,
        expects: int | None = None,
    ) -> None:
        self._records, self._expects = records, expects
        self.now_ms, self.version, self.token, self.dice, self.key = now_ms, version, token, dice, key
        self.changes: dict[str, Any] = {}
        """New values by field; None removes the field."""
        self.event: Event | None = None

    # Reading.

    def get(self, field: str) -> Any:
        return self.changes[field] if field in self.changes else self._records[field]

    def fields(self, prefix: str) -> list[str]:
        """Names of the fields that start so and have a value."""
        names = dict.fromkeys([*self._records, *self.changes])
        return [name for name in names if name.startswith(prefix) and self.get(name) is not None]

    @property
    def head(self) -> Head:
        head: Head = self.get("head")
        return head

    @property
    def clock(self) -> Clock:
        clock: Clock = self.get("clock")
        return clock

    @property
    def elapsed_ms(self) -> int:
        return elapsed_ms(self.clock, self.now_ms)

    def character(self, identifier: str, field: str | None = None) -> Character:
        """Raises NotThere, naming `field`, with the nearest ids."""
        character: Character | None = self.get(f"c:{identifier}") if ID.fullmatch(identifier) else None
        if character is None:
            there = {each: (known.name,) for each, known in self.characters().items()}
            raise no_id("character", identifier, there, field)
        return character

    def characters(self) -> dict[str, Character]:
        return {name[2:]: self.get(name) for name in sorted(self.fields("c:"))}

    def deck(self, identifier: str) -> Deck:
        """Raises NotThere, with the nearest ids."""
        deck: Deck | None = self.get(f"d:{identifier}") if ID.fullmatch(identifier) else None
        if deck is None:
            of_game = complications.deck_words()
            there = {each: of_game.get(each) or (known.name or each,) for each, known in self.decks().items()}
            raise no_id("deck", identifier, there)
        return deck

    def decks(self) -> dict[str, Deck]:
        return {name[2:]: self.get(name) for name in sorted(self.fields("d:"))}

    def expect(self, version: int) -> None:
        """Raises VersionMoved where the caller expects another version of what it is about to change; 0: it is not there."""
        fits = version > 0 if self._expects == ANY_VERSION else self._expects in (None, version)
        if not fits:
            raise VersionMoved(version)

    # Who may.

    def allow(self, *roles: Role) -> None:
        """Raises NotAllowed unless the token has one of the roles; the gm may always."""
        if self.token.role is not Role.GM and self.token.role not in roles:
            raise NotAllowed("role", (Role.GM, *roles))

    def allow_for(self, character: str) -> None:
        """Raises NotAllowed unless the token may act for the character: unbound tokens for any, bound ones for theirs."""
        self.allow(Role.PLAYER, Role.CHAT)
        if self.token.characters is not None and character not in self.token.characters:
            raise NotAllowed("character")

    # Writing.

    def put(self, field: str, value: Struct | tuple[Struct, ...] | None) -> None:
        """Raises Unread for a field that was not read: the log keeps what was there before."""
        self._records.need(field)
        self.changes[field] = value

    @property
    def next_event(self) -> str:
        """Id that the step's event will have: the version that it makes."""
        return str(self.version)

    def tell(self, type_: str, facts: Struct, *, character: str | None = None, visibility: str = "public") -> None:
        """Log the step; each step tells one thing."""
        self.event = Event(
            type=type_,
            at_ms=self.now_ms,
            elapsed_ms=self.elapsed_ms,
            actor=Actor(role=self.token.role, token=self.token.id, label=self.token.label),
            character=character,
            key=self.key,
            visibility=visibility,
            data=facts,
        )
