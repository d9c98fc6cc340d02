"""A7: what a service can do for a grave card, in one step, when the table asks for it."""

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from service.errors import CardNotThere, InvalidValue, NobodyToPick
from service.systems.sixd6.character import Qualification
from service.systems.sixd6.complications import Deck as GameDeck
from service.table import characters, decks, sheets
from service.table.decks import DealtCard
from service.table.records import CharacterKind, Marks
from service.table.rolls import present
from service.table.turn import Turn


class Effect(StrEnum):
    """What applying a card did; `text`: the card is the table's to play, the service has nothing to do."""

    DREW = "drew"
    DISCARDED = "discarded"
    PICKED = "picked"
    NAMED = "named"
    IN_FORCE = "in_force"
    TEXT = "text"


class CharacterRef(Struct, frozen=True, kw_only=True):
    id: characters.Identifier
    name: Annotated[str, Meta(max_length=64)]


class Applied(Struct, frozen=True, kw_only=True):
    card: DealtCard
    effect: Effect
    characters: Annotated[tuple[CharacterRef, ...], Meta(max_length=100, description="Picked, named, or who drew.")]
    drawn: tuple[DealtCard, ...]
    undealt: Annotated[int, Meta(ge=0, le=100, description="Cards that the deck could not deal (R19).")]
    discarded: tuple[DealtCard, ...]
    event: str


class Wanted(Struct, frozen=True, kw_only=True):
    """What the table says with it: whom, or by lot; and for the reversed role, which qualification."""

    character: str | None = None
    by_lot: bool = False
    qualification: Qualification | None = None


class Outcome(Struct, frozen=True, kw_only=True):
    effect: Effect
    characters: tuple[str, ...] = ()
    drawn: tuple[DealtCard, ...] = ()
    undealt: int = 0
    discarded: tuple[DealtCard, ...] = ()


def apply(turn: Turn, card: str, wanted: Wanted) -> Applied:
    """Raises CardNotThere for a card that is not active, InvalidValue, NobodyToPick."""
    identifier, number = decks.find(turn, card)
    deck = turn.deck(identifier)
    if number not in deck.active:
        raise CardNotThere(card)
    holder = deck.active[number]
    decks.allow_for_holder(turn, holder)
    shown = decks.dealt(turn, identifier, deck, (number,))[0]
    play = PLAYS.get(shown.card) if identifier == GameDeck.GRAVE else None
    _refuse_stray(wanted, shown.card if play else "")
    outcome = play(turn, shown, wanted) if play else Outcome(effect=Effect.TEXT)
    facts = Applied(
        card=shown,
        effect=outcome.effect,
        characters=tuple(CharacterRef(id=each, name=turn.character(each).name) for each in outcome.characters),
        drawn=outcome.drawn,
        undealt=outcome.undealt,
        discarded=outcome.discarded,
        event=turn.next_event,
    )
    turn.tell("card.applied", facts, character=holder or None)
    return facts


NAMED_BY_TABLE = frozenset({"mandatory-denunciation", "inversion", "messenger", "imposed-spokesperson"})
BY_LOT = frozenset({"puppet", "inversion", "messenger", "imposed-spokesperson"})


def _refuse_stray(wanted: Wanted, card: str) -> None:
    """What the card has no use for is refused rather than overlooked."""
    if wanted.character is not None and card not in NAMED_BY_TABLE:
        raise InvalidValue("character", "not_for_card")
    if wanted.by_lot and card not in BY_LOT:
        raise InvalidValue("by_lot", "not_for_card")
    if wanted.qualification is not None and card != "reversed-role":
        raise InvalidValue("qualification", "not_for_card")
    if wanted.character is not None and wanted.by_lot:
        raise InvalidValue("character", "name_or_lot")


def contaminate(turn: Turn, card: DealtCard, wanted: Wanted) -> Outcome:
    """Every present character without an active card draws a light one; the holder has this one."""
    held = {holder for deck in turn.decks().values() for holder in deck.active.values()}
    clean = tuple(each for each in present(turn) if each not in held)
    drawn: tuple[DealtCard, ...] = ()
    for each in clean:
        drawn += decks.deal(turn, "light", 1, each)[0]
    infected = tuple(each.holder for each in drawn if each.holder)
    return Outcome(effect=Effect.DREW, characters=infected, drawn=drawn, undealt=len(clean) - len(drawn))


def decompress(turn: Turn, card: DealtCard, wanted: Wanted) -> Outcome:
    """All active cards of the two decks go, this one too, and the marks with them; own decks stay."""
    gone: tuple[DealtCard, ...] = ()
    for identifier in GameDeck:
        deck = turn.deck(identifier)
        numbers = tuple(deck.active)
        gone += decks.dealt(turn, identifier, deck, numbers)
        if numbers:
            turn.put(f"d:{identifier}", decks.put_down(deck, numbers))
    turn.put("scene", Marks())
    return Outcome(effect=Effect.DISCARDED, discarded=gone)


