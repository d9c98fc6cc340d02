"""B5: build points, row by row of rules.md."""

import msgspec
import pytest

from service.systems.burn2d6.build import Rates, Story, StoryBuild, count_build

BUILDS = [
    # burns on stats, on slots, stats burned out, rates, build points
    (0, 0, 0, (1, 1, 1), 0),
    (9, 2, 1, (1, 1, 1), 12),  # the example of api.md
    (9, 2, 1, (2, 1, 1), 21),
    (9, 2, 1, (1, 3, 1), 16),
    (9, 2, 1, (1, 1, 5), 16),
    (9, 2, 1, (0, 0, 0), 0),
    (9, 2, 1, (0, 0, 20), 20),
    (1000, 1000, 4, (20, 20, 20), 40_080),
]


@pytest.mark.parametrize(("stat_burns", "slot_burns", "stats_burned_out", "rates", "build"), BUILDS)
def test_build_points(stat_burns, slot_burns, stats_burned_out, rates, build):
    used = Rates(stat_burn=rates[0], slot_burn=rates[1], stat_burned_out=rates[2])
    story = Story(stat_burns=stat_burns, slot_burns=slot_burns, stats_burned_out=stats_burned_out, rates=used)
    counted = count_build(story)
    assert counted == StoryBuild(
        stat_burns=stat_burns,
        slot_burns=slot_burns,
        stats_burned_out=stats_burned_out,
        build=build,
        rates=used,
        default_rates=rates == (1, 1, 1),
    )
    assert msgspec.json.decode(msgspec.json.encode(counted), type=StoryBuild) == counted


def test_the_rates_are_one_each_unless_the_table_says_otherwise():
    # B-R7
    counted = count_build(msgspec.json.decode(b'{"stat_burns": 9, "slot_burns": 2}', type=Story))
    assert (counted.build, counted.rates, counted.default_rates) == (
        11,
        Rates(stat_burn=1, slot_burn=1, stat_burned_out=1),
        True,
    )


def test_what_is_not_said_was_not_burned():
    nothing = Story(stat_burns=0, slot_burns=0, stats_burned_out=0)
    assert msgspec.json.decode(b"{}", type=Story) == nothing


def test_a_table_may_set_one_rate_and_leave_the_others():
    story = msgspec.json.decode(b'{"stat_burns": 9, "slot_burns": 2, "rates": {"slot_burn": 0}}', type=Story)
    assert (count_build(story).build, count_build(story).default_rates) == (9, False)


WRONG_BODIES = [
    # body, where
    ({"stat_burns": -1}, "stat_burns"),
    ({"stat_burns": 1001}, "stat_burns"),
    ({"slot_burns": 1001}, "slot_burns"),
    ({"stats_burned_out": 5}, "stats_burned_out"),
    ({"rates": {"stat_burn": 21}}, "stat_burn"),
    ({"rates": {"slot_burn": -1}}, "slot_burn"),
    ({"rates": {"stat_burned_out": 21}}, "stat_burned_out"),
    ({"rates": {"surge": 1}}, "surge"),
]


@pytest.mark.parametrize(("body", "where"), WRONG_BODIES)
def test_bounds_of_a_request(body, where):
    with pytest.raises(msgspec.ValidationError, match=where):
        msgspec.convert(body, Story)
