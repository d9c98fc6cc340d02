"""Decks of a table, their cards, and the end of a scene."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from service.api.answers import MaybeSecret
from service.api.problems import Refusal
from service.api.tables import Command, Keyed, card_names, shown_card, shown_type
from service.systems.sixd6 import complications
from service.table import decks, scene
from service.table.audience import Visibility
from service.table.characters import Identifier
from service.table.decks import (
    CardId,
    DealtCard,
    DeckList,
    DeckPut,
    DeckView,
    Discarded,
    DrawFrom,
    Drawn,
    OwnDeck,
    Peeked,
    Returned,
    ReturnTo,
    Shuffled,
)
from service.table.records import OwnCard
from service.table.turn import EVERYTHING, Turn
from service.words import Words

Cards = Annotated[tuple[CardId, ...], Meta(min_length=1, max_length=decks.MOST_CARDS)]


class DrawRequest(Keyed, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For a character, for the whole table, or (neither) to the discard pile."""

    count: Annotated[int, Meta(ge=1, le=20)] = 1
    character: Identifier | None = None
    table: Annotated[bool, Meta(description="Active for the whole table.")] = False
    place: Annotated[DrawFrom, Meta(description="Where the pile is drawn from.")] = field(name="from", default=DrawFrom.TOP)
    visibility: Visibility = Visibility.PUBLIC


