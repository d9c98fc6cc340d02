"""A7: the two decks of complications, read from the cards' files."""

import tomllib
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from service.words import Lang, Vocabulary, load

FOLDER = Path(__file__).parent / "cards"


class Deck(StrEnum):
    LIGHT = "light"
    GRAVE = "grave"


@cache
def deck_words() -> dict[str, list[str]]:
    """What each deck is called, in every language."""
    return Vocabulary(load(FOLDER.parent / "messages")).shown("deck")


class CardDuration(StrEnum):
    """R20: cards that last a scene end with it, the others when they are discarded."""

    SCENE = "scene"
    DISCARD = "discard"


class Wording(Struct, frozen=True):
    name: Annotated[str, Meta(min_length=1, max_length=64)]
    effect: Annotated[str, Meta(min_length=1, max_length=300)]


class Card(Struct, frozen=True, kw_only=True):
    id: Annotated[str, Meta(pattern=r"^[a-z-]{1,64}(?![\s\S])")]
    fr: Wording
    en: Wording
    lasts: CardDuration = CardDuration.DISCARD

    def worded(self, lang: Lang) -> Wording:
        return self.fr if lang is Lang.FR else self.en


@cache
def cards(deck: Deck) -> dict[str, Card]:
    """The deck's cards by id, in the book's order."""
    told = tomllib.loads((FOLDER / f"{deck}.toml").read_text("utf-8"))["card"]
    return {card.id: card for card in msgspec.convert(told, list[Card])}
