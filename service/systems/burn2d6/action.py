"""B1, B2: a stat, what is burned for it, and the roll that has to stay below it."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from service.dice import Dice, DieKind, Throw
from service.errors import BurnTooLarge, InvalidValue, OutOfAction, WastedBurn

MOST_DICE_ASKED = 5
"""What situation and opponent may ask together (B-R2); the penalty of a burned-out stat comes on top (B-R3)."""

OUT_OF_ACTION = 2
"""Burned-out stats that end a character's actions."""

StatValue = Annotated[int, Meta(ge=1, le=20)]
Burns = Annotated[int, Meta(ge=0, le=20)]
DiceCount = Annotated[int, Meta(ge=1, le=5, description="Dice that the situation asks for (B-R2).")]
ActionDifficulty = Annotated[int, Meta(ge=0, le=3, description="Dice that the opponent adds; five in all (B-R2).")]
BurnStat = Annotated[int, Meta(ge=0, le=20, description="Points burned from the stat rolled; each removes a die (B2).")]
BurnSlots = Annotated[int, Meta(ge=0, le=20, description="Points burned from slots that help; each removes a die (B2).")]
Helpers = Annotated[int, Meta(ge=0, le=6, description="Each removes a die (B2).")]


class Stat(StrEnum):
    MOVE = "move"
    SOUL = "soul"
    EYES = "eyes"
    HEART = "heart"


class ActionOutcome(StrEnum):
    SUCCESS = "success"
    PARTIAL_SUCCESS = "partial_success"
    FAILURE = "failure"


DICE_REMOVERS = ("burn_stat", "burn_slots", "spend_surge", "helpers")
"""Members of an action of which each point takes a die away."""


class Action(Struct, frozen=True, kw_only=True):
    """A roll on one stat, with all that is burned for it declared before (B-R4)."""

    value: Annotated[int, Meta(ge=1, le=20, description="The stat's full value, the target however burned it is (B-R1).")]
    burned: Annotated[int, Meta(ge=0, le=20, description="Burns beside the value, before this roll.")] = 0
    dice_count: DiceCount = 2
    action_difficulty: ActionDifficulty = 0
    burn_stat: BurnStat = 0
    burn_slots: BurnSlots = 0
    spend_surge: Annotated[bool, Meta(description="Spend the surge as a burn: removes a die (B2).")] = False
    helpers: Helpers = 0
    burned_out_count: Annotated[
        int, Meta(ge=0, le=4, description="Burned-out stats of the character, the one rolled included (B2).")
    ] = 0

    @property
    def dice_asked(self) -> int:
        return self.dice_count + self.action_difficulty

    @property
    def extra_dice(self) -> int:
        """B-R3: one burned-out stat asks for one die more."""
        return int(self.burned_out_count == 1)

    @property
    def dice_removed(self) -> int:
        return sum(getattr(self, each) for each in DICE_REMOVERS)


class ActionDie(Struct, frozen=True):
    face: Annotated[int, Meta(ge=1, le=6)]
    sides: Annotated[int, Meta(ge=6, le=6)]
    kind: DieKind
    wave: Annotated[int, Meta(ge=0, le=0)]


class Burned(Struct, frozen=True):
    """Burns on the stat rolled."""

    before: Burns
    after: Burns


class ActionRoll(Struct, frozen=True, kw_only=True):
    """rolled = dice_count + action_difficulty + extra_dice - burn_stat - burn_slots - helpers - surge_spent."""

    dice_count: DiceCount
    action_difficulty: ActionDifficulty
    extra_dice: Annotated[int, Meta(ge=0, le=1, description="The penalty of one burned-out stat (B-R3).")]
    burn_stat: BurnStat
    burn_slots: BurnSlots
    helpers: Helpers
    rolled: Annotated[int, Meta(ge=1, le=6, description="Number of dice rolled.")]
    dice: Annotated[tuple[ActionDie, ...], Meta(min_length=1, max_length=6)]
    total: Annotated[int, Meta(ge=1, le=36)]
    value: StatValue
    margin: Annotated[int, Meta(ge=-35, le=19, description="value - total.")]
    outcome: ActionOutcome
    burned: Burned
    stat_burned_out: Annotated[bool, Meta(description="After this roll, whether or not by it.")]
    out_of_action: Annotated[bool, Meta(description="Two or more stats are burned out after this roll.")]
    surge_spent: bool
    surge_regained: Annotated[bool, Meta(description="All dice show 6.")]


def roll_action(action: Action, dice: Dice) -> ActionRoll:
    """Raises what `refuse` raises, before any die is rolled."""
    refuse(action)
    rolled = action.dice_asked + action.extra_dice - action.dice_removed
    faces = dice.throw(Throw(6, DieKind.ACTION, 0, rolled))
    after = action.burned + action.burn_stat
    by_this_roll = action.burned < action.value <= after
    return ActionRoll(
        dice_count=action.dice_count,
        action_difficulty=action.action_difficulty,
        extra_dice=action.extra_dice,
        burn_stat=action.burn_stat,
        burn_slots=action.burn_slots,
        helpers=action.helpers,
        rolled=rolled,
        dice=tuple(ActionDie(face, 6, DieKind.ACTION, 0) for face in faces),
        total=sum(faces),
        value=action.value,
        margin=action.value - sum(faces),
        outcome=outcome(sum(faces), action.value),
        burned=Burned(action.burned, after),
        stat_burned_out=after >= action.value,
        out_of_action=action.burned_out_count + by_this_roll >= OUT_OF_ACTION,
        surge_spent=action.spend_surge,
        surge_regained=all(face == 6 for face in faces),
    )


def refuse(action: Action) -> None:
    """The first refusal that applies: what cannot be, out of action, beyond the stat (B-R5), wasted (B-R4)."""
    refuse_contradiction(action)
    if action.burned_out_count >= OUT_OF_ACTION:
        raise OutOfAction(action.burned_out_count)
    left = action.value - action.burned
    if action.burn_stat > left:
        raise BurnTooLarge("burn_stat", wanted=action.burn_stat, left=left)
    useful = action.dice_asked + action.extra_dice - 1
    if action.dice_removed > useful:
        declared = tuple(each for each in DICE_REMOVERS if getattr(action, each))
        raise WastedBurn(removed=action.dice_removed, useful=useful, fields=declared)


def refuse_contradiction(action: Action) -> None:
    """In this order: more burns than the stat holds, a burned-out stat said not to be, too many dice (B-R2)."""
    if action.burned > action.value:
        raise InvalidValue("burned", "burned_beyond_value", burned=action.burned, value=action.value)
    if action.burned == action.value and not action.burned_out_count:
        raise InvalidValue("burned_out_count", "burned_out_not_counted", burned=action.burned, value=action.value)
    if action.dice_asked > MOST_DICE_ASKED:
        raise InvalidValue("dice_count", "too_many_dice", asked=action.dice_asked, most=MOST_DICE_ASKED)


def outcome(total: int, value: int) -> ActionOutcome:
    if total == value:
        return ActionOutcome.PARTIAL_SUCCESS
    return ActionOutcome.SUCCESS if total < value else ActionOutcome.FAILURE
