"""B3: hits, row by row of rules.md."""

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from service.errors import InvalidValue
from service.systems.burn2d6.action import Stat
from service.systems.burn2d6.damage import (
    BurnableSlot,
    BurnableStat,
    BurnHit,
    BurnWound,
    PlaceHit,
    SlotAfter,
    StatAfter,
    resolve_burn_hit,
)

MOVE_5_OF_7 = {"move": (7, 5), "soul": (4, 3), "eyes": (6, 0), "heart": (5, 0)}

HITS = [
    # stats (value, burned), hit, (burned after, overflow), burned out, (extra dice, out of action)
    # the example of B3
    ({"move": (7, 5), "soul": (4, 3)}, {"move": 2, "soul": 2}, ([7, 4], 1), ["move", "soul"], (0, True)),
    (MOVE_5_OF_7, {"move": 1}, ([6, 3, 0, 0], 0), [], (0, False)),
    (MOVE_5_OF_7, {"move": 2}, ([7, 3, 0, 0], 0), ["move"], (1, False)),
    (MOVE_5_OF_7, {"move": 3}, ([7, 3, 0, 0], 1), ["move"], (1, False)),  # B-R6: the excess spills nowhere
    (MOVE_5_OF_7, {"heart": 1, "soul": 1}, ([5, 4, 0, 1], 0), ["soul"], (1, False)),
    (MOVE_5_OF_7, {"heart": 100, "soul": 100}, ([5, 4, 0, 5], 194), ["soul", "heart"], (0, True)),
    (MOVE_5_OF_7, {"move": 2, "soul": 1, "eyes": 6}, ([7, 4, 6, 0], 0), ["move", "soul", "eyes"], (0, True)),
    (MOVE_5_OF_7, {"move": 0}, ([5, 3, 0, 0], 0), [], (0, False)),
    # what was burned out before counts as well
    ({"eyes": (6, 6)}, {"eyes": 1}, ([6], 1), ["eyes"], (1, False)),
    ({"soul": (4, 3), "eyes": (6, 6)}, {"soul": 1}, ([4, 6], 0), ["soul", "eyes"], (0, True)),
]


def stats_of(stats):
    return {Stat(stat): BurnableStat(*numbers) for stat, numbers in stats.items()}


JETPACK = BurnableSlot("jetpack", 3, 1)
HIT = BurnHit(stats=stats_of(MOVE_5_OF_7), slots=(JETPACK, BurnableSlot("Zoé", 0)), hit={"move": 3, "jetpack": 1})


@pytest.mark.parametrize(("stats", "hit", "burned", "burned_out", "penalty"), HITS)
def test_a_hit_on_stats(stats, hit, burned, burned_out, penalty):
    wound = resolve_burn_hit(BurnHit(stats=stats_of(stats), hit=hit))
    assert ([stat.burned for stat in wound.stats.values()], wound.overflow) == burned
    assert [stat for stat in wound.stats if wound.stats[stat].burned_out] == burned_out
    assert list(wound.burned_out_stats) == burned_out
    assert (wound.extra_dice, wound.out_of_action) == penalty


def test_the_whole_answer():
    # the hit of api.md, with a slot that takes more than it holds
    assert resolve_burn_hit(replace(HIT, hit={"jetpack": 4, "move": 3, "eyes": 1})) == BurnWound(
        stats={
            Stat.MOVE: StatAfter(value=7, burned=7, burned_out=True),
            Stat.SOUL: StatAfter(value=4, burned=3, burned_out=False),
            Stat.EYES: StatAfter(value=6, burned=1, burned_out=False),
            Stat.HEART: StatAfter(value=5, burned=0, burned_out=False),
        },
        slots=(SlotAfter(name="jetpack", value=3, burned=3), SlotAfter(name="Zoé", value=0, burned=0)),
        places=(
            PlaceHit(place="jetpack", points=4, burns=2, overflow=2),
            PlaceHit(place="move", points=3, burns=2, overflow=1),
            PlaceHit(place="eyes", points=1, burns=1, overflow=0),
        ),
        overflow=3,
        burned_out_stats=(Stat.MOVE,),
        extra_dice=1,
        out_of_action=False,
        avoided=False,
    )


def test_stats_are_told_in_the_books_order():
    stats = stats_of({"heart": (5, 5), "soul": (4, 4), "move": (7, 0)})
    wound = resolve_burn_hit(BurnHit(stats=stats, hit={"move": 1}))
    assert list(wound.stats) == ["move", "soul", "heart"]
    assert wound.burned_out_stats == (Stat.SOUL, Stat.HEART)


def test_a_full_slot_is_no_burned_out_stat():
    wound = resolve_burn_hit(replace(HIT, hit={"jetpack": 2}))
    assert (wound.slots[0].burned, wound.burned_out_stats, wound.extra_dice) == (3, (), 0)


