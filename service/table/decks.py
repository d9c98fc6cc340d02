"""A7: decks at a table. Cards are drawn without replacement, and each is always in exactly one place."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import accumulate
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from service.dice import Chance
from service.errors import CardNotThere, DeckExhausted, InUse, InvalidValue, NotAllowed, QuotaExceeded
from service.systems.sixd6 import complications
from service.table.audience import Role, Visibility, sees
from service.table.records import Counts, Deck, Marks, OwnCard, Reshuffle, Secret
from service.table.turn import Turn
from service.words import NO_CONTROLS

MOST_DECKS = 20
MOST_CARDS = 500
MOST_TEXT_BYTES = 262_144

ID = re.compile(r"[a-z0-9-]{1,64}")
CARD = re.compile(r"[a-z0-9-]{1,64}-(0|[1-9][0-9]{0,14})")

TABLE = ""
"""Holder of a card that is active for the whole table."""

DeckId = Annotated[str, Meta(max_length=64)]
CardId = Annotated[str, Meta(min_length=1, max_length=80, description="One card of the table: its deck and its number.")]
Count = Annotated[int, Meta(ge=0, le=MOST_CARDS)]
DeckName = Annotated[str, Meta(min_length=1, max_length=64, pattern=NO_CONTROLS)]
Copies = Annotated[int, Meta(ge=1, le=MOST_CARDS)]


class Text(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What stands on cards of an own deck."""

    card: Annotated[str, Meta(pattern=r"^[a-z0-9-]{1,64}(?![\s\S])", description="Id of the text within its deck.")]
    name: Annotated[str, Meta(min_length=1, max_length=64, pattern=NO_CONTROLS)]
    effect: Annotated[str, Meta(max_length=300, pattern=NO_CONTROLS)] = ""


class DrawFrom(StrEnum):
    """Where a draw takes from."""

    TOP = "top"
    BOTTOM = "bottom"
    RANDOM = "random"


class ReturnTo(StrEnum):
    TOP = "top"
    BOTTOM = "bottom"
    SHUFFLE = "shuffle"


