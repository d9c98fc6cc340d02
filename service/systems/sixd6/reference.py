"""Everything that the book names, in its order, for menus and look-ups."""

from typing import Annotated

from msgspec import Meta, Struct

from service.systems.sixd6.character import CARE_POOLS, HOME, SOAK_POOLS
from service.systems.sixd6.complications import CardDuration, Deck, cards
from service.systems.sixd6.damage import Protection, Threat
from service.systems.sixd6.pool import SUCCESSES_NEEDED, Difficulty, Outcome
from service.words import Words

Id = Annotated[str, Meta(max_length=64)]
Said = Annotated[str, Meta(max_length=1_000)]


class Entry(Struct, frozen=True, kw_only=True):
    id: Id
    label: Said


class AptitudeEntry(Struct, frozen=True, kw_only=True):
    id: Id
    label: Said
    about: Said
    qualifications: tuple[Id, ...]


class QualificationEntry(Struct, frozen=True, kw_only=True):
    id: Id
    label: Said
    aptitude: Id


class DifficultyEntry(Struct, frozen=True, kw_only=True):
    id: Difficulty
    label: Said
    successes: Annotated[int, Meta(ge=1, le=6)]


class OutcomeEntry(Struct, frozen=True, kw_only=True):
    id: Outcome
    label: Said


class ThreatEntry(Struct, frozen=True, kw_only=True):
    id: Threat
    label: Said
    sides: Annotated[int, Meta(ge=2, le=12)]


class ProtectionEntry(Struct, frozen=True, kw_only=True):
    id: Protection
    label: Said
    about: Said


class PoolEntry(Struct, frozen=True, kw_only=True):
    """Something that is rolled with a pool of its own: a soak or a care."""

    id: Id
    label: Said
    about: Said
    aptitude: Id
    qualification: Id


class CardEntry(Struct, frozen=True, kw_only=True):
    id: Id
    label: Said
    effect: Said
    lasts: CardDuration


class DeckEntry(Struct, frozen=True, kw_only=True):
    id: Deck
    label: Said
    cards: tuple[CardEntry, ...]


class RulingEntry(Struct, frozen=True, kw_only=True):
    """A place where the book is silent or can be read in two ways, and the reading taken."""

    id: Id
    text: Said


class Sixd6Reference(Struct, frozen=True, kw_only=True):
    aptitudes: tuple[AptitudeEntry, ...]
    qualifications: tuple[QualificationEntry, ...]
    difficulties: tuple[DifficultyEntry, ...]
    outcomes: tuple[OutcomeEntry, ...]
    threats: tuple[ThreatEntry, ...]
    protections: tuple[ProtectionEntry, ...]
    soaks: tuple[PoolEntry, ...]
    cares: tuple[PoolEntry, ...]
    decks: tuple[DeckEntry, ...]
    rulings: tuple[RulingEntry, ...]


def refer(words: Words) -> Sixd6Reference:
    def label(kind: str, identifier: str) -> str:
        return words.label(kind, identifier)

    def about(kind: str, identifier: str) -> str:
        return words(f"about.{kind}.{identifier}")

    return Sixd6Reference(
        aptitudes=tuple(
            AptitudeEntry(id=each, label=label("aptitude", each), about=about("aptitude", each), qualifications=own)
            for each, own in HOME.items()
        ),
        qualifications=tuple(
            QualificationEntry(id=each, label=label("qualification", each), aptitude=aptitude)
            for aptitude, own in HOME.items()
            for each in own
        ),
        difficulties=tuple(
            DifficultyEntry(id=each, label=label("difficulty", each), successes=needed)
            for each, needed in SUCCESSES_NEEDED.items()
        ),
        outcomes=tuple(OutcomeEntry(id=each, label=label("outcome", each)) for each in Outcome),
        threats=tuple(ThreatEntry(id=each, label=label("threat", each), sides=each.sides) for each in Threat),
        protections=tuple(
            ProtectionEntry(id=each, label=label("protection", each), about=about("protection", each)) for each in Protection
        ),
        soaks=tuple(
            PoolEntry(id=each, label=label("soak", each), about=about("soak", each), aptitude=pool[0], qualification=pool[1])
            for each, pool in SOAK_POOLS.items()
        ),
        cares=tuple(
            PoolEntry(id=each, label=label("care", each), about=about("care", each), aptitude=pool[0], qualification=pool[1])
            for each, pool in CARE_POOLS.items()
        ),
        decks=tuple(DeckEntry(id=each, label=label("deck", each), cards=_cards(each, words)) for each in Deck),
        rulings=tuple(RulingEntry(id=f"R{number}", text=words(f"ruling.R{number}")) for number in range(21)),
    )


def _cards(deck: Deck, words: Words) -> tuple[CardEntry, ...]:
    worded = ((card, card.worded(words.lang)) for card in cards(deck).values())
    return tuple(CardEntry(id=card.id, label=said.name, effect=said.effect, lasts=card.lasts) for card, said in worded)
