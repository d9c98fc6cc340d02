"""One-liners: GETs that change a table, for callers that can do no more. A chat token in the address, text by default."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct

from service.api import decks as deck_api
from service.api import rolls as roll_api
from service.api import sheets as sheet_api
from service.api.answers import Answer, Label
from service.api.problems import Refusal
from service.api.tables import Command, IdempotencyKey, card_names, shown_card
from service.errors import InvalidValue, NotAllowed
from service.systems.sixd6 import SoakKind
from service.systems.sixd6.character import Aptitude, Qualification
from service.systems.sixd6.damage import MaxConversions, Protection, Threat
from service.systems.sixd6.healing import TRACK_HEALED, Care, Level, TierSize
from service.systems.sixd6.pool import BaseDice, Difficulty, RedDice
from service.table import characters, decks, healing, hits, rolls, sheets
from service.table.audience import Role
from service.table.characters import GivenName
from service.table.healing import HealingRoll, HealingStatusFacts
from service.table.hits import Soaked, Struck, TableWound
from service.table.rolls import Cast, PoolAsked, TablePoolRoll
from service.table.turn import EVERYTHING, Turn
from service.words import Lang, Words, folded

ROOT = "/v1/quick/{session:str}"

ChatToken = Annotated[
    str, Meta(min_length=1, max_length=100, description="A chat token: the only kind that may stand here.")
]
LookToken = Annotated[str, Meta(min_length=1, max_length=100, description="A chat's or an observer's token.")]
Who = Annotated[GivenName, Meta(description="Name or id of the character, however it is typed.")]


class QuickAnswer(Answer, frozen=True, kw_only=True):
    """Scalars only, for tools that read no deeper; null where a member does not go with the one-liner."""

    event: Annotated[str, Meta(max_length=20)] | None = None
    outcome: Annotated[str, Meta(max_length=40)] | None = None
    successes: int | None = None
    damage: int | None = None
    trauma: int | None = None
    healed: int | None = None
    level: Annotated[int, Meta(description="The track after it.")] | None = None
    count: Annotated[int, Meta(description="Cards drawn, discarded or listed.")] | None = None
    cards: Annotated[str, Meta(max_length=10_000, description="Names of the cards.")] | None = None
    undealt: int | None = None


class QuickQuery(Struct, frozen=True, kw_only=True):
    token: ChatToken | None = None
    idempotency_key: IdempotencyKey | None = None
    label: Label | None = None


class QuickRoll(QuickQuery, frozen=True, kw_only=True):
    character: Who | None = None
    base: BaseDice | None = None
    aptitude: Aptitude | None = None
    qualification: Qualification | None = None
    red: RedDice = 0
    difficulty: Difficulty | None = None


class QuickHit(QuickQuery, frozen=True, kw_only=True):
    character: Who
    die: Threat
    heavy: bool | None = None
    light: bool | None = None
    soak: SoakKind | None = None
    soak_base: BaseDice | None = None
    soak_red: RedDice = 0
    max_conversions: MaxConversions | None = None


class QuickHeal(QuickQuery, frozen=True, kw_only=True):
    character: Who
    care: Care
    carer: Who | None = None
    base: BaseDice | None = None
    red: RedDice = 0
    level: Level | None = None
    tier_size: TierSize | None = None


class QuickDraw(QuickQuery, frozen=True, kw_only=True):
    character: Who | None = None
    deck: Annotated[str, Meta(min_length=1, max_length=64, description="Id of the deck, or a game word for it.")] = "light"
    count: Annotated[int, Meta(ge=1, le=20)] = 1


class QuickDiscard(QuickQuery, frozen=True, kw_only=True):
    """Cards, or all of a character's."""

    character: Who | None = None
    cards: (
        Annotated[list[decks.CardId], Meta(max_length=50, description="By their names, in any language, or by their ids.")]
        | None
    ) = None


class QuickLook(QuickQuery, frozen=True, kw_only=True):
    token: LookToken | None = None
    character: Who | None = None


class QuickTimers(QuickQuery, frozen=True, kw_only=True):
    token: LookToken | None = None
    character: Who


def _chat_only(turn: Turn) -> None:
    """Addresses end up in logs and histories; a token that may do more must not stand in one."""
    if turn.token.role is not Role.CHAT:
        raise NotAllowed("one_liner")


