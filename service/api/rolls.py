"""Rolls at a table, and healing within its two-hour limits (A6)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct
from msgspec.structs import replace

from service.api.answers import MaybeSecret, Rolled, Rolling, asking, labelled
from service.api.problems import Refusal, duration
from service.api.tables import Command, Keyed, card_names, shown, shown_type
from service.dice import MOST_DICE
from service.systems.sixd6 import sentences
from service.systems.sixd6.character import Aptitude, Qualification
from service.systems.sixd6.healing import TRACK_HEALED, Care, Level, TierSize
from service.systems.sixd6.pool import BaseDice, Difficulty, RedDice
from service.table import healing, rolls
from service.table.characters import Identifier
from service.table.healing import HealingRoll, HealingStatusFacts
from service.table.rolls import Cast, GroupRoll, PoolAsked, TablePoolRoll
from service.table.turn import EVERYTHING, ID, Turn
from service.words import Words

POOL_BOUNDS = {"largest_die": 6, "most_faces": MOST_DICE}


class Dealing(Keyed, frozen=True, kw_only=True):
    deal: Annotated[bool, Meta(description="Deal a light card for each red 1 (R3), unless the roll is secret.")] = True


class AllPresent(StrEnum):
    PRESENT = "present"


Group = Annotated[
    Annotated[tuple[Identifier, ...], Meta(min_length=1, max_length=100)] | AllPresent,
    Meta(title="Group", description="Characters by their ids, or all that are present."),
]


class HealingAsked(Struct, frozen=True, kw_only=True):
    """`damage` or `trauma` is the level before the roll, where no sheet holds it; it is remembered."""

    care: Care
    base: Annotated[BaseDice | None, Meta(description="Default: from the carer's sheet.")] = None
    red: RedDice = 0
    carer: Identifier | None = None
    damage: Level | None = None
    trauma: Level | None = None
    tier_size: TierSize | None = None


class TimerRequest(Keyed, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A correction: when this care was last rolled, and what its window has healed since."""

    rolled_seconds_ago: Annotated[int, Meta(ge=0, le=7_200, description="In session time.")] = 0
    healed: healing.Points = 0


class RollAsked(Struct, frozen=True, kw_only=True):
    """Base dice, or an aptitude and a qualification of the sheet."""

    base: BaseDice | None = None
    aptitude: Aptitude | None = None
    qualification: Qualification | None = None
    red: RedDice = 0
    difficulty: Difficulty | None = None


class GroupAsked(RollAsked, frozen=True, kw_only=True):
    """With `characters` (or "present": all that are) one roll for each, in one step; the answer then has `results`."""

    characters: Group | None = None


RollRequest = asking("TableRollRequest", RollAsked, Rolling, Dealing, **POOL_BOUNDS)
GroupRequest = asking("TableGroupRequest", GroupAsked, Rolling, Dealing, **POOL_BOUNDS)
HealingRequest = asking("HealingRequest", HealingAsked, Rolling, Dealing, **POOL_BOUNDS)


def cast_of(asked: Any) -> Cast:
    return Cast(
        faces=asked.faces,
        roll_rest=asked.roll_rest,
        label=asked.label,
        visibility=asked.visibility,
        deal=asked.deal,
    )


def _character(path: Mapping[str, str], asked: Any) -> tuple[str, ...]:
    who = path.get("character", "")
    return ("d:light", *((f"c:{who}", f"s:{who}") if ID.fullmatch(who) else ()))


def _pool(asked: Any) -> PoolAsked:
    return PoolAsked(**{name: getattr(asked, name) for name in PoolAsked.__struct_fields__})


def _roll(turn: Turn, path: Mapping[str, str], asked: Any) -> TablePoolRoll:
    return rolls.roll_sixd6(turn, path["character"], _pool(asked), cast_of(asked))


def _roll_group(turn: Turn, path: Mapping[str, str], asked: Any) -> GroupRoll:
    if asked.characters is None:
        return rolls.roll_for_nobody(turn, _pool(asked), cast_of(asked))
    group = None if asked.characters == AllPresent.PRESENT else asked.characters
    return rolls.roll_group(turn, group, _pool(asked), cast_of(asked))


def say_group(facts: GroupRoll, words: Words) -> str:
    if facts.single:
        return labelled(say_pool(facts.results[0], words), facts.results[0].label, words)
    return " ".join(say_pool(each, words) for each in facts.results)


ROLL = shown_type(TablePoolRoll, carried=Rolled, without=("roller",))
GROUP = shown_type(GroupRoll, carried=MaybeSecret, without=("roller", "single"))


def _show_group(kind: type[Any], facts: GroupRoll, words: Words, carried: dict[str, Any]) -> Any:
    if facts.single:
        return shown(ROLL, facts.results[0], words, **carried)
    return shown(GROUP, facts, words, **carried)


def _heal(turn: Turn, path: Mapping[str, str], asked: Any) -> HealingRoll:
    track = TRACK_HEALED[asked.care]
    stray = "trauma" if track == "damage" else "damage"
    if getattr(asked, stray) is not None:
        raise Refusal("invalid-request", faults=((f"body.{stray}", "other_track", {"care": asked.care}),))
    told = healing.Asked(
        care=asked.care,
        base=asked.base,
        red=asked.red,
        carer=asked.carer,
        level=getattr(asked, track),
        tier_size=asked.tier_size,
    )
    return healing.roll(turn, path["character"], told, cast_of(asked))


def say_pool(facts: TablePoolRoll, words: Words) -> str:
    notices = (words(f"table.notice.{each}") for each in facts.notices)
    said = " ".join((sentences.say_pool(by_hand(facts), words), *notices, *say_dealt(facts, words)))
    return words("table.one_of", name=facts.character_name, said=said) if facts.character_name else said


