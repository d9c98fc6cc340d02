"""Burn 2d6. Its rules chapter is by Kevin Borrup (Saltheart RPG), CC BY-SA 4.0."""

from pathlib import Path

from service.systems.burn2d6 import reference, sentences
from service.systems.burn2d6.action import Action, ActionRoll, roll_action
from service.systems.burn2d6.build import Story, StoryBuild, count_build
from service.systems.burn2d6.damage import BurnHit, BurnWound, resolve_burn_hit
from service.systems.burn2d6.odds import ActionOdds, OddsQuestion, action_odds
from service.systems.game import Game, Question, Roll

GAME = Game(
    id="burn2d6",
    name="Burn 2d6",
    folder=Path(__file__).parent,
    rolls=(
        Roll(
            path="rolls",
            get="roll",
            id="rollAction",
            summary="Roll an action",
            about="Roll under the stat; burn points, the surge or a helper's aid to roll fewer dice (B2).",
            asked=Action,
            facts=ActionRoll,
            play=roll_action,
            say=sentences.say_action,
            most_faces=6,
            refuses=("wasted-burn", "burn-too-large", "out-of-action"),
            example={"value": 8, "burned": 3, "dice_count": 4, "burn_stat": 2, "faces": [3, 4]},
            flat_example={"value": 8, "burned": 3, "dice_count": 4, "burn_stat": 2, "faces": "3,4"},
            batch=True,
        ),
    ),
    questions=(
        Question(
            path="damage",
            method="POST",
            id="resolveBurnHit",
            summary="Spread a hit over stats and slots",
            about="Each place holds as many burns as its value; what finds no room is `overflow` (B3, B-R6).",
            asked=BurnHit,
            facts=BurnWound,
            answer=resolve_burn_hit,
            say=sentences.say_wound,
            example={
                "stats": {"move": {"value": 7, "burned": 5}, "soul": {"value": 4, "burned": 3}},
                "slots": [{"name": "jetpack", "value": 3, "burned": 0}],
                "hit": {"move": 2, "soul": 2},
            },
        ),
        Question(
            path="build",
            method="POST",
            id="countBuild",
            summary="Count the build points of a story",
            about="Burns taken and stats burned out, each at its rate (B5, B-R7).",
            asked=Story,
            facts=StoryBuild,
            answer=count_build,
            say=sentences.say_build,
            example={"stat_burns": 9, "slot_burns": 2, "stats_burned_out": 1},
        ),
        Question(
            path="odds",
            id="actionOdds",
            summary="Odds of an action",
            about="Exact chances of every outcome, and what each burned point buys (B6).",
            asked=OddsQuestion,
            facts=ActionOdds,
            answer=action_odds,
            say=sentences.say_odds,
            example={"value": 7, "dice_count": 2},
        ),
    ),
    reference=reference.Burn2d6Reference,
    refer=reference.refer,
    vocabulary={},
)