def _who(turn: Turn, name: str | None, field: str = "character") -> str | None:
    return None if name is None else characters.find(turn.characters(), name, field)


def _cast(asked: QuickQuery) -> Cast:
    return Cast(label=asked.label)


def _roll(turn: Turn, path: Mapping[str, str], asked: QuickRoll) -> TablePoolRoll:
    _chat_only(turn)
    pool = PoolAsked(**{name: getattr(asked, name) for name in PoolAsked.__struct_fields__})
    return rolls.roll_sixd6(turn, _who(turn, asked.character), pool, _cast(asked))


def _damage(turn: Turn, path: Mapping[str, str], asked: QuickHit) -> TableWound:
    _chat_only(turn)
    worn = {Protection.HEAVY: asked.heavy, Protection.LIGHT: asked.light}
    who = characters.find(turn.characters(), asked.character)
    protections = None
    if any(told is not None for told in worn.values()):
        sheet = sheets.find(turn, who)
        default = {each: bool(sheet and each in sheet.protections) for each in Protection}
        protections = frozenset(each for each, told in worn.items() if (default[each] if told is None else told))
    soak = None
    if asked.soak is not None:
        soak = Soaked(kind=asked.soak, base=asked.soak_base, red=asked.soak_red, max_conversions=asked.max_conversions)
        if asked.max_conversions is not None and asked.soak is not SoakKind.COMPOSURE:
            raise Refusal("invalid-request", faults=(("query.max_conversions", "only_with_composure", {}),))
    elif asked.soak_base is not None or asked.soak_red or asked.max_conversions is not None:
        raise Refusal("invalid-request", faults=(("query.soak_base", "only_with_soak", {}),))
    try:
        return hits.strike(turn, who, Struck(die=asked.die, protections=protections, soak=soak), _cast(asked))
    except InvalidValue as wrong:
        raise InvalidValue(_flat_field(wrong), wrong.problem, **wrong.data) from None


def _flat_field(wrong: InvalidValue) -> str:
    """A query has no members of members, and each protection has a name of its own."""
    if wrong.field == "protections":
        return str(wrong.data["missing"]).split(", ", maxsplit=1)[0]
    return wrong.field.replace(".", "_")


def _heal(turn: Turn, path: Mapping[str, str], asked: QuickHeal) -> HealingRoll:
    _chat_only(turn)
    told = healing.Asked(
        care=asked.care,
        base=asked.base,
        red=asked.red,
        carer=_who(turn, asked.carer, "carer"),
        level=asked.level,
        tier_size=asked.tier_size,
    )
    try:
        return healing.roll(turn, characters.find(turn.characters(), asked.character), told, _cast(asked))
    except InvalidValue as wrong:
        if wrong.field == TRACK_HEALED[asked.care]:  # here both tracks are told as `level`
            raise InvalidValue("level", wrong.problem, **wrong.data) from None
        raise


def _draw(spoken: Callable[[str, str], str | None]) -> Callable[[Turn, Mapping[str, str], QuickDraw], decks.Drawn]:
    def draw(turn: Turn, path: Mapping[str, str], asked: QuickDraw) -> decks.Drawn:
        _chat_only(turn)
        deck = asked.deck if turn.get(f"d:{asked.deck}") is not None else spoken("deck", asked.deck) or asked.deck
        return decks.draw(turn, deck, asked.count, holder=_who(turn, asked.character))

    return draw


def _by_name(turn: Turn) -> dict[str, str]:
    """The active cards by all that they are called; of several of one name the one that was drawn first."""
    called = [(card.id, shown_card(card, lang)) for card in decks.shown_cards(turn) for lang in Lang]
    return {folded(name): card for card, shown in reversed(called) for name in (shown.name, shown.card)}


def _discard(turn: Turn, path: Mapping[str, str], asked: QuickDiscard) -> decks.Discarded:
    _chat_only(turn)
    if (asked.cards is None) == (asked.character is None):
        raise Refusal("invalid-request", faults=(("query", "one_of", {"members": "cards, character"}),))
    if asked.cards is not None:
        named = _by_name(turn)
        return decks.discard_cards(turn, tuple(named.get(folded(each), each) for each in asked.cards))
    return decks.discard_of(turn, _who(turn, asked.character))