class DiscardRequest(Keyed, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Exactly one of these."""

    cards: Cards | None = None
    character: Identifier | None = None
    all: Annotated[bool, Meta(description="Every active card; the gm's.")] = False


class ReturnRequest(Keyed, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Active or discarded cards, back to the pile."""

    cards: Cards
    to: ReturnTo = ReturnTo.TOP


class ShuffleRequest(Keyed, frozen=True, kw_only=True, forbid_unknown_fields=True):
    discard: Annotated[bool, Meta(description="Shuffle the discard pile in as well.")] = False


class CardText(decks.Text, frozen=True, kw_only=True, forbid_unknown_fields=True):
    copies: decks.Copies = 1


class DeckRequest(Keyed, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: decks.DeckName
    cards: Annotated[tuple[CardText, ...], Meta(min_length=1, max_length=decks.MOST_CARDS)]


class PeekQuery(Struct, frozen=True, kw_only=True):
    count: Annotated[int, Meta(ge=1, le=20)] = 1


class CardsQuery(Struct, frozen=True, kw_only=True):
    character: Identifier | None = None


class SceneRequest(Keyed, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing to tell but, perhaps, a key."""


class ActiveCards(Struct, frozen=True, kw_only=True):
    cards: tuple[DealtCard, ...]


def _deck(path: Mapping[str, str], asked: Any) -> tuple[str, ...]:
    return (f"d:{path['deck'][:64]}",)


def _draw_wants(path: Mapping[str, str], asked: DrawRequest) -> tuple[str, ...]:
    return (*_deck(path, asked), *((f"c:{asked.character}",) if asked.character else ()))


def _draw(turn: Turn, path: Mapping[str, str], asked: DrawRequest) -> Drawn:
    if asked.table and asked.character:
        raise Refusal("invalid-request", faults=(("body.table", "at_most_one", {"members": "character, table"}),))
    holder = asked.character or (decks.TABLE if asked.table else None)
    return decks.draw(turn, path["deck"], asked.count, holder=holder, place=asked.place, visibility=asked.visibility)


def _discard(turn: Turn, path: Mapping[str, str], asked: DiscardRequest) -> Discarded:
    ways = [asked.cards is not None, asked.character is not None, asked.all]
    if sum(ways) != 1:
        raise Refusal("invalid-request", faults=(("body", "one_of", {"members": "cards, character, all"}),))
    within = path.get("deck")
    if within:
        turn.deck(within)
    if asked.cards is not None:
        return decks.discard_cards(turn, asked.cards, within)
    return decks.discard_of(turn, asked.character, within)


def _put(turn: Turn, path: Mapping[str, str], asked: DeckRequest) -> DeckPut:
    cards = tuple((OwnCard(card=each.card, name=each.name, effect=each.effect), each.copies) for each in asked.cards)
    return decks.put_own(turn, path["deck"], OwnDeck(name=asked.name, cards=cards))


def _cards(turn: Turn, path: Mapping[str, str], asked: CardsQuery) -> ActiveCards:
    if asked.character is not None:
        turn.character(asked.character)
    return ActiveCards(cards=decks.shown_cards(turn, asked.character))


def deck_name(identifier: str, words: Words, own: str | None = None) -> str:
    return words.label("deck", identifier) if identifier in list(complications.Deck) else own or identifier


def say_drawn(facts: Drawn, words: Words) -> str:
    key = "table.drawn_for" if facts.character else "table.drawn_for_all" if facts.table else "table.drawn"
    said = words.count(key, len(facts.cards), cards=card_names(facts.cards, words), character=facts.character_name or "")
    effect = shown_card(facts.cards[0], words.lang).effect if len(facts.cards) == 1 else ""
    parts = (said, effect, words("table.reshuffled") if facts.reshuffled else "")
    return " ".join(part for part in parts if part)


def say_decks(facts: DeckList, words: Words) -> str:
    return words("table.decks", decks=words.listed(deck_name(each.deck, words, each.name) for each in facts.decks))


def say_cards(facts: ActiveCards, words: Words) -> str:
    """With their effects: who reads a chat has no other place to look them up."""
    if not facts.cards:
        return words("table.nothing.cards")
    shown = (shown_card(card, words.lang) for card in facts.cards)
    effects = (f"{card.name}{words('say.colon')}{card.effect}" for card in shown if card.effect)
    return " ".join((words.count("table.cards", len(facts.cards), cards=card_names(facts.cards, words)), *effects))


def say_discarded(facts: Discarded, words: Words) -> str:
    if not facts.cards:
        return words("table.nothing.discarded")
    return words.count("table.discarded", len(facts.cards), cards=card_names(facts.cards, words))


def say_returned(facts: Returned, words: Words) -> str:
    return words.count("table.returned", len(facts.cards), cards=card_names(facts.cards, words))


def say_shuffled(facts: Shuffled, words: Words) -> str:
    return words("table.shuffled", deck=deck_name(facts.deck, words, facts.name), pile=facts.draw_pile)


def say_deleted(facts: Shuffled, words: Words) -> str:
    return words("table.deck_deleted", deck=deck_name(facts.deck, words, facts.name))


def say_scene(facts: scene.SceneEnded, words: Words) -> str:
    if not facts.discarded:
        return words("table.scene_over")
    return words.count("table.scene_ended", len(facts.discarded), cards=card_names(facts.discarded, words))


def say_view(facts: DeckView, words: Words) -> str:
    name = deck_name(facts.deck, words, facts.name)
    return words("table.deck", deck=name, pile=facts.draw_pile, discard=facts.discard_pile, active=facts.active)


def say_peeked(facts: Peeked, words: Words) -> str:
    return words("table.peeked", cards=card_names(facts.cards, words)) if facts.cards else words("table.peeked_none")


COMMANDS = (
    Command(
        id="listDecks",
        method="GET",
        path="/decks",
        summary="List the decks",
        about="How many cards are where.",
        facts=DeckList,
        play=lambda turn, path, asked: decks.listed(turn),
        say=say_decks,
        wants=lambda path, asked: (EVERYTHING,),
        changes=False,
    ),
    Command(
        id="readDeck",
        method="GET",
        path="/decks/{deck:str}",
        summary="Read a deck",
        about="Its discard pile and its active cards; the order of the pile is nobody's.",
        facts=DeckView,
        play=lambda turn, path, asked: decks.view(turn, path["deck"]),
        say=say_view,
        wants=_deck,
        refuses=("not-found",),
        changes=False,
    ),
    Command(
        id="putDeck",
        method="PUT",
        path="/decks/{deck:str}",
        summary="Create or replace a deck of the table's own",
        about="201 where it is new. Up to 500 cards, copies included. Refused while cards of it are active.",
        body=DeckRequest,
        facts=DeckPut,
        play=_put,
        say=say_view,
        wants=lambda path, asked: (EVERYTHING,),
        refuses=("deck-in-use",),
        creates=lambda facts: facts.created,
        created_path=lambda path, facts: f"/v1/sessions/{path['session']}/decks/{facts.deck}",
        example={"name": "Critiques", "cards": [{"card": "limp", "name": "Boiterie", "effect": "-1 D", "copies": 2}]},
    ),
    Command(
        id="deleteDeck",
        method="DELETE",
        path="/decks/{deck:str}",
        summary="Delete a deck of the table's own",
        about="Refused while cards of it are active.",
        facts=Shuffled,
        play=lambda turn, path, asked: decks.delete_own(turn, path["deck"]),
        say=say_deleted,
        wants=_deck,
        refuses=("not-found", "deck-in-use"),
    ),
    Command(
        id="drawCards",
        method="POST",
        path="/decks/{deck:str}/draws",
        summary="Draw cards",
        about="All or nothing (R19). The discard pile goes under the pile first where the pile is not enough.",
        body=DrawRequest,
        facts=Drawn,
        answer=shown_type(Drawn, carried=MaybeSecret, without=("roller",), name="Drawn"),
        play=_draw,
        say=say_drawn,
        wants=_draw_wants,
        refuses=("not-found", "deck-exhausted"),
        visible=True,
        secretly="say.secret_draw",
        example={"count": 1, "character": "zoe"},
    ),
    Command(
        id="discardCards",
        method="POST",
        path="/discards",
        summary="Discard active cards",
        about="Cards by their ids, all of a character, or all there are.",
        body=DiscardRequest,
        facts=Discarded,
        play=_discard,
        say=say_discarded,
        wants=lambda path, asked: (EVERYTHING,),
        refuses=("not-found", "card-not-there"),
        example={"character": "zoe"},
    ),
    Command(
        id="discardCardsOfDeck",
        method="POST",
        path="/decks/{deck:str}/discards",
        summary="Discard active cards of one deck",
        about="As for all decks, within one.",
        body=DiscardRequest,
        facts=Discarded,
        play=_discard,
        say=say_discarded,
        wants=_deck,
        refuses=("not-found", "card-not-there"),
        example={"all": True},
    ),
    Command(
        id="returnCards",
        method="POST",
        path="/decks/{deck:str}/returns",
        summary="Return cards to the pile",
        about="Active or discarded ones, to the top, the bottom, or shuffled in.",
        body=ReturnRequest,
        facts=Returned,
        play=lambda turn, path, asked: decks.return_cards(turn, path["deck"], asked.cards, asked.to),
        say=say_returned,
        wants=_deck,
        refuses=("not-found", "card-not-there"),
        example={"cards": ["light-43"], "to": "top"},
    ),
    Command(
        id="shuffleDeck",
        method="POST",
        path="/decks/{deck:str}/shuffles",
        summary="Shuffle a deck",
        about="The pile, and the discard pile with it where asked.",
        body=ShuffleRequest,
        facts=Shuffled,
        play=lambda turn, path, asked: decks.shuffle(turn, path["deck"], discard=asked.discard),
        say=say_shuffled,
        wants=_deck,
        refuses=("not-found",),
        example={"discard": True},
    ),
    Command(
        id="peekAtDeck",
        method="GET",
        path="/decks/{deck:str}/peek",
        summary="Look at the top of a pile",
        about="Top first; nothing moves. The gm's.",
        query=PeekQuery,
        facts=Peeked,
        play=lambda turn, path, asked: decks.peek(turn, path["deck"], asked.count),
        say=say_peeked,
        wants=_deck,
        refuses=("not-found",),
        changes=False,
    ),
    Command(
        id="listCards",
        method="GET",
        path="/cards",
        summary="List the active cards",
        about="Over all decks, of everybody or of one character.",
        query=CardsQuery,
        facts=ActiveCards,
        play=_cards,
        say=say_cards,
        wants=lambda path, asked: (EVERYTHING,),
        refuses=("not-found",),
        changes=False,
    ),
    Command(
        id="endScene",
        method="POST",
        path="/scene/end",
        summary="End the scene",
        about="Discards the active grave cards that last a scene, and clears the marks (R20). Light cards stay.",
        body=SceneRequest,
        facts=scene.SceneEnded,
        play=lambda turn, path, asked: scene.end(turn),
        say=say_scene,
        wants=lambda path, asked: ("d:grave", "scene"),
        example={},
    ),
)
