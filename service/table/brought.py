"""Records from elsewhere, as an import brings them: read as strictly as the requests that make such records, and in
their bounds. What is kept already is read by its own types (records.py), however it came there."""

from typing import Annotated, Any

from msgspec import Meta, Struct, field

from service.dice import MOST_DICE, FacesSource
from service.systems.sixd6 import complications
from service.systems.sixd6.character import Aptitude, Qualification
from service.systems.sixd6.damage import Composure, Protection, Threat
from service.systems.sixd6.healing import MOST_MS, TWO_HOURS_MS, Care, Level, Track
from service.table import burn_sheets, characters, decks, healing, opponents, session, sheets
from service.table.audience import Visibility
from service.table.characters import Identifier
from service.table.decks import CardId
from service.table.records import FORMAT, Milliseconds
from service.words import Lang

MOST_COUNTED = MOST_MS // 2
"""Half of what can be read is left for the steps to come."""

Number = Annotated[int, Meta(ge=1, le=MOST_COUNTED)]
Elapsed = Annotated[int, Meta(ge=0, le=MOST_COUNTED)]
Rolled = Annotated[int, Meta(ge=-TWO_HOURS_MS, le=MOST_COUNTED)]
Cards = Annotated[tuple[Number, ...], Meta(max_length=decks.MOST_CARDS)]
Copies = Annotated[tuple[decks.Copies, ...], Meta(min_length=1, max_length=decks.MOST_CARDS)]
Holder = Annotated[str, Meta(max_length=64)]
Face = Annotated[int, Meta(ge=1, le=12)]
Version = Annotated[int, Meta(ge=0, le=MOST_MS)]


class Brought(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing that is brought is left out in silence."""


class Head(Brought, frozen=True, kw_only=True):
    format: Annotated[int, Meta(ge=1, le=FORMAT)] = FORMAT
    name: session.SessionName | None = None
    lang: Lang = Lang.EN
    settings: session.TableRules = session.TableRules()
    created_ms: Milliseconds


class Clock(Brought, frozen=True, kw_only=True):
    elapsed_ms: Elapsed = 0
    since_ms: Milliseconds | None = None


class Counts(Brought, frozen=True, kw_only=True):
    """`keys`: of the hours of a day. They stay behind."""

    next_card: Number = 1
    next_character: Number = 1
    keys: Annotated[dict[Milliseconds, Milliseconds], Meta(max_length=24)] = {}


class Marks(Brought, frozen=True, kw_only=True):
    suspects: Annotated[frozenset[Identifier], Meta(max_length=characters.MOST_CHARACTERS)] = frozenset()
    authority: Identifier | None = None
    chosen: Annotated[dict[CardId, Identifier], Meta(max_length=decks.MOST_CARDS)] = {}
    breakdown: CardId | None = None
    last_qualification: Qualification | None = None
    patch: CardId | None = None
    synchronised: Aptitude | None = None


class Window(Brought, frozen=True, kw_only=True):
    opened_ms: Rolled
    healed: healing.Points = 0


class Timers(Brought, frozen=True, kw_only=True):
    rolled_ms: Annotated[dict[Care, Rolled], Meta(max_length=3)] = {}
    windows: Annotated[dict[Track, Window], Meta(max_length=2)] = {}


class Character(characters.Profile, frozen=True, kw_only=True, forbid_unknown_fields=True):
    levels: Annotated[dict[Track, Level], Meta(max_length=2)] = field(default_factory=dict)
    timers: Timers = Timers()


class Secret(Brought, frozen=True, kw_only=True):
    visibility: Visibility
    roller: session.TokenId


class GameDeck(Brought, frozen=True, kw_only=True):
    first: Number
    pile: Cards = ()
    discard: Cards = ()
    active: Annotated[dict[Number, Holder], Meta(max_length=decks.MOST_CARDS)] = {}
    hidden: Annotated[dict[Number, Secret], Meta(max_length=decks.MOST_CARDS)] = {}


class OwnDeck(GameDeck, frozen=True, kw_only=True):
    name: decks.DeckName
    copies: Copies


class Sheet(sheets.Sheet, frozen=True, kw_only=True, forbid_unknown_fields=True):
    version: Version


class Hit(Brought, frozen=True, kw_only=True):
    character: Identifier
    die: Threat
    protections: Annotated[frozenset[Protection], Meta(max_length=2)] = frozenset()
    faces: Annotated[tuple[Face, ...], Meta(min_length=1, max_length=MOST_DICE + 1)]
    soak: Composure | None = None
    source: FacesSource = FacesSource.SERVICE
    visibility: Visibility = Visibility.PUBLIC
    roller: session.TokenId = ""
    resolved: bool = False


class BurnSheet(burn_sheets.BurnSheetProfile, frozen=True, kw_only=True, forbid_unknown_fields=True):
    version: Version


class Opponent(opponents.OpponentProfile, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`burns` are at most `burn_max`."""


TYPES: dict[str, Any] = {
    "head": Head,
    "clock": Clock,
    "scene": Marks,
    "counts": Counts,
    "c:": Character,
    **{f"d:{each}": GameDeck for each in complications.Deck},
    "d:": OwnDeck,
    "t:": Annotated[tuple[decks.Text, ...], Meta(min_length=1, max_length=decks.MOST_CARDS)],
    "s:": Sheet,
    "p:": Hit,
    "b:": BurnSheet,
    "o:": Opponent,
}
"""By the same names as turn.TYPES; tokens are not among them, and a deck of the game has neither name nor copies."""


def type_of(name: str) -> Any | None:
    """None for a field that no import brings."""
    return TYPES.get(name, TYPES.get(name[:2]))
