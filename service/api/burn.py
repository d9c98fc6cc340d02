"""Burn 2d6 at a table: opponents, sheets, and what burns them."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any

from msgspec import UNSET, Meta, field

from service.api.answers import Rolled, Rolling, asking, joined
from service.api.tables import Command, Keyed, shown_type
from service.systems import burn2d6
from service.systems.burn2d6 import sentences
from service.systems.burn2d6.build import Rates
from service.systems.burn2d6.damage import MOST_PLACES, Points
from service.table import burn, burn_sheets, opponents
from service.table.burn import SurgeSpent, TableAction, TableActionRoll, TableBuild, TableBurnWound
from service.table.burn_sheets import BurnSheetFacts, BurnSheetProfile, BurnSheetProfileChange, PlaceName
from service.table.characters import Identifier
from service.table.opponents import (
    OpponentBurnedFacts,
    OpponentFacts,
    OpponentList,
    OpponentProfile,
    OpponentProfileChange,
)
from service.table.rolls import Cast
from service.table.turn import EVERYTHING, ID, Turn
from service.words import Lang, Words

BurnSheetRequest = joined("BurnSheetRequest", BurnSheetProfile, Keyed, strict=True, about=BurnSheetProfile.__doc__)
BurnSheetPatch = joined("BurnSheetPatch", BurnSheetProfileChange, Keyed, strict=True, about=BurnSheetProfileChange.__doc__)
TableActionRequest = asking("TableActionRequest", TableAction, Rolling, Keyed, largest_die=6, most_faces=6)
OpponentRequest = joined(
    "OpponentRequest",
    OpponentProfile,
    Keyed,
    strict=True,
    about="An opponent; `id` is made from the name where none is given.",
    more=(("id", Identifier | None, None),),
)
OpponentPatch = joined("OpponentPatch", OpponentProfileChange, Keyed, strict=True, about=OpponentProfileChange.__doc__)


class TableBurnHitRequest(Keyed, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A hit as its player spreads it (B-R6)."""

    hit: Annotated[
        dict[PlaceName, Points],
        Meta(min_length=1, max_length=MOST_PLACES, description="Points for each stat or slot, by its name."),
    ]
    spend_surge: Annotated[bool, Meta(description="Spend the surge to avoid the whole hit (B3).")] = False


