"""What a session remembers: one record a field of its hash. Everything else is derived."""

from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from service.systems.sixd6.healing import Level, RollLimit, TierSize, Timers, Track
from service.words import Lang

FORMAT = 1
"""Version of the records. Older ones are brought up to date when they are read (upgrade.py)."""


class Role(StrEnum):
    GM = "gm"
    PLAYER = "player"
    CHAT = "chat"
    OBSERVER = "observer"


class Reshuffle(StrEnum):
    WHEN_EMPTY = "when_empty"
    NEVER = "never"


class ProvidedFaces(StrEnum):
    """Who may send faces thrown elsewhere."""

    EVERYONE = "everyone"
    GM = "gm"
    NOBODY = "nobody"


class CharacterKind(StrEnum):
    PC = "pc"
    NPC = "npc"


class TableSettings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a table can decide for itself (rulings R14, R16, A7; design: faces from outside)."""

    tier_size: TierSize | None = None
    reshuffle: Reshuffle = Reshuffle.WHEN_EMPTY
    roll_limit: RollLimit = RollLimit.PER_CARE
    provided_faces: ProvidedFaces = ProvidedFaces.EVERYONE


class Head(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Field `head`."""

    format: int = FORMAT
    name: str | None = None
    lang: Lang = Lang.EN
    settings: TableSettings = TableSettings()
    created_ms: int


class Counts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Field `counts`: what an undo never takes back."""

    next_card: int = 1
    """Number of the next card instance: never used twice in a session's life."""
    next_character: int = 1
    keys: dict[int, int] = field(default_factory=dict)
    """Idempotency keys taken, by hour since the epoch, for the quota."""


class Clock(Struct, frozen=True, omit_defaults=True):
    """Field `clock` (R17). Session time is `elapsed_ms`, plus real time since `since_ms` while it runs."""

    elapsed_ms: int = 0
    since_ms: int | None = None


class Token(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Field `k:` + the token's SHA-256."""

    id: str
    role: Role
    label: str | None = None
    characters: tuple[str, ...] | None = None
    created_ms: int


class Character(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Field `c:` + its id."""

    name: str
    kind: CharacterKind = CharacterKind.PC
    present: bool = True
    seat: int | None = None
    player: str | None = None
    meta: dict[str, str] = field(default_factory=dict)
    levels: dict[Track, Level] = field(default_factory=dict)
    """Tracks as last told with a healing roll, where no sheet holds them."""
    timers: Timers = Timers()


class Deck(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Field `d:` + its id. Cards are numbers, `first` and up; an instance's id is the deck's id, a hyphen, its number."""

    first: int
    name: str | None = None
    copies: tuple[int, ...] = ()
    """Copies of each of an own deck's cards; empty for the game's decks, which have one of each."""
    pile: tuple[int, ...] = ()
    """Top first."""
    discard: tuple[int, ...] = ()
    """Last discarded first."""
    active: dict[int, str] = field(default_factory=dict)
    """Who holds which card: a character's id, or nothing for the table."""


class OwnCard(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One text of field `t:` + the deck's id, which is read only when a text is wanted."""

    card: Annotated[str, Meta(pattern=r"^[a-z0-9-]{1,64}(?![\s\S])")]
    name: str
    effect: str = ""


class Marks(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Field `scene`: what grave cards leave on the table until the scene ends (R20)."""

    suspects: tuple[str, ...] = ()


class Actor(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who did it, as the log keeps it."""

    role: Role
    token: str
    label: str | None = None


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One entry of the log, written with the change that it tells of."""

    type: str
    at_ms: int
    elapsed_ms: int
    actor: Actor
    character: str | None = None
    key: str | None = None
    visibility: str = "public"
    data: Any = None
    """The facts, as JSON objects."""
