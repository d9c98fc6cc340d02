"""Rolls at a table, and healing within its two-hour limits (A6)."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct

from service.api.answers import Rolled, Rolling, asking
from service.api.problems import Refusal, duration
from service.api.tables import Command, Keyed, card_names, shown_type
from service.dice import MOST_DICE
from service.systems.sixd6 import sentences
from service.systems.sixd6.healing import TRACK_HEALED, Care, Level, TierSize
from service.systems.sixd6.pool import BaseDice, Pool, RedDice
from service.table import healing, rolls
from service.table.characters import ID, Identifier
from service.table.healing import HealingRoll, HealingStatusFacts
from service.table.rolls import Cast, TablePoolRoll
from service.table.turn import Turn
from service.words import Words

POOL_BOUNDS = {"largest_die": 6, "most_faces": MOST_DICE}


class Dealing(Keyed, frozen=True, kw_only=True):
    deal: Annotated[bool, Meta(description="Deal a light card for each red 1 (R3), unless the roll is secret.")] = True


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
    healed: Annotated[int, Meta(ge=0, le=20)] = 0


PoolTableRequest = asking("TableRollRequest", Pool, Rolling, Dealing, **POOL_BOUNDS)
HealingRequest = asking("HealingRequest", HealingAsked, Rolling, Dealing, **POOL_BOUNDS)


def _cast(asked: Any) -> Cast:
    return Cast(
        faces=asked.faces,
        roll_rest=asked.roll_rest,
        label=asked.label,
        visibility=asked.visibility,
        deal=asked.deal,
    )


def _character(path: Mapping[str, str], asked: Any) -> tuple[str, ...]:
    return ("d:light", *((f"c:{path['character']}",) if ID.fullmatch(path.get("character", "")) else ()))


def _roll(turn: Turn, path: Mapping[str, str], asked: Any) -> TablePoolRoll:
    pool = Pool(base=asked.base, red=asked.red, difficulty=asked.difficulty)
    return rolls.roll_sixd6(turn, path.get("character"), pool, _cast(asked))


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
    return healing.roll(turn, path["character"], told, _cast(asked))


def say_pool(facts: TablePoolRoll, words: Words) -> str:
    drawn = words("table.dealt", cards=card_names(facts.drawn, words)) if facts.drawn else ""
    undealt = words.count("table.undealt", facts.undealt) if facts.undealt else ""
    return " ".join(part for part in (sentences.say_pool(facts, words), drawn, undealt) if part)


def say_healing(facts: HealingRoll, words: Words) -> str:
    healed = words.count(f"table.healed.{facts.track}", facts.healed, before=facts.before, after=facts.after)
    parts = (
        words("table.treated", care=words.label("care", facts.care), patient=facts.patient_name, healed=healed),
        words.count("table.lost", facts.lost) if facts.lost else "",
        sentences.cards(facts.complications, words),
        words("table.dealt", cards=card_names(facts.drawn, words)) if facts.drawn else "",
        words.count("table.undealt", facts.undealt) if facts.undealt else "",
        words("table.next_roll", after=duration(facts.next_roll.remaining_seconds)),
        words("say.dice", dice=sentences.listed(facts.dice, words)) if facts.dice else "",
    )
    return " ".join(part for part in parts if part)


def say_status(facts: HealingStatusFacts, words: Words) -> str:
    return " ".join(_say_care(each, words) for each in facts.cares)


def _say_care(status: healing.CareStatus, words: Words) -> str:
    key = "table.care_ready" if status.ready else "table.care_waits"
    return words(key, care=words.label("care", status.care), after=duration(status.next_roll.remaining_seconds))


COMMANDS = (
    Command(
        id="rollAtTable",
        method="POST",
        path="/sixd6/rolls",
        summary="Roll a pool at the table",
        about="For somebody without a character of its own: no cards are dealt.",
        body=PoolTableRequest,
        facts=TablePoolRoll,
        answer=shown_type(TablePoolRoll, carried=Rolled, without=("roller",)),
        play=_roll,
        say=say_pool,
        wants=_character,
        refuses=("faces-mismatch",),
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
        body=PoolTableRequest,
        facts=TablePoolRoll,
        answer=shown_type(TablePoolRoll, carried=Rolled, without=("roller",)),
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
        example={"care": "treat_damage", "base": 4, "damage": 5, "tier_size": 3, "faces": [5, 2, 6, 1, 3]},
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
