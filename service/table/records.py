"""What a session remembers: one record a field of its hash. Everything else is derived."""

from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from service.dice import FacesSource
from service.systems.burn2d6.action import Stat
from service.systems.sixd6.character import Aptitude, Qualification
from service.systems.sixd6.damage import Composure, Grit, Protection, Threat
from service.systems.sixd6.healing import MOST_MS, Level, RollLimit, TierSize, Timers, Track
from service.table.audience import Role, Visibility
from service.words import Lang

FORMAT = 1
"""Version of the records. Older ones are brought up to date when they are read (upgrade.py)."""


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


Milliseconds = Annotated[int, Meta(ge=0, le=MOST_MS)]


class Head(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Field `head`."""

    format: int = FORMAT
    name: str | None = None
    lang: Lang = Lang.EN
    settings: TableSettings = TableSettings()
    created_ms: Milliseconds


class Counts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Field `counts`: what an undo never takes back."""

    next_card: Annotated[int, Meta(ge=1, le=MOST_MS)] = 1
    """Number of the next card instance: never used twice in a session's life."""
    next_character: Annotated[int, Meta(ge=1, le=MOST_MS)] = 1
    keys: dict[int, int] = field(default_factory=dict)
    """Idempotency keys taken, by hour since the epoch, for the quota."""


class Clock(Struct, frozen=True, omit_defaults=True):
    """Field `clock` (R17). Session time is `elapsed_ms`, plus real time since `since_ms` while it runs."""

    elapsed_ms: Milliseconds = 0
    since_ms: Milliseconds | None = None


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


class Secret(Struct, frozen=True):
    """Who may see a card that was not drawn openly."""

    visibility: Visibility
    roller: str


class Deck(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Field `d:` + its id. Cards are numbers, `first` and up; an instance's id is the deck's id, a hyphen, its number."""

    first: Annotated[int, Meta(ge=1, le=MOST_MS)]
    name: str | None = None
    copies: tuple[Annotated[int, Meta(ge=1, le=500)], ...] = ()
    """Copies of each of an own deck's cards; empty for the game's decks, which have one of each."""
    pile: tuple[int, ...] = ()
    """Top first."""
    discard: tuple[int, ...] = ()
    """Last discarded first."""
    active: dict[int, str] = field(default_factory=dict)
    """Who holds which card: a character's id, or nothing for the table."""
    hidden: dict[int, Secret] = field(default_factory=dict)
    """Active cards that were drawn in secret."""


class OwnCard(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One text of field `t:` + the deck's id, which is read only when a text is wanted."""

    card: Annotated[str, Meta(pattern=r"^[a-z0-9-]{1,64}(?![\s\S])")]
    name: str
    effect: str = ""


class Marks(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Field `scene`: what grave cards leave on the table (A7), until the scene ends (R20) or their card is discarded."""

    suspects: tuple[str, ...] = ()
    authority: str | None = None
    chosen: dict[str, str] = field(default_factory=dict)
    """Whom a card picked, by the card's id."""
    breakdown: str | None = None
    """Card of the team breakdown in force."""
    last_qualification: Qualification | None = None
    patch: str | None = None
    """Card of the unstable patch in force."""
    synchronised: Aptitude | None = None


class SixD6Sheet(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Field `s:` + the character's id. `version` is the session's version that last changed it."""

    version: int
    aptitudes: dict[Aptitude, int] = field(default_factory=dict)
    qualifications: dict[Qualification, int] = field(default_factory=dict)
    damage: Level = 0
    trauma: Level = 0
    protections: tuple[Protection, ...] = ()

    def base(self, aptitude: Aptitude, qualification: Qualification) -> int:
        """Base dice of a pool (A1)."""
        return self.aptitudes.get(aptitude, 0) + self.qualifications.get(qualification, 0)


class PendingHit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Field `p:` + the hit's id: a hit that waits for its soak, or for its conversions; or one that is over."""

    character: str
    die: Threat
    protections: tuple[Protection, ...] = ()
    """Set against the hit when it struck."""
    faces: tuple[int, ...] = ()
    """All faces so far, the damage die's first: with them the rule gives the same hit again."""
    soak: Grit | Composure | None = None
    """Rolled already: only the conversions are left to choose."""
    source: FacesSource = FacesSource.SERVICE
    visibility: Visibility = Visibility.PUBLIC
    roller: str = ""
    resolved: bool = False


class Burnable(Struct, frozen=True, omit_defaults=True):
    value: int
    burned: int = 0


class Slot(Struct, frozen=True, omit_defaults=True):
    name: str
    value: int
    burned: int = 0


class Tally(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Burns since the story began (B5)."""

    stat_burns: int = 0
    slot_burns: int = 0
    stats_burned_out: int = 0


class BurnSheet(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Field `b:` + the character's id. `version` is the session's version that last changed it."""

    version: int
    stats: dict[Stat, Burnable] = field(default_factory=dict)
    slots: tuple[Slot, ...] = ()
    surge: bool = True
    tally: Tally = Tally()


class Opponent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Field `o:` + its id (B4)."""

    name: str
    burn_max: int
    action_difficulty: int = 0
    burns: int = 0


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