def _cards(turn: Turn, path: Mapping[str, str], asked: QuickLook) -> deck_api.ActiveCards:
    return deck_api.ActiveCards(cards=decks.shown_cards(turn, _who(turn, asked.character)))


def _timers(turn: Turn, path: Mapping[str, str], asked: QuickTimers) -> HealingStatusFacts:
    return healing.status(turn, characters.find(turn.characters(), asked.character))


FLAT: dict[str, Callable[[Any], Any]] = {
    "outcome": lambda facts: facts.outcome,
    "successes": lambda facts: facts.successes,
    "damage": lambda facts: facts.damage,
    "trauma": lambda facts: facts.trauma,
    "healed": lambda facts: facts.healed,
    "level": lambda facts: facts.after,
    "count": lambda facts: len(facts.cards),
    "undealt": lambda facts: facts.undealt,
    "event": lambda facts: facts.event,
}


def _flat(kind: type[Any], facts: Any, words: Words, carried: dict[str, Any]) -> QuickAnswer:
    """The scalars that the facts have."""
    members = {}
    for name, read in FLAT.items():
        try:
            members[name] = read(facts)
        except AttributeError:
            continue
    dealt = getattr(facts, "cards", getattr(facts, "drawn", None))
    cards = None if dealt is None else card_names(dealt, words) if dealt else ""
    return QuickAnswer(**members, cards=cards, text=carried["text"], lang=carried["lang"])


def _everything(path: Mapping[str, str], asked: Any) -> tuple[str, ...]:
    return (EVERYTHING,)


DRAW_REFUSES, DISCARD_REFUSES = ("deck-exhausted",), ("card-not-there",)
HEALING_REFUSES = ("tier-size-unknown", "nothing-to-heal", "healing-cooldown", "healing-window-full")


EXAMPLES: dict[str, dict[str, object]] = {
    "roll": {"character": "Zoé", "base": 5, "red": 1, "difficulty": "hard"},
    "damage": {"character": "Zoé", "die": "d8", "soak": "grit", "soak_base": 3},
    "heal": {"character": "Max", "care": "treat_damage", "base": 4, "level": 5},
    "draw": {"character": "Zoé"},
    "discard": {"character": "Zoé"},
    "cards": {},
    "timers": {"character": "Zoé"},
}


def commands(spoken: Callable[[str, str], str | None]) -> tuple[Command, ...]:
    """`spoken` finds the id that a game word of any language stands for."""

    def quick(name: str, summary: str, query: type[Any], facts: type[Any], play: Any, say: Any, **told: Any) -> Command:
        return Command(
            id=f"quick{name.title()}",
            method="GET",
            root=ROOT,
            path=f"/{name}",
            summary=summary,
            about="For bots that only GET. Text by default; repeated under the same idempotency_key it changes nothing.",
            query=query,
            facts=facts,
            play=play,
            say=say,
            answer=QuickAnswer,
            show=_flat,
            wants=_everything,
            refuses=("not-found", *told.pop("refuses", ())),
            text_by_default=True,
            example={"token": "ember_chat_000000000000000000000000000000000000000000", **EXAMPLES[name]},
            **told,
        )

    looks = {"changes": False}
    return (
        quick("roll", "Roll a pool by one line", QuickRoll, TablePoolRoll, _roll, roll_api.say_pool),
        quick("damage", "Take a hit by one line", QuickHit, TableWound, _damage, sheet_api.say_hit),
        quick("heal", "Heal by one line", QuickHeal, HealingRoll, _heal, roll_api.say_healing, refuses=HEALING_REFUSES),
        quick("draw", "Draw by one line", QuickDraw, decks.Drawn, _draw(spoken), deck_api.say_drawn, refuses=DRAW_REFUSES),
        quick(
            "discard",
            "Discard by one line",
            QuickDiscard,
            decks.Discarded,
            _discard,
            deck_api.say_discarded,
            refuses=DISCARD_REFUSES,
        ),
        quick(
            "cards", "List active cards by one line", QuickLook, deck_api.ActiveCards, _cards, deck_api.say_cards, **looks
        ),
        quick("timers", "Read timers by one line", QuickTimers, HealingStatusFacts, _timers, roll_api.say_status, **looks),
    )