class SurgeRequest(Keyed, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing to tell but, perhaps, a key."""


class TableBuildRequest(Keyed, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rates: Rates = field(default_factory=Rates)
    close: Annotated[bool, Meta(description="End the story: its tally starts again from 0.")] = False


class OpponentBurnsRequest(Keyed, frozen=True, kw_only=True, forbid_unknown_fields=True):
    points: Annotated[int, Meta(ge=1, le=100)]


@cache
def game_words(lang: Lang) -> Words:
    """The game's own words: a table's log speaks of more than one game."""
    return Words(lang, burn2d6.GAME.messages()[lang])


def say_sheet(facts: BurnSheetFacts, words: Words) -> str:
    game = game_words(words.lang)
    stats = [(game.label("stat", stat), each.burned, each.value) for stat, each in facts.stats.items()]
    places = [*stats, *((slot.name, slot.burned, slot.value) for slot in facts.slots)]
    said = (words("burn.place", place=place, burned=burned, value=value) for place, burned, value in places)
    return _sentence(
        words("burn.sheet", name=facts.name, places=words.listed(said)),
        words("burn.surge.available" if facts.surge else "burn.surge.used"),
        game("say.out_of_action") if facts.out_of_action else "",
        game("say.extra_die") if facts.extra_dice else "",
    )


def say_roll(facts: TableActionRoll, words: Words) -> str:
    said = sentences.say_action(facts, game_words(words.lang))
    named = f"{facts.character_name} ({game_words(words.lang).label('stat', facts.stat)})"
    return _sentence(
        words("burn.says", name=named, sentence=said),
        *(
            words.count("burn.slot_burns", each.burned.after - each.burned.before, slot=each.name)
            for each in facts.slots
            if each.burned.after > each.burned.before
        ),
        say_burned(facts.opponent, words) if facts.opponent and facts.opponent.points else "",
    )


def say_hit(facts: TableBurnWound, words: Words) -> str:
    return words("burn.says", name=facts.character_name, sentence=sentences.say_wound(facts, game_words(words.lang)))


def say_surge(facts: SurgeSpent, words: Words) -> str:
    return words("burn.bent", name=facts.character_name)


def say_build(facts: TableBuild, words: Words) -> str:
    built = sentences.say_build(facts, game_words(words.lang))
    return _sentence(
        words("burn.says", name=facts.character_name, sentence=built), words("burn.closed") if facts.closed else ""
    )


def say_opponent(facts: OpponentFacts, words: Words) -> str:
    return _sentence(
        words("burn.opponent", name=facts.name, burns=facts.burns, burn_max=facts.burn_max),
        words.count("burn.difficulty", facts.action_difficulty) if facts.action_difficulty else "",
        words("burn.defeated", name=facts.name) if facts.defeated else "",
    )


def say_gone(facts: OpponentFacts, words: Words) -> str:
    return words("burn.opponent_gone", name=facts.name)


def say_burned(facts: OpponentBurnedFacts, words: Words) -> str:
    return _sentence(
        words.count(
            "burn.opponent_burned",
            facts.points - facts.overflow,
            name=facts.name,
            burns=facts.burns,
            burn_max=facts.burn_max,
        ),
        words("burn.defeated", name=facts.name) if facts.defeated else "",
        game_words(words.lang).count("say.overflow", facts.overflow) if facts.overflow else "",
    )


def _sentence(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _everything(path: Mapping[str, str], asked: Any) -> tuple[str, ...]:
    return (EVERYTHING,)


def _sheet(path: Mapping[str, str], asked: Any) -> tuple[str, ...]:
    who = path["character"]
    return (f"c:{who}", f"b:{who}") if ID.fullmatch(who) else ()


def _sheet_and_opponent(path: Mapping[str, str], asked: Any) -> tuple[str, ...]:
    if asked.opponent is None:
        return _sheet(path, asked)
    return (*_sheet(path, asked), f"o:{asked.opponent}") if ID.fullmatch(asked.opponent) else (EVERYTHING,)


def _opponent(path: Mapping[str, str], asked: Any) -> tuple[str, ...]:
    return (f"o:{path['opponent']}",) if ID.fullmatch(path["opponent"]) else ()


def _told(kind: type[Any], asked: Any) -> Any:
    """What was asked, without what only the service needs; what is absent from a patch stays absent."""
    told = {name: getattr(asked, name) for name in kind.__struct_fields__}
    return kind(**{name: value for name, value in told.items() if value is not UNSET})


def _roll(turn: Turn, path: Mapping[str, str], asked: Any) -> TableActionRoll:
    cast = Cast(faces=asked.faces, roll_rest=asked.roll_rest, label=asked.label, visibility=asked.visibility)
    return burn.roll(turn, path["character"], _told(TableAction, asked), cast)


CHARACTER = "/characters/{character:str}/burn2d6"
OPPONENT = "/opponents/{opponent:str}"

COMMANDS = (
    Command(
        id="addOpponent",
        gives={"opponent": "id"},
        method="POST",
        path="/opponents",
        summary="Add an opponent",
        about="It never rolls: it adds dice to the actions against it, and holds so many burns (B4). The gm's.",
        body=OpponentRequest,
        facts=OpponentFacts,
        play=lambda turn, path, asked: opponents.add(turn, _told(OpponentProfile, asked), asked.id),
        say=say_opponent,
        wants=_everything,
        status=201,
        created_path=lambda path, facts: f"/v1/sessions/{path['session']}/opponents/{facts.id}",
        example={"name": "Ogre", "burn_max": 6, "action_difficulty": 1},
    ),
    Command(
        id="listOpponents",
        method="GET",
        path="/opponents",
        summary="List the opponents",
        about="With the burns that they have taken.",
        facts=OpponentList,
        play=lambda turn, path, asked: opponents.listed(turn),
        say=lambda facts, words: words("burn.opponents", names=words.listed(each.name for each in facts.opponents) or "—"),
        wants=_everything,
        changes=False,
    ),
    Command(
        id="readOpponent",
        method="GET",
        path=OPPONENT,
        summary="Read an opponent",
        about="With the burns that it has taken.",
        facts=OpponentFacts,
        play=lambda turn, path, asked: opponents.one(turn, path["opponent"]),
        say=say_opponent,
        wants=_opponent,
        refuses=("not-found",),
        changes=False,
    ),
    Command(
        id="changeOpponent",
        method="PATCH",
        path=OPPONENT,
        summary="Change an opponent",
        about="A merge patch; `burns` may be set, for mistakes. The gm's.",
        body=OpponentPatch,
        facts=OpponentFacts,
        play=lambda turn, path, asked: opponents.change(turn, path["opponent"], _told(OpponentProfileChange, asked)),
        say=say_opponent,
        wants=_opponent,
        refuses=("not-found",),
        example={"burn_max": 8},
    ),
    Command(
        id="deleteOpponent",
        method="DELETE",
        path=OPPONENT,
        summary="Delete an opponent",
        about="Defeated or not. The gm's.",
        facts=OpponentFacts,
        play=lambda turn, path, asked: opponents.delete(turn, path["opponent"]),
        say=say_gone,
        wants=_opponent,
        refuses=("not-found",),
    ),
    Command(
        id="burnOpponent",
        method="POST",
        path=OPPONENT + "/burns",
        summary="Burn an opponent without a roll",
        about="At `burn_max` it is defeated; what is beyond is `overflow` (B4). A roll brings its own. The gm's.",
        body=OpponentBurnsRequest,
        facts=OpponentBurnedFacts,
        play=lambda turn, path, asked: opponents.burn(turn, path["opponent"], asked.points),
        say=say_burned,
        wants=_opponent,
        refuses=("not-found",),
        example={"points": 2},
    ),
    Command(
        id="putBurnSheet",
        method="PUT",
        path=CHARACTER,
        summary="Create or replace a Burn sheet",
        about="201 where it is new. Burns are counted beside a value, which does not drop (B-R1); slots have names.",
        body=BurnSheetRequest,
        facts=BurnSheetFacts,
        play=lambda turn, path, asked: burn_sheets.put(turn, path["character"], _told(BurnSheetProfile, asked)),
        say=say_sheet,
        wants=_sheet,
        refuses=("not-found",),
        versioned=True,
        creates=lambda facts: facts.created,
        created_path=lambda path, facts: f"/v1/sessions/{path['session']}/characters/{facts.character}/burn2d6",
        example={
            "stats": {"move": {"value": 9}, "soul": {"value": 6}, "eyes": {"value": 8, "burned": 1}, "heart": {"value": 5}},
            "slots": [{"name": "jetpack", "value": 3}],
        },
    ),
    Command(
        id="readBurnSheet",
        method="GET",
        path=CHARACTER,
        summary="Read a Burn sheet",
        about="Stats, slots, surge, what is burned out, and the tally of the story so far (B5).",
        facts=BurnSheetFacts,
        play=lambda turn, path, asked: burn_sheets.facts_of(turn, path["character"]),
        say=say_sheet,
        wants=_sheet,
        refuses=("not-found",),
        changes=False,
        versioned=True,
    ),
    Command(
        id="changeBurnSheet",
        method="PATCH",
        path=CHARACTER,
        summary="Change a Burn sheet",
        about="A merge patch; `adjust` adds burns or takes them off, within 0 and the value. Neither counts for the tally.",
        body=BurnSheetPatch,
        facts=BurnSheetFacts,
        play=lambda turn, path, asked: burn_sheets.change(turn, path["character"], _told(BurnSheetProfileChange, asked)),
        say=say_sheet,
        wants=_sheet,
        refuses=("not-found",),
        versioned=True,
        example={"stats": {"heart": {"value": 6}}, "adjust": {"eyes": -1}},
    ),
    Command(
        id="rollActionForCharacter",
        method="POST",
        path=CHARACTER + "/rolls",
        summary="Roll an action for a character",
        about=(
            "The sheet tells value and burns. In the same step the declared points burn, the surge is spent or regained, "
            "and the opponent takes `opponent_burns`, whatever the outcome: how many, the table says (B4)."
        ),
        body=TableActionRequest,
        facts=TableActionRoll,
        answer=shown_type(TableActionRoll, carried=Rolled, without=("roller",)),
        play=_roll,
        say=say_roll,
        wants=_sheet_and_opponent,
        refuses=("not-found", "faces-mismatch", "wasted-burn", "burn-too-large", "out-of-action"),
        visible=True,
        system="burn2d6",
        example={
            "stat": "move",
            "dice_count": 3,
            "burn_stat": 1,
            "burn_slots_by_name": {"jetpack": 1},
            "opponent": "ogre",
            "opponent_burns": 2,
            "faces": [3, 4],
        },
    ),
    Command(
        id="takeBurnHit",
        method="POST",
        path=CHARACTER + "/damage",
        summary="Take a hit on stats and slots",
        about="The player spreads it. What finds no room in its place is `overflow` (B-R6); the surge avoids it whole (B3).",
        body=TableBurnHitRequest,
        facts=TableBurnWound,
        play=lambda turn, path, asked: burn.strike(turn, path["character"], asked.hit, spend_surge=asked.spend_surge),
        say=say_hit,
        wants=_sheet,
        refuses=("not-found",),
        example={"hit": {"move": 2, "jetpack": 1}},
    ),
    Command(
        id="spendSurge",
        method="POST",
        path=CHARACTER + "/surge",
        summary="Spend the surge to bend the story",
        about="Without a roll (B2). It comes back when all dice of an action show 6.",
        body=SurgeRequest,
        facts=SurgeSpent,
        play=lambda turn, path, asked: burn.spend_surge(turn, path["character"]),
        say=say_surge,
        wants=_sheet,
        refuses=("not-found",),
        example={},
    ),
    Command(
        id="buildForCharacter",
        method="POST",
        path=CHARACTER + "/build",
        summary="Count a character's build points",
        about="Of the story's tally, each count at its rate (B5, B-R7). `close` ends the story, and edits the sheet.",
        body=TableBuildRequest,
        facts=TableBuild,
        play=lambda turn, path, asked: burn.build(turn, path["character"], asked.rates, close=asked.close),
        say=say_build,
        wants=_sheet,
        refuses=("not-found",),
        example={"close": True},
    ),
)
