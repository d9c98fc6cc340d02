"""The facts of Burn 2d6 as sentences. What was rolled comes last: a sentence cut short keeps what it came to."""

from collections.abc import Iterable

from service.systems.burn2d6.action import ActionRoll
from service.systems.burn2d6.build import StoryBuild
from service.systems.burn2d6.damage import BurnWound
from service.systems.burn2d6.odds import ActionOdds
from service.words import Words

SIGNS = {-1: ">", 0: "=", 1: "<"}


def say_action(roll: ActionRoll, words: Words) -> str:
    sign = SIGNS[(roll.margin > 0) - (roll.margin < 0)]
    newly_out = roll.stat_burned_out and roll.burned.after > roll.burned.before
    return _sentence(
        words("say.action", outcome=words.label("outcome", roll.outcome), total=roll.total, sign=sign, value=roll.value),
        words.count("say.stat_burns", roll.burn_stat, now=roll.burned.after, value=roll.value) if roll.burn_stat else "",
        words("say.stat_out") if newly_out else "",
        words("say.out_of_action") if roll.out_of_action else "",
        words("say.surge_spent") if roll.surge_spent else "",
        words("say.surge_regained") if roll.surge_regained else "",
        words("say.dice", dice=" ".join(str(die.face) for die in roll.dice)),
    )


def say_wound(wound: BurnWound, words: Words) -> str:
    if wound.avoided:
        return words("say.avoided")
    hit = (words("say.place", place=_place(each.place, words), burns=each.burns) for each in wound.places)
    return _sentence(
        words("say.wound", places=words.listed(hit)),
        words("say.burned_out", stats=words.listed(words.label("stat", each) for each in wound.burned_out_stats))
        if wound.burned_out_stats
        else "",
        words("say.out_of_action") if wound.out_of_action else "",
        words("say.extra_die") if wound.extra_dice else "",
        words.count("say.overflow", wound.overflow) if wound.overflow else "",
    )


def _place(name: str, words: Words) -> str:
    return words.label("stat", name) if f"label.stat.{name}" in words else name


def say_build(build: StoryBuild, words: Words) -> str:
    rates = build.rates
    return _sentence(
        words.count("say.build", build.build),
        words(
            "say.build_rates",
            stat=f"{build.stat_burns} × {rates.stat_burn}",
            slot=f"{build.slot_burns} × {rates.slot_burn}",
            out=f"{build.stats_burned_out} × {rates.stat_burned_out}",
        ),
        words("say.default_rates") if build.default_rates else "",
    )


def say_odds(odds: ActionOdds, words: Words) -> str:
    burns = (words.count("say.with_burn", each.burn, percent=words.number(each.success.percent)) for each in odds.with_burns)
    return _sentence(
        words.count(
            "say.odds",
            odds.dice_count,
            value=odds.value,
            success=words.number(odds.success.percent),
            partial=words.number(odds.partial_success.percent),
            failure=words.number(odds.failure.percent),
            surge=words.number(odds.surge_regained.percent),
        ),
        *burns,
    )


def _sentence(*parts: str) -> str:
    return " ".join(_nonempty(parts))


def _nonempty(parts: Iterable[str]) -> Iterable[str]:
    return (part for part in parts if part)