def denounce(turn: Turn, card: DealtCard, wanted: Wanted) -> Outcome:
    """Whom the table names draws a light card and is suspect until the scene ends."""
    suspect = _named(turn, wanted)
    drawn, undealt = decks.deal(turn, "light", 1, suspect)
    marks: Marks = turn.get("scene")
    turn.put("scene", replace(marks, suspects=tuple(dict.fromkeys((*marks.suspects, suspect)))))
    return Outcome(effect=Effect.DREW, characters=(suspect,), drawn=drawn, undealt=undealt)


def pick_puppeteer(turn: Turn, card: DealtCard, wanted: Wanted) -> Outcome:
    """Another present player's character, always by lot."""
    return _picked(turn, card, _lot(turn, but=card.holder))


def pick_other(turn: Turn, card: DealtCard, wanted: Wanted) -> Outcome:
    """Somebody else than the holder: named by the table, or by lot."""
    chosen = _lot(turn, but=card.holder) if wanted.by_lot else _named(turn, wanted, but=card.holder)
    return _picked(turn, card, chosen)


def pick_anybody(turn: Turn, card: DealtCard, wanted: Wanted) -> Outcome:
    chosen = _lot(turn, but=None) if wanted.by_lot else _named(turn, wanted)
    return _picked(turn, card, chosen)


def _picked(turn: Turn, card: DealtCard, chosen: str) -> Outcome:
    marks: Marks = turn.get("scene")
    turn.put("scene", replace(marks, chosen={**marks.chosen, card.id: chosen}))
    return Outcome(effect=Effect.PICKED, characters=(chosen,))


def _lot(turn: Turn, *, but: str | None) -> str:
    everybody = turn.characters()
    lots = [each for each in present(turn) if each != but and everybody[each].kind is CharacterKind.PC]
    if not lots:
        raise NobodyToPick
    return lots[turn.dice.below(len(lots))]


def _named(turn: Turn, wanted: Wanted, *, but: str | None = None) -> str:
    if wanted.character is None:
        raise InvalidValue("character", "name_one")
    chosen = characters.find(turn.characters(), wanted.character)
    if chosen == but:
        raise InvalidValue("character", "not_the_holder")
    return chosen


def break_down(turn: Turn, card: DealtCard, wanted: Wanted) -> Outcome:
    """From now on a qualification rolled by name twice in a row gets a notice."""
    turn.put("scene", replace(turn.get("scene"), breakdown=card.id, last_qualification=None))
    return Outcome(effect=Effect.IN_FORCE)


def patch(turn: Turn, card: DealtCard, wanted: Wanted) -> Outcome:
    """The next aptitude rolled by name is the synchronised one; rolls of others then get a notice."""
    turn.put("scene", replace(turn.get("scene"), patch=card.id, synchronised=None))
    return Outcome(effect=Effect.IN_FORCE)


def reverse_role(turn: Turn, card: DealtCard, wanted: Wanted) -> Outcome:
    """The present character(s) with the lowest value of the qualification, as the sheets have it."""
    if wanted.qualification is None:
        raise InvalidValue("qualification", "missing")
    name = wanted.qualification
    values = {each: sheet.qualifications.get(name, 0) for each in present(turn) if (sheet := sheets.find(turn, each))}
    return _extreme(values, min)


def degrade_authority(turn: Turn, card: DealtCard, wanted: Wanted) -> Outcome:
    """The present character(s) with the highest trauma, as the sheets have it; one alone is the scene's authority."""
    values = {each: sheet.trauma for each in present(turn) if (sheet := sheets.find(turn, each))}
    outcome = _extreme(values, max)
    if len(outcome.characters) == 1:
        turn.put("scene", replace(turn.get("scene"), authority=outcome.characters[0]))
    return outcome


def _extreme(values: dict[str, int], extreme: Callable[[list[int]], int]) -> Outcome:
    if not values:
        raise NobodyToPick
    wanted = extreme(list(values.values()))
    return Outcome(effect=Effect.NAMED, characters=tuple(each for each, value in values.items() if value == wanted))


PLAYS: dict[str, Callable[[Turn, DealtCard, Wanted], Outcome]] = {
    "contamination": contaminate,
    "decompression": decompress,
    "mandatory-denunciation": denounce,
    "puppet": pick_puppeteer,
    "inversion": pick_other,
    "messenger": pick_other,
    "imposed-spokesperson": pick_anybody,
    "team-breakdown": break_down,
    "reversed-role": reverse_role,
    "degraded-authority": degrade_authority,
    "unstable-patch": patch,
}
