"""B5: what a story's burns are worth at its end."""

from typing import Annotated

from msgspec import Meta, Struct, field

Rate = Annotated[int, Meta(ge=0, le=20)]
StatBurns = Annotated[int, Meta(ge=0, le=1000, description="Burns taken on stats during the story, from rolls and hits.")]
SlotBurns = Annotated[int, Meta(ge=0, le=1000, description="Burns taken on slots during the story.")]
StatsBurnedOut = Annotated[int, Meta(ge=0, le=4, description="Stats burned out (B3).")]


class Rates(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Build points for one of each. The rules give no rate: 1 each unless the table says otherwise (B-R7)."""

    stat_burn: Rate = 1
    slot_burn: Rate = 1
    stat_burned_out: Rate = 1


class Story(Struct, frozen=True, kw_only=True):
    """What a character burned in one story. A surge spent as a burn counts for none (B5)."""

    stat_burns: StatBurns = 0
    slot_burns: SlotBurns = 0
    stats_burned_out: StatsBurnedOut = 0
    rates: Rates = field(default_factory=Rates)


class StoryBuild(Struct, frozen=True, kw_only=True):
    stat_burns: StatBurns
    slot_burns: SlotBurns
    stats_burned_out: StatsBurnedOut
    build: Annotated[int, Meta(ge=0, le=40_080, description="Build points (B5).")]
    rates: Rates
    default_rates: Annotated[bool, Meta(description="The rates are this service's default, not the rulebook's (B-R7).")]


def count_build(story: Story) -> StoryBuild:
    rates = story.rates
    return StoryBuild(
        stat_burns=story.stat_burns,
        slot_burns=story.slot_burns,
        stats_burned_out=story.stats_burned_out,
        build=story.stat_burns * rates.stat_burn
        + story.slot_burns * rates.slot_burn
        + story.stats_burned_out * rates.stat_burned_out,
        rates=rates,
        default_rates=rates == Rates(),
    )
