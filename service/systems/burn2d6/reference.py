"""Everything that Burn 2d6 names, in the book's order, for menus and look-ups."""

from typing import Annotated

from msgspec import Meta, Struct

from service.systems.burn2d6.action import ActionOutcome, Stat
from service.words import Words

Id = Annotated[str, Meta(max_length=64)]
Said = Annotated[str, Meta(max_length=1_000)]


class StatEntry(Struct, frozen=True, kw_only=True):
    id: Stat
    label: Said


class ActionOutcomeEntry(Struct, frozen=True, kw_only=True):
    id: ActionOutcome
    label: Said


class BurnRulingEntry(Struct, frozen=True, kw_only=True):
    id: Id
    text: Said


class Burn2d6Reference(Struct, frozen=True, kw_only=True):
    stats: tuple[StatEntry, ...]
    outcomes: tuple[ActionOutcomeEntry, ...]
    rulings: tuple[BurnRulingEntry, ...]
    licence: Annotated[str, Meta(max_length=300, description="Whose rules these are, and how they may be used.")]


def refer(words: Words) -> Burn2d6Reference:
    return Burn2d6Reference(
        stats=tuple(StatEntry(id=each, label=words.label("stat", each)) for each in Stat),
        outcomes=tuple(ActionOutcomeEntry(id=each, label=words.label("outcome", each)) for each in ActionOutcome),
        rulings=tuple(BurnRulingEntry(id=f"B-R{number}", text=words(f"ruling.B-R{number}")) for number in range(1, 8)),
        licence="Burn 2d6, rules chapter: Kevin Borrup, Saltheart RPG, CC BY-SA 4.0",
    )