class DealtCard(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A card of the table. Only own decks' cards carry their text; the game's are worded when they are shown."""

    id: CardId
    card: Annotated[str, Meta(max_length=64)]
    deck: DeckId
    name: Annotated[str, Meta(max_length=64)] = ""
    effect: Annotated[str, Meta(max_length=300)] = ""
    holder: str | None = None
    """Character it is active for, or nothing for the table; None where it is not active."""


class Piles(Struct, frozen=True, kw_only=True):
    draw_pile: Count
    discard_pile: Count
    active: Count


class Drawn(Piles, frozen=True, kw_only=True):
    deck: DeckId
    cards: tuple[DealtCard, ...]
    character: Annotated[str, Meta(max_length=64)] | None
    character_name: Annotated[str, Meta(max_length=64)] | None
    table: Annotated[bool, Meta(description="For the whole table. Drawn for nobody, cards lie on the discard pile.")] = False
    reshuffled: bool
    visibility: Visibility
    roller: Annotated[str, Meta(max_length=32, description="Id of the token that drew.")]
    event: str


class Discarded(Struct, frozen=True, kw_only=True):
    cards: tuple[DealtCard, ...]
    event: str | None = None


class Returned(Piles, frozen=True, kw_only=True):
    deck: DeckId
    cards: tuple[DealtCard, ...]
    event: str | None = None


class Shuffled(Piles, frozen=True, kw_only=True):
    deck: DeckId
    name: Annotated[str, Meta(max_length=64)] | None = None
    event: str | None = None


class DeckView(Piles, frozen=True, kw_only=True):
    deck: DeckId
    name: Annotated[str, Meta(max_length=64)] | None
    size: Count
    discard: tuple[DealtCard, ...]
    active_cards: tuple[DealtCard, ...]


class DeckPut(DeckView, frozen=True, kw_only=True):
    created: bool
    event: str


class DeckList(Struct, frozen=True, kw_only=True):
    decks: tuple["DeckSummary", ...]


class DeckSummary(Piles, frozen=True, kw_only=True):
    deck: DeckId
    name: Annotated[str, Meta(max_length=64)] | None
    size: Count


class Peeked(Struct, frozen=True, kw_only=True):
    deck: DeckId
    cards: tuple[DealtCard, ...]


# The state of one deck, without a table around it.


def fresh(first: int, size: int, chance: Chance, *, name: str | None = None, copies: tuple[int, ...] = ()) -> Deck:
    return Deck(first=first, name=name, copies=copies, pile=tuple(chance.shuffled(range(first, first + size))))


def size(deck: Deck) -> int:
    return len(deck.pile) + len(deck.discard) + len(deck.active)


def piles(deck: Deck) -> dict[str, Any]:
    return {"draw_pile": len(deck.pile), "discard_pile": len(deck.discard), "active": len(deck.active)}


def replenished(deck: Deck, count: int, rule: Reshuffle, chance: Chance) -> Deck:
    """With the shuffled discard pile under the pile, where the pile alone is not enough and the table reshuffles."""
    if count <= len(deck.pile) or rule is Reshuffle.NEVER or not deck.discard:
        return deck
    return replace(deck, pile=(*deck.pile, *chance.shuffled(deck.discard)), discard=())


def taken(deck: Deck, count: int, place: DrawFrom, chance: Chance) -> tuple[Deck, tuple[int, ...]]:
    """`count` cards off the pile; the pile must have them."""
    pile = list(deck.pile)
    drawn = tuple(pile.pop(_position(place, len(pile), chance)) for _ in range(count))
    return replace(deck, pile=tuple(pile)), drawn


def _position(place: DrawFrom, cards: int, chance: Chance) -> int:
    if place is DrawFrom.RANDOM:
        return chance.below(cards)
    return 0 if place is DrawFrom.TOP else cards - 1


def held(deck: Deck, numbers: tuple[int, ...], holder: str | None) -> Deck:
    """The cards active for the holder, or on the discard pile where there is none."""
    if holder is None:
        return replace(deck, discard=(*reversed(numbers), *deck.discard))
    return replace(deck, active={**deck.active, **dict.fromkeys(numbers, holder)})


def put_down(deck: Deck, numbers: tuple[int, ...]) -> Deck:
    left = _released(deck, numbers)
    return replace(left, discard=(*reversed(numbers), *deck.discard))


def _released(deck: Deck, numbers: tuple[int, ...]) -> Deck:
    """Without the cards among the active ones; what is no longer active is no longer secret."""
    return replace(
        deck,
        active={number: holder for number, holder in deck.active.items() if number not in numbers},
        hidden={number: secret for number, secret in deck.hidden.items() if number not in numbers},
    )


# At a table.


def dealt(turn: Turn, identifier: str, deck: Deck, numbers: tuple[int, ...]) -> tuple[DealtCard, ...]:
    """The cards behind the numbers of a deck."""
    if not numbers:
        return ()
    texts = None if identifier in list(complications.Deck) else turn.get(f"t:{identifier}")
    names = [text.card for text in texts] if texts else list(complications.cards(complications.Deck(identifier)))
    ends = list(accumulate(deck.copies)) if deck.copies else []
    cards = []
    for number in numbers:
        offset = number - deck.first
        index = sum(end <= offset for end in ends) if ends else offset
        own: OwnCard | None = texts[index] if texts else None
        cards.append(
            DealtCard(
                id=f"{identifier}-{number}",
                card=names[index],
                deck=identifier,
                name=own.name if own else "",
                effect=own.effect if own else "",
                holder=deck.active.get(number),
            )
        )
    return tuple(cards)


def draw(
    turn: Turn,
    identifier: str,
    count: int,
    *,
    holder: str | None,
    place: DrawFrom = DrawFrom.TOP,
    visibility: Visibility = Visibility.PUBLIC,
) -> Drawn:
    """All or nothing (R19). Raises DeckExhausted, NotThere, NotAllowed."""
    allow_for_holder(turn, holder)
    cards, reshuffled = _deal(turn, identifier, count, holder, place)
    if len(cards) < count:
        raise DeckExhausted(identifier, count, len(cards))
    if visibility is not Visibility.PUBLIC and holder is not None:
        _hide(turn, identifier, cards, Secret(visibility, turn.token.id))
    facts = Drawn(
        deck=identifier,
        cards=cards,
        character=holder or None,
        character_name=turn.character(holder).name if holder else None,
        table=holder == TABLE,
        reshuffled=reshuffled,
        visibility=visibility,
        roller=turn.token.id,
        event=turn.next_event,
        **piles(turn.deck(identifier)),
    )
    turn.tell("cards.drawn", facts, character=holder or None, visibility=visibility)
    return facts


def _hide(turn: Turn, identifier: str, cards: tuple[DealtCard, ...], secret: Secret) -> None:
    deck = turn.deck(identifier)
    numbers = (int(card.id.rpartition("-")[2]) for card in cards)
    turn.put(f"d:{identifier}", replace(deck, hidden={**deck.hidden, **dict.fromkeys(numbers, secret)}))


def seen_by(turn: Turn, deck: Deck) -> tuple[int, ...]:
    """The active cards that the reader may see."""
    return tuple(number for number in deck.active if number not in deck.hidden or _sees(turn, deck.hidden[number]))


def _sees(turn: Turn, secret: Secret) -> bool:
    """A chat is never shown a secret, its own included: what it reads is posted."""
    is_roller = turn.token.id == secret.roller
    return turn.token.role is not Role.CHAT and sees(secret.visibility, role=turn.token.role, is_roller=is_roller)


def deal(turn: Turn, identifier: str, count: int, holder: str) -> tuple[tuple[DealtCard, ...], int]:
    """What follows from a roll or a card: as many as there are, and how many are missing (R19)."""
    if not count:
        return (), 0
    cards, _ = _deal(turn, identifier, count, holder, DrawFrom.TOP)
    return cards, count - len(cards)


def _deal(
    turn: Turn, identifier: str, count: int, holder: str | None, place: DrawFrom
) -> tuple[tuple[DealtCard, ...], bool]:
    """As many cards as there are, and whether the discard pile went under the pile for them."""
    if holder:
        turn.character(holder)
    before = turn.deck(identifier)
    ready = replenished(before, count, turn.head.settings.reshuffle, turn.dice)
    there = min(count, len(ready.pile))
    left, numbers = taken(ready, there, place, turn.dice)
    after = held(left, numbers, holder)
    turn.put(f"d:{identifier}", after)
    return dealt(turn, identifier, after, numbers), ready is not before


def allow_for_holder(turn: Turn, holder: str | None) -> None:
    if holder:
        turn.allow_for(holder)
        return
    turn.allow(Role.PLAYER, Role.CHAT)
    if turn.token.characters is not None:
        raise NotAllowed("character")


def find(turn: Turn, card: str, within: str | None = None) -> tuple[str, int]:
    """Deck and number of a card's id. Raises CardNotThere."""
    identifier, _, number = card.rpartition("-")
    if not CARD.fullmatch(card) or (within and within != identifier):
        raise CardNotThere(card)
    deck: Deck | None = turn.get(f"d:{identifier}")
    if deck is None or not _has(deck, int(number)) or not _within_reach(turn, deck, int(number)):
        raise CardNotThere(card)
    return identifier, int(number)


def _within_reach(turn: Turn, deck: Deck, number: int) -> bool:
    """What was drawn in secret is not there for who may not see it; the gm can move every card."""
    return number not in deck.hidden or turn.token.role is Role.GM or _sees(turn, deck.hidden[number])


def _has(deck: Deck, number: int) -> bool:
    return number in deck.active or number in deck.discard or number in deck.pile


def active_cards(turn: Turn, character: str | None = None, within: str | None = None) -> tuple[DealtCard, ...]:
    """Active cards that the token can reach, over all decks or one, of everybody or of one character."""
    decks = {within: turn.deck(within)} if within else turn.decks()
    return tuple(
        card
        for identifier, deck in decks.items()
        for card in dealt(turn, identifier, deck, tuple(each for each in deck.active if _within_reach(turn, deck, each)))
        if character is None or card.holder == character
    )


def shown_cards(turn: Turn, character: str | None = None) -> tuple[DealtCard, ...]:
    """Of the active cards, those that the reader may see: others than the gm do not see what was drawn in secret."""
    return tuple(
        card
        for identifier, deck in turn.decks().items()
        for card in dealt(turn, identifier, deck, seen_by(turn, deck))
        if character is None or card.holder == character
    )


def discard_cards(turn: Turn, cards: tuple[str, ...], within: str | None = None) -> Discarded:
    """Raises CardNotThere for one that is not active, NotAllowed for somebody else's."""
    repeated = next((card for card in cards if cards.count(card) > 1), None)
    if repeated:
        raise InvalidValue("cards", "repeated_card", card=repeated)
    gone: list[DealtCard] = []
    for card in cards:
        identifier, number = find(turn, card, within)
        deck = turn.deck(identifier)
        if number not in deck.active:
            raise CardNotThere(card)
        allow_for_holder(turn, deck.active[number])
        gone += dealt(turn, identifier, deck, (number,))
        turn.put(f"d:{identifier}", put_down(deck, (number,)))
    forget(turn, cards)
    return _discarded(turn, tuple(gone))


def forget(turn: Turn, cards: tuple[str, ...]) -> None:
    """Marks that last as long as their card go with it."""
    if not any(card.startswith("grave-") for card in cards):
        return
    marks: Marks = turn.get("scene")
    after = replace(marks, chosen={card: who for card, who in marks.chosen.items() if card not in cards})
    if marks.breakdown in cards:
        after = replace(after, breakdown=None, last_qualification=None)
    if marks.patch in cards:
        after = replace(after, patch=None, synchronised=None)
    if after != marks:
        turn.put("scene", after)


def discard_of(turn: Turn, character: str | None, within: str | None = None) -> Discarded:
    """All active cards of a character, or all there are (the gm's)."""
    if character is None:
        turn.allow()
    else:
        turn.character(character)
        turn.allow_for(character)
    cards = active_cards(turn, character, within)
    return discard_cards(turn, tuple(card.id for card in cards), within)


def _discarded(turn: Turn, cards: tuple[DealtCard, ...]) -> Discarded:
    if not cards:
        return Discarded(cards=())
    facts = Discarded(cards=cards, event=turn.next_event)
    holders = {card.holder for card in cards}
    turn.tell("cards.discarded", facts, character=next(iter(holders)) or None if len(holders) == 1 else None)
    return facts


def return_cards(turn: Turn, identifier: str, cards: tuple[str, ...], to: ReturnTo) -> Returned:
    """Active or discarded cards, back to the pile. Raises CardNotThere for others."""
    repeated = next((card for card in cards if cards.count(card) > 1), None)
    if repeated:
        raise InvalidValue("cards", "repeated_card", card=repeated)
    turn.deck(identifier)
    numbers = tuple(find(turn, card, identifier)[1] for card in cards)
    deck = turn.deck(identifier)
    for card, number in zip(cards, numbers, strict=True):
        if number in deck.pile:
            raise CardNotThere(card)
        allow_for_holder(turn, deck.active.get(number))
    gone = dealt(turn, identifier, deck, numbers)
    left = replace(
        _released(deck, numbers),
        discard=tuple(number for number in deck.discard if number not in numbers),
    )
    pile = (*numbers, *left.pile) if to is ReturnTo.TOP else (*left.pile, *numbers)
    after = replace(left, pile=tuple(turn.dice.shuffled(pile)) if to is ReturnTo.SHUFFLE else pile)
    turn.put(f"d:{identifier}", after)
    forget(turn, cards)
    facts = Returned(deck=identifier, cards=gone, event=turn.next_event, **piles(after))
    turn.tell("cards.returned", facts)
    return facts


def shuffle(turn: Turn, identifier: str, *, discard: bool) -> Shuffled:
    turn.allow()
    deck = turn.deck(identifier)
    cards = (*deck.pile, *deck.discard) if discard else deck.pile
    after = replace(deck, pile=tuple(turn.dice.shuffled(cards)), discard=() if discard else deck.discard)
    turn.put(f"d:{identifier}", after)
    facts = Shuffled(deck=identifier, name=after.name, event=turn.next_event, **piles(after))
    turn.tell("deck.shuffled", facts)
    return facts


def peek(turn: Turn, identifier: str, count: int) -> Peeked:
    turn.allow()
    deck = turn.deck(identifier)
    return Peeked(deck=identifier, cards=dealt(turn, identifier, deck, deck.pile[:count]))


def view(turn: Turn, identifier: str) -> DeckView:
    deck = turn.deck(identifier)
    return DeckView(
        deck=identifier,
        name=deck.name,
        size=size(deck),
        discard=dealt(turn, identifier, deck, deck.discard),
        active_cards=dealt(turn, identifier, deck, seen_by(turn, deck)),
        **piles(deck),
    )


def listed(turn: Turn) -> DeckList:
    return DeckList(
        decks=tuple(
            DeckSummary(deck=identifier, name=deck.name, size=size(deck), **piles(deck))
            for identifier, deck in turn.decks().items()
        )
    )


# A table's own decks.


class OwnDeck(Struct, frozen=True, kw_only=True):
    name: str
    cards: tuple[tuple[OwnCard, int], ...]
    """Each text with its number of copies."""


def put_own(turn: Turn, identifier: str, own: OwnDeck) -> DeckPut:
    """Create or replace. Raises InUse while cards are active, QuotaExceeded, InvalidValue."""
    turn.allow()
    if not ID.fullmatch(identifier):
        raise InvalidValue("deck", "bad_id")
    if identifier in list(complications.Deck):
        raise InvalidValue("deck", "game_deck")
    copies, created = tuple(count for _, count in own.cards), turn.get(f"d:{identifier}") is None
    _refuse_too_many(turn, identifier, own, sum(copies))
    _refuse_in_use(turn, identifier)
    counts: Counts = turn.get("counts")
    turn.put("counts", replace(counts, next_card=counts.next_card + sum(copies)))
    turn.put(f"t:{identifier}", tuple(text for text, _ in own.cards))
    turn.put(f"d:{identifier}", fresh(counts.next_card, sum(copies), turn.dice, name=own.name, copies=copies))
    seen = view(turn, identifier)
    facts = DeckPut(**asdict(seen), created=created, event=turn.next_event)
    turn.tell("deck.put", seen)
    return facts


def _refuse_too_many(turn: Turn, identifier: str, own: OwnDeck, cards: int) -> None:
    texts = tuple(text for text, _ in own.cards)
    refuse_repeated(texts)
    if cards > MOST_CARDS:
        raise QuotaExceeded("cards", MOST_CARDS)
    if turn.get(f"d:{identifier}") is None and len(turn.fields("d:")) >= MOST_DECKS:
        raise QuotaExceeded("decks", MOST_DECKS)
    refuse_long((texts, *(of_deck for deck, of_deck in texts_of(turn).items() if deck != identifier)))


def refuse_repeated(texts: Sequence[OwnCard]) -> None:
    """Raises InvalidValue for two texts of a deck that have one id."""
    ids = [text.card for text in texts]
    repeated = next((card for card, times in Counter(ids).items() if times > 1), None)
    if repeated:
        raise InvalidValue("cards", "repeated_card", card=repeated)


def texts_of(turn: Turn) -> dict[str, tuple[OwnCard, ...]]:
    """The texts of the table's own decks."""
    return {name[2:]: turn.get(f"t:{name[2:]}") or () for name in turn.fields("d:")}


def refuse_long(texts: Iterable[Iterable[OwnCard]]) -> None:
    """Raises QuotaExceeded for the texts of a table's own decks, where they are too long together."""
    parts = (part for each in texts for text in each for part in (text.card, text.name, text.effect))
    if sum(len(part.encode()) for part in parts) > MOST_TEXT_BYTES:
        raise QuotaExceeded("card_text_bytes", MOST_TEXT_BYTES)


def _refuse_in_use(turn: Turn, identifier: str) -> None:
    deck: Deck | None = turn.get(f"d:{identifier}")
    if deck and deck.active:
        raise InUse("deck", identifier, len(deck.active))


def delete_own(turn: Turn, identifier: str) -> Shuffled:
    turn.allow()
    if identifier in list(complications.Deck):
        raise InvalidValue("deck", "game_deck")
    deck = turn.deck(identifier)
    _refuse_in_use(turn, identifier)
    turn.put(f"d:{identifier}", None)
    turn.put(f"t:{identifier}", None)
    facts = Shuffled(deck=identifier, name=deck.name, event=turn.next_event, **piles(deck))
    turn.tell("deck.deleted", facts)
    return facts


def game_decks(counts: Counts, chance: Chance) -> tuple[dict[str, Deck], Counts]:
    """The decks that every table starts with."""
    decks = {}
    for identifier in complications.Deck:
        cards = len(complications.cards(identifier))
        decks[f"d:{identifier}"] = fresh(counts.next_card, cards, chance)
        counts = replace(counts, next_card=counts.next_card + cards)
    return decks, counts


def game_deck_size(identifier: str) -> int:
    """Cards of a deck of the game; 0 for one that is not."""
    return len(complications.cards(complications.Deck(identifier))) if identifier in list(complications.Deck) else 0