def test_a_surge_avoids_the_whole_hit():
    wound = resolve_burn_hit(replace(HIT, hit={"move": 3, "soul": 1}, spend_surge=True))
    assert (wound.avoided, wound.overflow, wound.places, wound.burned_out_stats) == (True, 0, (), ())
    assert [stat.burned for stat in wound.stats.values()] == [5, 3, 0, 0]


REFUSALS = [
    # what is wrong with HIT, member, problem, its data
    (
        {"stats": stats_of({"move": (7, 8)})},
        "stats.move.burned",
        "burned_beyond_value",
        {"burned": 8, "value": 7},
    ),
    ({"slots": (BurnableSlot("soul", 3),)}, "slots[0].name", "slot_named_like_stat", {"name": "soul"}),
    (
        # also a stat that the request leaves out
        {"stats": stats_of({"move": (7, 5)}), "slots": (JETPACK, BurnableSlot("eyes", 3))},
        "slots[1].name",
        "slot_named_like_stat",
        {"name": "eyes"},
    ),
    ({"slots": (JETPACK, JETPACK)}, "slots[1].name", "slot_named_twice", {"name": "jetpack"}),
    (
        {"slots": (JETPACK, BurnableSlot("boots", 2, 3))},
        "slots[1].burned",
        "burned_beyond_value",
        {"burned": 3, "value": 2},
    ),
    (
        {"hit": {"move": 1, "sword": 1}},
        "hit.sword",
        "no_such_place",
        {"place": "sword", "places": "move, soul, eyes, heart, jetpack, Zoé"},
    ),
    (
        {"stats": stats_of({"move": (7, 5)}), "hit": {"eyes": 1}},
        "hit.eyes",
        "no_such_place",
        {"place": "eyes", "places": "move, jetpack, Zoé"},
    ),
    # a surge makes no sense of a hit that cannot be
    (
        {"hit": {"sword": 1}, "slots": (), "spend_surge": True},
        "hit.sword",
        "no_such_place",
        {"place": "sword", "places": "move, soul, eyes, heart"},
    ),
]

# All five faults at once, then one less in each row.
ORDER_OF_REFUSALS = [
    # what is put right, member
    ({}, "stats.soul.burned"),
    ({"stats": stats_of({"move": (7, 5)})}, "slots[0].name"),
    ({"stats": stats_of({"move": (7, 5)}), "slots": (JETPACK, BurnableSlot("jetpack", 1, 2))}, "slots[1].name"),
    ({"stats": stats_of({"move": (7, 5)}), "slots": (JETPACK, BurnableSlot("boots", 1, 2))}, "slots[1].burned"),
    ({"stats": stats_of({"move": (7, 5)}), "slots": ()}, "hit.sword"),
]
ALL_FAULTS = BurnHit(
    stats=stats_of({"move": (7, 5), "soul": (4, 5)}),
    slots=(BurnableSlot("move", 3), BurnableSlot("move", 1, 2)),
    hit={"sword": 1},
)


@pytest.mark.parametrize(("wrong", "field", "problem", "data"), REFUSALS)
def test_refusals(wrong, field, problem, data):
    with pytest.raises(InvalidValue) as refused:
        resolve_burn_hit(replace(HIT, **wrong))
    assert vars(refused.value) == {"field": field, "problem": problem, "data": data}


@pytest.mark.parametrize(("put_right", "field"), ORDER_OF_REFUSALS)
def test_order_of_refusals(put_right, field):
    with pytest.raises(InvalidValue) as refused:
        resolve_burn_hit(replace(ALL_FAULTS, **put_right))
    assert refused.value.field == field


BODY = {"stats": {"move": {"value": 7}}, "hit": {"move": 1}}
SLOT = {"name": "jetpack", "value": 3}

WRONG_BODIES = [
    # what is wrong with BODY, where
    ({"stats": {}}, "stats"),
    ({"stats": {"luck": {"value": 7}}}, "stats"),
    ({"stats": {"move": {"value": 0}}}, "stats"),
    ({"stats": {"move": {"value": 21}}}, "stats"),
    ({"stats": {"move": {"value": 7, "burned": 21}}}, "stats"),
    ({"stats": {"move": {"value": 7, "burnt": 1}}}, "stats"),
    ({"slots": [{"name": f"slot {number}", "value": 3} for number in range(5)]}, "slots"),
    ({"slots": [{**SLOT, "name": ""}]}, "slots"),
    ({"slots": [{**SLOT, "name": "j" * 65}]}, "slots"),
    ({"slots": [{**SLOT, "value": 21}]}, "slots"),
    ({"slots": [{**SLOT, "charges": 1}]}, "slots"),
    ({"hit": {}}, "hit"),
    ({"hit": {f"slot {number}": 1 for number in range(9)}}, "hit"),
    ({"hit": {"": 1}}, "hit"),
    ({"hit": {"j" * 65: 1}}, "hit"),
    ({"hit": {"move": -1}}, "hit"),
    ({"hit": {"move": 101}}, "hit"),
]


