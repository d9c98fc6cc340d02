"""B2, B3, B5 at a table: what is burned is kept in the same step as the roll or the hit that burns it."""

from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from service.dice import FacesSource
from service.errors import BurnTooLarge, InvalidValue, WastedBurn
from service.systems.burn2d6.action import (
    Action,
    ActionDifficulty,
    ActionRoll,
    Burned,
    BurnStat,
    DiceCount,
    Helpers,
    Stat,
    roll_action,
)
from service.systems.burn2d6.build import Rates, Story, StoryBuild, count_build
from service.systems.burn2d6.damage import BurnWound, Points, resolve_burn_hit
from service.table import burn_sheets, characters, opponents
from service.table.audience import Role, Visibility
from service.table.burn_sheets import MOST_SLOTS, CharacterName, PlaceName, StoryTally, Version
from service.table.records import BurnSheet, Tally
from service.table.rolls import Cast, thrown, told
from service.table.turn import Turn

MOST_DIFFICULTY = 3
"""Dice that opponents may add to one action (B-R2)."""


class TableAction(Struct, frozen=True, kw_only=True):
    """An action of a character: value and burns come from its sheet. All burns are declared before the roll (B-R4)."""

    stat: Stat
    dice_count: DiceCount = 2
    action_difficulty: ActionDifficulty = 0
    burn_stat: BurnStat = 0
    burn_slots_by_name: Annotated[
        dict[PlaceName, Annotated[int, Meta(ge=0, le=20)]],
        Meta(max_length=MOST_SLOTS, description="Points burned from slots that help; each removes a die (B2)."),
    ] = {}
    spend_surge: Annotated[bool, Meta(description="Spend the surge as a burn: removes a die (B2).")] = False
    helpers: Helpers = 0
    opponent: Annotated[characters.GivenName, Meta(description="Whom it is against, by id or name.")] | None = None
    opponent_burns: Annotated[
        Points, Meta(description="Burns that the opponent takes in this step, whatever the outcome: the table says (B4).")
    ] = 0


class SlotBurned(Struct, frozen=True, kw_only=True):
    name: CharacterName
    burned: Burned


class TableActionRoll(ActionRoll, frozen=True, kw_only=True):
    stat: Stat
    slots: Annotated[tuple[SlotBurned, ...], Meta(max_length=MOST_SLOTS, description="Slots that helped.")]
    burned_out_stats: Annotated[tuple[Stat, ...], Meta(max_length=4, description="After this roll.")]
    surge: Annotated[bool, Meta(description="Available after this roll.")]
    tally: StoryTally
    opponent: opponents.OpponentBurnedFacts | None
    sheet_version: Version
    source: FacesSource
    label: Annotated[str, Meta(max_length=100)] | None
    visibility: Visibility
    roller: Annotated[str, Meta(max_length=32, description="Id of the token that rolled.")]
    character: characters.Identifier
    character_name: CharacterName
    event: str


class TableBurnWound(BurnWound, frozen=True, kw_only=True):
    surge: Annotated[bool, Meta(description="Available after this hit.")]
    tally: StoryTally
    sheet_version: Version
    character: characters.Identifier
    character_name: CharacterName
    event: str


class SurgeSpent(Struct, frozen=True, kw_only=True):
    surge: bool
    sheet_version: Version
    character: characters.Identifier
    character_name: CharacterName
    event: str


class TableBuild(StoryBuild, frozen=True, kw_only=True):
    closed: Annotated[bool, Meta(description="The tally starts again from 0.")]
    sheet_version: Version
    character: characters.Identifier
    character_name: CharacterName
    event: str | None


# Rolls.


def roll(turn: Turn, character: str, asked: TableAction, cast: Cast) -> TableActionRoll:
    """Burns of stat, slots and opponent, surge and tally are one step with the roll; a refusal burns nothing.

    Raises InvalidValue, NotThere, BurnTooLarge, and what the rule raises.
    """
    before = _playing(turn, character)
    slots = _slots_burned(before, asked)
    opponent = _opponent(turn, asked)
    action = _action(before, asked, slot_burns=sum(slots.values()), difficulty=_difficulty(turn, asked, opponent))
    try:
        rolled, source = thrown(turn, cast, lambda dice: roll_action(action, dice))
    except WastedBurn as wasted:
        fields = tuple("burn_slots_by_name" if each == "burn_slots" else each for each in wasted.fields)
        raise WastedBurn(wasted.removed, wasted.useful, fields) from None
    wound = resolve_burn_hit(burn_sheets.hit_on(before, {asked.stat: asked.burn_stat, **slots}))
    surge = rolled.surge_regained or (before.surge and not asked.spend_surge)
    after = _keep(turn, character, before, replace(burn_sheets.taken(before, wound), surge=surge))
    facts = TableActionRoll(
        **{name: getattr(rolled, name) for name in rolled.__struct_fields__},
        **told(turn, cast, source),
        stat=asked.stat,
        slots=_slots_after(after, slots),
        burned_out_stats=wound.burned_out_stats,
        surge=surge,
        tally=burn_sheets.tally_of(after),
        opponent=opponents.take(turn, opponent, asked.opponent_burns) if opponent else None,
        sheet_version=after.version,
        character=character,
        character_name=turn.character(character).name,
    )
    turn.tell("burn2d6.roll", facts, character=character, visibility=cast.visibility)
    return facts