T = TypeVar("T", bound=Any)


def by_hand(facts: T) -> T:
    """The facts with those cards only that the table still has to draw itself."""
    return replace(facts, complications=facts.complications - len(facts.drawn) - facts.undealt)


def say_dealt(facts: Any, words: Words) -> list[str]:
    """The cards that a roll has drawn, and those that were missing."""
    drawn = words("table.dealt", cards=card_names(facts.drawn, words)) if facts.drawn else ""
    undealt = words.count("table.undealt", facts.undealt) if facts.undealt else ""
    return [part for part in (drawn, undealt) if part]


def say_healing(facts: HealingRoll, words: Words) -> str:
    healed = words.count(f"table.healed.{facts.track}", facts.healed, before=facts.before, after=facts.after)
    parts = (
        words("table.treated", care=words.label("care", facts.care), patient=facts.patient_name, healed=healed),
        words.count("table.lost", facts.lost) if facts.lost else "",
        sentences.cards(by_hand(facts).complications, words),
        *say_dealt(facts, words),
        words("table.next_roll", after=duration(facts.next_roll.remaining_seconds)),
        words("say.dice", dice=sentences.listed(facts.dice, words)) if facts.dice else "",
    )
    return " ".join(part for part in parts if part)


def say_status(facts: HealingStatusFacts, words: Words) -> str:
    return " ".join(_say_care(each, words) for each in facts.cares)


def _say_care(status: healing.CareStatus, words: Words) -> str:
    waits = "table.care_waits" if status.next_roll.at else "table.care_stands"
    key = "table.care_ready" if status.ready else waits
    return words(key, care=words.label("care", status.care), after=duration(status.next_roll.remaining_seconds))


COMMANDS = (
    Command(
        id="rollAtTable",
        method="POST",
        path="/sixd6/rolls",
        summary="Roll a pool at the table",
        about="For somebody without a character (no cards are dealt), or for several characters in one step.",
        body=GroupRequest,
        facts=GroupRoll,
        answer=ROLL,
        others=(GROUP,),
        play=_roll_group,
        say=say_group,
        show=_show_group,
        wants=lambda path, asked: (EVERYTHING,) if asked.characters else ("d:light",),
        refuses=("not-found", "faces-mismatch", "nobody-to-pick"),
        visible=True,
        system="sixd6",
        example={"base": 5, "red": 1, "faces": [6, 4, 3, 2, 2, 1, 5]},
    ),
    Command(
        id="rollForCharacter",
        method="POST",
        path="/characters/{character:str}/sixd6/rolls",
        summary="Roll a pool for a character",
        about="Each red 1 deals it a light card in the same step (R3, R19).",
        body=RollRequest,
        facts=TablePoolRoll,
        answer=ROLL,
        play=_roll,
        say=say_pool,
        wants=_character,
        refuses=("not-found", "faces-mismatch"),
        visible=True,
        system="sixd6",
        example={"base": 5, "red": 1, "faces": [6, 4, 3, 2, 2, 1, 5]},
    ),
    Command(
        id="heal",
        method="POST",
        path="/characters/{character:str}/sixd6/healing",
        summary="Roll to heal a character",
        about="The path's character is the patient. One roll of each care (R14) and one tier a track (R15) per two hours.",
        body=HealingRequest,
        facts=HealingRoll,
        answer=shown_type(HealingRoll, carried=Rolled, without=("roller",)),
        play=_heal,
        say=say_healing,
        wants=_character,
        refuses=(
            "not-found",
            "faces-mismatch",
            "tier-size-unknown",
            "nothing-to-heal",
            "healing-cooldown",
            "healing-window-full",
        ),
        visible=True,
        system="sixd6",
        example={"care": "treat_damage", "base": 4, "damage": 5, "faces": [5, 2, 6, 1, 3]},
    ),
    Command(
        id="readHealing",
        method="GET",
        path="/characters/{character:str}/sixd6/healing",
        summary="Read a character's healing limits",
        about="When each care may next be rolled, and what each track's window has healed.",
        facts=HealingStatusFacts,
        play=lambda turn, path, asked: healing.status(turn, path["character"]),
        say=say_status,
        wants=_character,
        refuses=("not-found",),
        changes=False,
    ),
    Command(
        id="setHealingTimer",
        method="PUT",
        path="/characters/{character:str}/sixd6/healing/{care:str}",
        summary="Correct a healing timer",
        about="The gm's, for mistakes; it is logged.",
        body=TimerRequest,
        facts=HealingStatusFacts,
        play=lambda turn, path, asked: healing.set_timer(
            turn,
            path["character"],
            _care(path),
            rolled_ago_ms=asked.rolled_seconds_ago * 1_000,
            healed=asked.healed,
        ),
        say=say_status,
        wants=_character,
        refuses=("not-found",),
        example={"rolled_seconds_ago": 3600, "healed": 1},
    ),
    Command(
        id="clearHealingTimer",
        method="DELETE",
        path="/characters/{character:str}/sixd6/healing/{care:str}",
        summary="Clear a healing timer",
        about="As if this care had not been rolled; its track's window goes too. The gm's.",
        facts=HealingStatusFacts,
        play=lambda turn, path, asked: healing.clear_timer(turn, path["character"], _care(path)),
        say=say_status,
        wants=_character,
        refuses=("not-found",),
    ),
)


def _care(path: Mapping[str, str]) -> Care:
    if path["care"] not in list(Care):
        raise Refusal("not-found")
    return Care(path["care"])