@pytest.mark.parametrize(("wrong", "where"), WRONG_BODIES)
def test_bounds_of_a_request(wrong, where):
    assert msgspec.convert(BODY, BurnHit).stats == {Stat.MOVE: BurnableStat(value=7, burned=0)}
    with pytest.raises(msgspec.ValidationError, match=where):
        msgspec.convert({**BODY, **wrong}, BurnHit)


def test_a_hit_may_be_spread_over_four_stats_and_four_slots():
    slots = [f"slot {number}" for number in range(4)]
    everywhere = {
        "stats": {stat: {"value": 7} for stat in Stat},
        "slots": [{"name": name, "value": 3} for name in slots],
        "hit": dict.fromkeys([*Stat, *slots], 1),
    }
    wound = resolve_burn_hit(msgspec.convert(everywhere, BurnHit))
    assert [each.burns for each in wound.places] == [1] * 8


# a busy machine is no fault of a rule
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def hits(draw):
    """Hits that are resolved, on some of the places that there are."""
    numbers = st.integers(1, 20).flatmap(lambda value: st.tuples(st.just(value), st.integers(0, value)))
    stats = draw(st.dictionaries(st.sampled_from(Stat), numbers, min_size=1))
    slots = draw(st.dictionaries(st.sampled_from(["jetpack", "Zoé", "Move", "boots", "✨"]), numbers, max_size=4))
    places = st.sampled_from([stat.value for stat in stats] + list(slots))
    return BurnHit(
        stats=stats_of(stats),
        slots=tuple(BurnableSlot(name, *numbers) for name, numbers in slots.items()),
        hit=draw(st.dictionaries(places, st.integers(0, 30) | st.integers(0, 100), min_size=1)),
    )


def burns(stats, slots):
    return sum(stat.burned for stat in stats.values()) + sum(slot.burned for slot in slots)


@unhurried
@given(hits())
def test_overflow_and_burns_taken_are_the_points_of_the_hit(hit):
    wound = resolve_burn_hit(hit)
    taken = burns(wound.stats, wound.slots) - burns(hit.stats, hit.slots)
    assert taken + wound.overflow == sum(hit.hit.values())
    assert {each.place: each.burns + each.overflow for each in wound.places} == hit.hit


@unhurried
@given(hits())
def test_no_place_holds_more_than_its_value_and_none_overflows_before_it_is_full(hit):
    wound = resolve_burn_hit(hit)
    left = {stat.value: after.value - after.burned for stat, after in wound.stats.items()}
    left |= {slot.name: slot.value - slot.burned for slot in wound.slots}
    assert min(left.values()) >= 0
    assert [each for each in wound.places if each.overflow and left[each.place]] == []


@unhurried
@given(hits(), st.data())
def test_a_hit_in_two_parts_burns_as_much_as_the_whole(hit, data):
    first = {place: data.draw(st.integers(0, points)) for place, points in hit.hit.items()}
    half = resolve_burn_hit(replace(hit, hit=first))
    rest = BurnHit(
        stats={stat: BurnableStat(after.value, after.burned) for stat, after in half.stats.items()},
        slots=tuple(BurnableSlot(slot.name, slot.value, slot.burned) for slot in half.slots),
        hit={place: points - first[place] for place, points in hit.hit.items()},
    )
    whole, end = resolve_burn_hit(hit), resolve_burn_hit(rest)
    assert (end.stats, end.slots, end.out_of_action) == (whole.stats, whole.slots, whole.out_of_action)
    assert half.overflow + end.overflow == whole.overflow


@unhurried
@given(hits())
def test_an_avoided_hit_changes_nothing(hit):
    wound = resolve_burn_hit(replace(hit, spend_surge=True))
    assert {stat: (after.value, after.burned) for stat, after in wound.stats.items()} == {
        stat: (before.value, before.burned) for stat, before in hit.stats.items()
    }
    assert [(slot.name, slot.value, slot.burned) for slot in wound.slots] == [
        (slot.name, slot.value, slot.burned) for slot in hit.slots
    ]


@unhurried
@given(hits(), st.booleans())
def test_an_answer_stays_within_its_contract(hit, spend_surge):
    wound = resolve_burn_hit(replace(hit, spend_surge=spend_surge))
    assert msgspec.json.decode(msgspec.json.encode(wound), type=BurnWound) == wound