def _playing(turn: Turn, character: str) -> BurnSheet:
    """The sheet that a play of the character may change. Raises NotThere, NotAllowed."""
    characters.known(turn, character)
    turn.allow_for(character)
    return burn_sheets.known(turn, character)


def _keep(turn: Turn, character: str, before: BurnSheet, after: BurnSheet) -> BurnSheet:
    """A sheet that nothing changed keeps its version."""
    return before if after == before else burn_sheets.keep(turn, character, after)


def _slots_burned(sheet: BurnSheet, asked: TableAction) -> dict[str, int]:
    there = {slot.name: slot for slot in sheet.slots}
    burned = burn_sheets.named("burn_slots_by_name", asked.burn_slots_by_name, there)
    for told_as, (name, points) in zip(asked.burn_slots_by_name, burned.items(), strict=True):
        left = there[name].value - there[name].burned
        if points > left:
            raise BurnTooLarge(f"burn_slots_by_name.{told_as[:64]}", wanted=points, left=left)
    return burned


def _slots_after(sheet: BurnSheet, burns: dict[str, int]) -> tuple[SlotBurned, ...]:
    return tuple(
        SlotBurned(name=slot.name, burned=Burned(slot.burned - burns[slot.name], slot.burned))
        for slot in sheet.slots
        if slot.name in burns
    )


def _opponent(turn: Turn, asked: TableAction) -> str | None:
    if asked.opponent is not None:
        return opponents.find(turn, asked.opponent)
    if asked.opponent_burns:
        raise InvalidValue("opponent", "missing")
    return None


def _difficulty(turn: Turn, asked: TableAction, opponent: str | None) -> int:
    """What the request and its opponent add, bounded together as a single opponent's is (B-R2)."""
    own = opponents.known(turn, opponent).action_difficulty if opponent else 0
    if asked.action_difficulty + own > MOST_DIFFICULTY:
        raise InvalidValue("action_difficulty", "too_high", most=MOST_DIFFICULTY - own)
    return asked.action_difficulty + own


def _action(sheet: BurnSheet, asked: TableAction, *, slot_burns: int, difficulty: int) -> Action:
    stat = sheet.stats.get(asked.stat)
    if stat is None:
        raise InvalidValue("stat", "not_on_sheet", place=asked.stat, places=", ".join(sheet.stats))
    _refuse_used_surge(sheet, spend=asked.spend_surge)
    return Action(
        value=stat.value,
        burned=stat.burned,
        dice_count=asked.dice_count,
        action_difficulty=difficulty,
        burn_stat=asked.burn_stat,
        burn_slots=slot_burns,
        spend_surge=asked.spend_surge,
        helpers=asked.helpers,
        burned_out_count=burn_sheets.burned_out(sheet),
    )


def _refuse_used_surge(sheet: BurnSheet, *, spend: bool) -> None:
    if spend and not sheet.surge:
        raise InvalidValue("spend_surge", "surge_used")


# Hits, and the surge's third use.


def strike(turn: Turn, character: str, hit: dict[str, int], *, spend_surge: bool) -> TableBurnWound:
    """The hit as its player spreads it over the sheet (B-R6). Raises InvalidValue for a place that is not on it."""
    before = _playing(turn, character)
    places = burn_sheets.named("hit", hit, burn_sheets.burnables(before))
    _refuse_used_surge(before, spend=spend_surge)
    wound = resolve_burn_hit(burn_sheets.hit_on(before, places, spend_surge=spend_surge))
    surge = before.surge and not spend_surge
    after = _keep(turn, character, before, replace(burn_sheets.taken(before, wound), surge=surge))
    facts = TableBurnWound(
        **{name: getattr(wound, name) for name in wound.__struct_fields__},
        surge=surge,
        tally=burn_sheets.tally_of(after),
        sheet_version=after.version,
        character=character,
        character_name=turn.character(character).name,
        event=turn.next_event,
    )
    turn.tell("burn2d6.damage", facts, character=character)
    return facts


def spend_surge(turn: Turn, character: str) -> SurgeSpent:
    """To bend the story: no roll, no hit (B2). Raises InvalidValue where it is used already."""
    before = _playing(turn, character)
    if not before.surge:
        raise InvalidValue("sheet", "surge_used")
    after = burn_sheets.keep(turn, character, replace(before, surge=False))
    facts = SurgeSpent(
        surge=False,
        sheet_version=after.version,
        character=character,
        character_name=turn.character(character).name,
        event=turn.next_event,
    )
    turn.tell("burn2d6.surge", facts, character=character)
    return facts


# The story's end.


def build(turn: Turn, character: str, rates: Rates, *, close: bool) -> TableBuild:
    """Counts the tally (B5); closing the story edits the sheet, and is for who may do so."""
    before = _playing(turn, character)
    built = count_build(Story(**{name: getattr(before.tally, name) for name in StoryTally.__struct_fields__}, rates=rates))
    after = before
    if close:
        turn.allow(Role.PLAYER)
        after = burn_sheets.keep(turn, character, replace(before, tally=Tally()))
    facts = TableBuild(
        **{name: getattr(built, name) for name in built.__struct_fields__},
        closed=close,
        sheet_version=after.version,
        character=character,
        character_name=turn.character(character).name,
        event=turn.next_event if close else None,
    )
    if close:
        turn.tell("burn2d6.build", facts, character=character)
    return facts
