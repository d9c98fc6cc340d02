"""B2, B3, B5 at a table, row by row of rules.md: what is rolled and hit burns the sheet in the same step."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.dice import FacesMismatch
from service.errors import BurnTooLarge, InvalidValue, NotAllowed, NotThere, OutOfAction, WastedBurn
from service.systems.burn2d6.action import Stat
from service.systems.burn2d6.build import Rates
from service.systems.burn2d6.damage import BurnableStat
from service.table import burn, burn_sheets, opponents
from service.table.audience import Visibility
from service.table.burn import TableAction
from service.table.burn_sheets import (
    BurnSheetProfile,
    BurnSheetProfileChange,
    SheetSlot,
    StatChange,
    StoryTally,
    TallyChange,
)
from service.table.opponents import OpponentProfile
from service.table.records import Burnable, BurnSheet, Slot, Tally
from service.table.rolls import Cast
from tests.table.played import CHAT, GM, OBSERVER, OF_ZOE, PLAYER, Scripted, Table, d6, fallen

# Stats are written (value, burned), slots {name: (value, burned)}.
SOUND = {"move": (7, 0), "soul": (6, 0), "eyes": (8, 0), "heart": (5, 0)}
ONE_OUT = {**SOUND, "heart": (5, 5)}


def sheet(stats=SOUND, slots=(), **more):
    return BurnSheetProfile(
        stats={Stat(stat): BurnableStat(*told) for stat, told in stats.items()},
        slots=tuple(SheetSlot(name=name, value=value, burned=burned) for name, (value, burned) in dict(slots).items()),
        **more,
    )


def table_with(stats=SOUND, slots=(), **more):
    table = Table()
    table.play(burn_sheets.put, "zoe", sheet(stats, slots, **more))
    return table


def roll(table, faces, **asked):
    return table.play(burn.roll, "zoe", TableAction(**asked), fallen(*map(int, faces.split())))


def burns(table):
    """Burns by place, as the sheet has them."""
    facts = table.play(burn_sheets.facts_of, "zoe")
    return {**{stat.value: each.burned for stat, each in facts.stats.items()}, **{s.name: s.burned for s in facts.slots}}


# B2: the cases of rules.md. Only what the sheet tells differs from the stateless ones.
WORKED = [
    # case, stats, action, faces, outcome, what else the case says
    ("B1", SOUND, {"stat": "move"}, "2 4", "success", {"total": 6}),
    ("B2", SOUND, {"stat": "move"}, "3 4", "partial_success", {}),
    ("B3", SOUND, {"stat": "move"}, "6 2", "failure", {}),
    ("B4", SOUND, {"stat": "eyes", "dice_count": 4, "burn_stat": 2}, "3 4", "success", {"rolled": 2}),
    ("B5", {"eyes": (12, 0)}, {"stat": "eyes"}, "6 6", "partial_success", {"surge_regained": True}),
    ("B6", SOUND, {"stat": "heart", "spend_surge": True}, "4", "success", {"surge_spent": True, "surge": False}),
    ("B8", ONE_OUT, {"stat": "soul", "helpers": 1}, "2 3", "success", {"rolled": 2, "extra_dice": 1}),
    ("B9", {"eyes": (12, 0), "soul": (4, 4)}, {"stat": "eyes", "dice_count": 5}, "2 2 2 2 2 2", "partial_success", {}),
    (
        "B10",
        {"eyes": (5, 0), "soul": (4, 4)},
        {"stat": "eyes", "dice_count": 1, "spend_surge": True},
        "6",
        "failure",
        {"surge_spent": True, "surge_regained": True, "surge": True},
    ),
    (
        "B11",
        {"move": (4, 3), "soul": (4, 4)},
        {"stat": "move", "burn_stat": 1},
        "2 3",
        "failure",
        {"stat_burned_out": True, "out_of_action": True, "burned_out_stats": (Stat.MOVE, Stat.SOUL)},
    ),
    # B12 cannot be said at a table: the sheet counts its burned-out stats itself, and the roll has the penalty
    ("B12", {"heart": (5, 5)}, {"stat": "heart"}, "1 1 1", "success", {"rolled": 3, "out_of_action": False}),
]

REFUSED = [
    # case, stats, action, refusal
    ("B7", SOUND, {"stat": "heart", "dice_count": 1, "spend_surge": True}, WastedBurn),
    ("two out", {**ONE_OUT, "move": (7, 7)}, {"stat": "eyes"}, OutOfAction),
    ("beyond the stat", {"move": (7, 6)}, {"stat": "move", "dice_count": 5, "burn_stat": 2}, BurnTooLarge),
    ("six dice", SOUND, {"stat": "move", "dice_count": 5, "action_difficulty": 1}, InvalidValue),
    ("not on the sheet", {"move": (7, 0)}, {"stat": "soul"}, InvalidValue),
    ("burns for nobody", SOUND, {"stat": "move", "opponent_burns": 1}, InvalidValue),
    ("nobody of that name", SOUND, {"stat": "move", "opponent": "ogre"}, NotThere),
]


@pytest.mark.parametrize(("case", "stats", "asked", "faces", "outcome", "more"), WORKED, ids=lambda each: str(each)[:4])
def test_an_action_of_the_rules(case, stats, asked, faces, outcome, more):
    table = table_with(stats)
    rolled = roll(table, faces, **{**asked, "stat": Stat(asked["stat"])})
    assert rolled.outcome == outcome
    assert {name: getattr(rolled, name) for name in more} == more
    assert burns(table)[asked["stat"]] == rolled.burned.after
    assert table.get("b:zoe").surge is rolled.surge
    assert table.events[-1].type == "burn2d6.roll"


@pytest.mark.parametrize(("case", "stats", "asked", "refusal"), REFUSED, ids=lambda each: str(each)[:9])
def test_a_refused_action_changes_nothing(case, stats, asked, refusal):
    table = table_with(stats)
    before = dict(table.raw)
    with pytest.raises(refusal):
        roll(table, "1", **{**asked, "stat": Stat(asked["stat"])})
    assert table.raw == before


# Slots that help.

JETPACK = {"jetpack": (3, 1), "Épée d’or": (2, 0)}

HELP = [
    # burns asked of slots, dice rolled, burns after
    ({"jetpack": 1}, 4, [2, 0]),
    ({" JETPACK": 2}, 3, [3, 0]),
    ({"jetpack": 1, "épée d'or": 2}, 2, [2, 2]),
    ({"jetpack": 0}, 5, [1, 0]),
]

NO_HELP = [
    # burns asked of slots, refusal, member at fault
    ({"jetpack": 3}, BurnTooLarge, "burn_slots_by_name.jetpack"),
    ({"Epee d'or": 1}, InvalidValue, "burn_slots_by_name.Epee d'or"),  # an accent makes another name
    ({"move": 1}, InvalidValue, "burn_slots_by_name.move"),
    ({"jetpack": 1, "JETPACK": 1}, InvalidValue, "burn_slots_by_name.JETPACK"),
]


@pytest.mark.parametrize(("asked", "rolled", "after"), HELP)
def test_slots_burn_to_remove_dice(asked, rolled, after):
    table = table_with(slots=JETPACK)
    facts = roll(table, "1 " * rolled, stat=Stat.EYES, dice_count=5, burn_slots_by_name=asked)
    assert (facts.rolled, facts.burn_slots) == (rolled, sum(asked.values()))
    assert [burns(table)[name] for name in JETPACK] == after
    assert [each.burned.after - each.burned.before for each in facts.slots] == list(asked.values())


@pytest.mark.parametrize(("asked", "refusal", "field"), NO_HELP)
def test_a_slot_burns_what_it_has_left(asked, refusal, field):
    table = table_with(slots=JETPACK)
    with pytest.raises(refusal) as refused:
        roll(table, "1", stat=Stat.EYES, dice_count=5, burn_slots_by_name=asked)
    assert refused.value.field == field


# The surge.

SURGES = [
    # available, spent, faces of two dice, available after
    (True, False, "1 2", True),
    (True, True, "1", False),
    (True, True, "6", True),
    (False, False, "1 2", False),
    (False, False, "6 6", True),
]


@pytest.mark.parametrize(("available", "spend", "faces", "after"), SURGES)
def test_the_surge_is_spent_and_regained_by_rolls(available, spend, faces, after):
    table = table_with(surge=available)
    assert roll(table, faces, stat=Stat.MOVE, spend_surge=spend).surge is after
    assert table.get("b:zoe").surge is after


def test_a_used_surge_cannot_be_spent():
    table = table_with(surge=False)
    with pytest.raises(InvalidValue) as refused:
        roll(table, "1", stat=Stat.MOVE, spend_surge=True)
    assert refused.value.field == "spend_surge"
    with pytest.raises(InvalidValue) as refused:
        table.play(burn.strike, "zoe", {"move": 1}, spend_surge=True)
    assert refused.value.field == "spend_surge"
    with pytest.raises(InvalidValue):
        table.play(burn.spend_surge, "zoe")


def test_the_surge_bends_the_story_once():
    table = table_with()
    assert table.play(burn.spend_surge, "zoe").surge is False
    assert table.get("b:zoe").surge is False
    assert table.get("b:zoe").tally.stat_burns == 0
    assert table.events[-1].type == "burn2d6.surge"


# Opponents in the roll's step (B4).


def against(burn_max=4, **ogre):
    table = table_with()
    table.play(opponents.add, OpponentProfile(name="Ogre", burn_max=burn_max, **ogre), None)
    return table


@pytest.mark.parametrize(("own", "asked", "rolled"), [(0, 0, 2), (1, 0, 3), (3, 0, 5), (1, 2, 5)])
def test_an_opponent_adds_its_difficulty(own, asked, rolled):
    table = against(action_difficulty=own)
    facts = roll(table, "1 " * rolled, stat=Stat.MOVE, action_difficulty=asked, opponent="OGRE")
    assert (facts.rolled, facts.action_difficulty) == (rolled, own + asked)
    assert (facts.opponent.id, facts.opponent.action_difficulty) == ("ogre", own)


def test_difficulty_is_three_in_all():
    with pytest.raises(InvalidValue) as refused:
        roll(against(action_difficulty=2), "1", stat=Stat.MOVE, dice_count=1, action_difficulty=2, opponent="ogre")
    assert (refused.value.field, refused.value.data) == ("action_difficulty", {"most": 1})


@pytest.mark.parametrize(("points", "after"), [(0, (0, False, 0)), (3, (3, False, 0)), (4, (4, True, 0)), (9, (4, True, 5))])
@pytest.mark.parametrize("faces", ["1 1", "6 5"], ids=["success", "failure"])
def test_an_opponent_takes_what_the_table_says(faces, points, after):
    table = against()
    taken = roll(table, faces, stat=Stat.MOVE, opponent="ogre", opponent_burns=points).opponent
    assert (taken.burns, taken.defeated, taken.overflow) == after
    assert table.get("o:ogre").burns == after[0]
    assert table.events[-1].type == "burn2d6.roll"  # one step, one event


# Sheets.


def test_a_sheet_is_created_then_replaced():
    table = Table()
    created = table.play(burn_sheets.put, "zoe", sheet(ONE_OUT, {"jetpack": (3, 1)}))
    assert created.created
    assert (created.burned_out_stats, created.extra_dice, created.out_of_action) == ((Stat.HEART,), 1, False)
    assert created.version == table.version
    replaced = table.play(burn_sheets.put, "zoe", sheet({"eyes": (8, 8), "soul": (1, 1)}))
    assert not replaced.created
    assert (replaced.extra_dice, replaced.out_of_action, replaced.slots) == (0, True, ())
    assert replaced.version > created.version


@pytest.mark.parametrize(
    ("told", "field"),
    [
        ({"stats": {"move": (7, 8)}}, "stats.move.burned"),
        ({"slots": {"jetpack": (2, 3)}}, "slots[0].burned"),
        ({"slots": {"Move": (2, 0)}}, "slots[0].name"),
        ({"slots": {"jetpack": (2, 0), "ＪＥＴＰＡＣＫ": (1, 0)}}, "slots[1].name"),
        ({"slots": {" ": (2, 0)}}, "slots[0].name"),
    ],
)
def test_an_impossible_sheet_is_refused(told, field):
    with pytest.raises(InvalidValue) as refused:
        Table().play(burn_sheets.put, "zoe", sheet(**told))
    assert refused.value.field == field


SLOT = Slot("jetpack", 3)

RECORDS = [
    # what a record from elsewhere says, whether a step could have written it
    ({"stats": {Stat.MOVE: Burnable(7, 7)}, "slots": (SLOT,), "surge": False, "tally": Tally(stat_burns=3)}, True),
    ({"stats": {}}, False),
    ({"stats": {Stat.MOVE: Burnable(7, 8)}}, False),
    ({"stats": {Stat.MOVE: Burnable(21)}}, False),
    ({"slots": (Slot("jetpack", 3, 4),)}, False),
    ({"slots": (SLOT, SLOT)}, False),
    ({"slots": (Slot("Move", 1),)}, False),
    ({"slots": tuple(Slot(str(number), 1) for number in range(5))}, False),
    ({"tally": Tally(stats_burned_out=5)}, False),
]


@pytest.mark.parametrize(("told", "possible"), RECORDS)
def test_a_record_from_elsewhere_is_looked_at(told, possible):
    assert burn_sheets.is_possible(BurnSheet(**{"version": 1, "stats": {Stat.MOVE: Burnable(7)}, **told})) is possible


CHANGES = [
    # change, what the sheet says then
    ({"stats": {Stat.MOVE: StatChange(burned=2)}}, {"move": (7, 2), "soul": (6, 0)}),
    ({"stats": {Stat.MOVE: StatChange(value=9)}}, {"move": (9, 1)}),
    ({"stats": {Stat.MOVE: StatChange(burned=None)}}, {"move": (7, 0)}),
    ({"stats": {Stat.SOUL: None}}, {"soul": None}),
    ({"stats": {Stat.EYES: StatChange(value=3)}}, {"eyes": (3, 0)}),
    ({"slots": None}, {"jetpack": None}),
    ({"slots": (SheetSlot(name="sword", value=2),)}, {"jetpack": None, "sword": (2, 0)}),
    ({"adjust": {"move": -1, "JETPACK": 2}}, {"move": (7, 0), "jetpack": (3, 3)}),
    ({"stats": {Stat.MOVE: StatChange(burned=3)}, "adjust": {"move": 4}}, {"move": (7, 7)}),
]

WRONG_CHANGES = [
    # change, field at fault
    ({"adjust": {"move": -2}}, "adjust.move"),
    ({"adjust": {"move": 7}}, "adjust.move"),
    ({"adjust": {"jetpack": 3}}, "adjust.jetpack"),
    ({"adjust": {"sword": 1}}, "adjust.sword"),
    ({"adjust": {"move": 1, "MOVE": 1}}, "adjust.MOVE"),
    ({"stats": {Stat.MOVE: StatChange(burned=8)}}, "stats.move.burned"),
    ({"stats": {Stat.MOVE: StatChange(burned=8)}, "adjust": {"move": -1}}, "stats.move.burned"),
    ({"stats": {Stat.EYES: StatChange(burned=1)}}, "stats.eyes.value"),
    ({"stats": {Stat.MOVE: None, Stat.SOUL: None}}, "stats"),
]


def patched():
    return table_with({"move": (7, 1), "soul": (6, 0)}, {"jetpack": (3, 1)}, tally=StoryTally(stat_burns=1, slot_burns=1))


@pytest.mark.parametrize(("told", "after"), CHANGES)
def test_a_change_is_a_merge_patch(told, after):
    table = patched()
    facts = table.play(burn_sheets.change, "zoe", BurnSheetProfileChange(**told))
    places = {**facts.stats, **{slot.name: slot for slot in facts.slots}}
    assert {name: (p.value, p.burned) if (p := places.get(name)) else None for name in after} == after
    assert facts.tally == StoryTally(stat_burns=1, slot_burns=1)  # corrections count for none
    assert table.events[-1].type == "burn2d6.sheet"


@pytest.mark.parametrize(("told", "field"), WRONG_CHANGES)
def test_a_wrong_change_changes_nothing(told, field):
    table = patched()
    before = dict(table.raw)
    with pytest.raises(InvalidValue) as refused:
        table.play(burn_sheets.change, "zoe", BurnSheetProfileChange(**told))
    assert refused.value.field == field
    assert table.raw == before


@pytest.mark.parametrize(
    ("told", "surge", "tally"),
    [
        ({"surge": False}, False, (1, 1, 0)),
        ({"surge": None}, True, (1, 1, 0)),
        ({"tally": None}, True, (0, 0, 0)),
        ({"tally": TallyChange(stat_burns=5, slot_burns=None)}, True, (5, 0, 0)),
    ],
)
def test_surge_and_tally_can_be_corrected(told, surge, tally):
    facts = patched().play(burn_sheets.change, "zoe", BurnSheetProfileChange(**told))
    assert facts.surge is surge
    assert (facts.tally.stat_burns, facts.tally.slot_burns, facts.tally.stats_burned_out) == tally


def test_a_roll_that_burns_nothing_leaves_the_version():
    table = table_with()
    version = table.get("b:zoe").version
    assert roll(table, "1 2", stat=Stat.MOVE).sheet_version == version
    assert roll(table, "1", stat=Stat.MOVE, burn_stat=1).sheet_version == table.version > version


def test_without_a_sheet_nothing_is_played():
    for play, *told in (
        (burn_sheets.facts_of,),
        (burn_sheets.change, BurnSheetProfileChange()),
        (burn.roll, TableAction(stat=Stat.MOVE), Cast()),
        (burn.spend_surge,),
    ):
        for who in ("zoe", "nobody"):
            with pytest.raises(NotThere):
                Table().play(play, who, *told)


# B3: hits.

MOVE_5_OF_7 = {"move": (7, 5), "soul": (4, 3), "eyes": (6, 0), "heart": (5, 0)}

HITS = [
    # stats, hit, burns after, overflow, burned out, (extra dice, out of action)
    ({"move": (7, 5), "soul": (4, 3)}, {"move": 2, "soul": 2}, {"move": 7, "soul": 4}, 1, ["move", "soul"], (0, True)),
    (MOVE_5_OF_7, {"move": 1}, {"move": 6}, 0, [], (0, False)),
    (MOVE_5_OF_7, {"Move": 3}, {"move": 7}, 1, ["move"], (1, False)),  # B-R6: the excess spills nowhere
    (MOVE_5_OF_7, {"heart": 1, "soul": 1}, {"heart": 1, "soul": 4}, 0, ["soul"], (1, False)),
    (MOVE_5_OF_7, {"jetpack": 4, "eyes": 1}, {"jetpack": 3, "eyes": 1}, 2, [], (0, False)),
    (MOVE_5_OF_7, {"move": 0}, {"move": 5}, 0, [], (0, False)),
]


@pytest.mark.parametrize(("stats", "hit", "after", "overflow", "burned_out", "penalty"), HITS)
def test_a_hit_burns_the_sheet(stats, hit, after, overflow, burned_out, penalty):
    table = table_with(stats, {"jetpack": (3, 1)})
    before = sum(burns(table).values())
    wound = table.play(burn.strike, "zoe", hit, spend_surge=False)
    assert {name: burns(table)[name] for name in after} == after
    assert (wound.overflow, list(wound.burned_out_stats)) == (overflow, burned_out)
    assert (wound.extra_dice, wound.out_of_action) == penalty
    assert wound.tally.stat_burns + wound.tally.slot_burns == sum(burns(table).values()) - before
    assert table.events[-1].type == "burn2d6.damage"


def test_the_surge_avoids_a_hit():
    table = table_with()
    wound = table.play(burn.strike, "zoe", {"move": 99}, spend_surge=True)
    assert (wound.avoided, wound.surge, wound.overflow) == (True, False, 0)
    assert (table.get("b:zoe").surge, burns(table)["move"]) == (False, 0)


def test_a_hit_on_no_place_of_the_sheet_is_refused():
    with pytest.raises(InvalidValue) as refused:
        table_with({"move": (7, 0)}).play(burn.strike, "zoe", {"soul": 1}, spend_surge=False)
    assert refused.value.field == "hit.soul"


# B5: the story's tally.


def test_the_tally_counts_what_rolls_and_hits_burned():
    table = table_with({"move": (7, 2), "soul": (4, 0), "eyes": (6, 0)}, {"jetpack": (3, 0)})
    roll(table, "1", stat=Stat.MOVE, dice_count=4, burn_stat=2, burn_slots_by_name={"jetpack": 1})  # 2 and 1
    roll(table, "1", stat=Stat.EYES, spend_surge=True)  # a surge used as a burn counts for none
    table.play(burn.strike, "zoe", {"soul": 6, "jetpack": 1}, spend_surge=False)  # 4 of 6, 1, and soul is out
    table.play(burn_sheets.change, "zoe", BurnSheetProfileChange(adjust={"eyes": 3}))  # a correction counts for none
    built = table.play(burn.build, "zoe", Rates(), close=False)
    assert (built.stat_burns, built.slot_burns, built.stats_burned_out, built.build) == (6, 2, 1, 9)
    assert (built.default_rates, built.closed, built.event) == (True, False, None)


@pytest.mark.parametrize(("rates", "build"), [((1, 1, 1), 12), ((2, 0, 5), 23), ((0, 0, 0), 0)])
def test_build_points_at_the_tables_rates(rates, build):
    table = table_with(tally=StoryTally(stat_burns=9, slot_burns=2, stats_burned_out=1))
    told = Rates(stat_burn=rates[0], slot_burn=rates[1], stat_burned_out=rates[2])
    built = table.play(burn.build, "zoe", told, close=True)
    assert (built.build, built.closed, built.rates) == (build, True, told)
    assert table.play(burn.build, "zoe", told, close=False).build == 0
    assert table.events[-1].type == "burn2d6.build"


def test_the_tally_stops_where_its_bounds_are():
    table = table_with(tally=StoryTally(stat_burns=999, slot_burns=1_000, stats_burned_out=4), slots={"jetpack": (3, 0)})
    tally = table.play(burn.strike, "zoe", {"move": 7, "jetpack": 3}, spend_surge=False).tally
    assert tally == StoryTally(stat_burns=1_000, slot_burns=1_000, stats_burned_out=4)


# Who may.

PLAYS = [
    # play, what is told, who may for Zoé
    ((burn_sheets.put, sheet()), {GM, PLAYER, OF_ZOE}),
    ((burn_sheets.change, BurnSheetProfileChange()), {GM, PLAYER, OF_ZOE}),
    ((burn_sheets.facts_of,), {GM, PLAYER, OF_ZOE, CHAT, OBSERVER}),
    ((burn.roll, TableAction(stat=Stat.MOVE), fallen(1, 1)), {GM, PLAYER, OF_ZOE, CHAT}),
    ((burn.spend_surge,), {GM, PLAYER, OF_ZOE, CHAT}),
]


@pytest.mark.parametrize(("play", "who"), PLAYS, ids=lambda each: each[0].__name__ if isinstance(each, tuple) else "")
@pytest.mark.parametrize("by", [GM, PLAYER, OF_ZOE, CHAT, OBSERVER], ids=lambda token: token.id)
def test_who_may_what(play, who, by):
    table = table_with()
    if by in who:
        table.play(play[0], "zoe", *play[1:], by=by)
        return
    with pytest.raises(NotAllowed):
        table.play(play[0], "zoe", *play[1:], by=by)


def test_hits_and_build_are_for_who_plays_the_character():
    table = table_with()
    table.play(burn_sheets.put, "max", sheet())
    table.play(burn.strike, "zoe", {"move": 1}, spend_surge=False, by=CHAT)
    table.play(burn.build, "zoe", Rates(), close=False, by=CHAT)
    for play, *told in ((burn.strike, {"move": 1}), (burn.build, Rates())):
        last = {"spend_surge": False} if play is burn.strike else {"close": True}
        with pytest.raises(NotAllowed):
            table.play(play, "max", *told, **last, by=OF_ZOE)
        with pytest.raises(NotAllowed):
            table.play(play, "zoe", *told, **last, by=OBSERVER)
    with pytest.raises(NotAllowed):  # the story's end edits the sheet
        table.play(burn.build, "zoe", Rates(), close=True, by=CHAT)


def test_faces_from_outside_follow_the_tables_settings():
    table = Table(provided_faces="nobody")
    table.play(burn_sheets.put, "zoe", sheet())
    with pytest.raises(NotAllowed):
        roll(table, "1 1", stat=Stat.MOVE)


def test_a_secret_roll_burns_all_the_same():
    table = table_with()
    cast = Cast(faces=(6,), visibility=Visibility.BLIND)
    rolled = table.play(burn.roll, "zoe", TableAction(stat=Stat.MOVE, burn_stat=1), cast, by=PLAYER)
    assert (rolled.visibility, table.events[-1].visibility) == (Visibility.BLIND, "blind")
    assert burns(table)["move"] == 1


# Properties.

STATS = st.fixed_dictionaries({stat.value: st.integers(1, 20).map(lambda value: (value, 0)) for stat in Stat})
POINTS = st.integers(0, 6)
ACTIONS = st.fixed_dictionaries(
    {
        "stat": st.sampled_from(Stat),
        "dice_count": st.integers(1, 5),
        "burn_stat": st.integers(0, 3),
        "burn_slots_by_name": st.dictionaries(st.sampled_from(["jetpack", "sword"]), st.integers(0, 3)),
        "spend_surge": st.booleans(),
        "helpers": st.integers(0, 2),
    }
)
PLACES = [*(stat.value for stat in Stat), "jetpack", "sword"]
HIT = st.dictionaries(st.sampled_from(PLACES), POINTS, min_size=1)
EVENING = st.lists(st.one_of(st.tuples(st.just("roll"), ACTIONS), st.tuples(st.just("hit"), HIT)), max_size=12)


def played_evening(stats, evening, chance):
    """What came of each play that was not refused, and the table."""
    table, told = table_with(stats, {"jetpack": (3, 0), "sword": (0, 0)}), []
    for kind, asked in evening:
        before = dict(table.raw)
        try:
            if kind == "roll":
                facts = table.play(burn.roll, "zoe", TableAction(**asked), Cast(), chance=chance)
            else:
                facts = table.play(burn.strike, "zoe", asked, spend_surge=False)
        except (BurnTooLarge, InvalidValue, OutOfAction, WastedBurn):
            assert table.raw == before
            continue
        told.append((kind, asked, facts))
    return table, told


class Turning(Scripted):
    """Shows 1, 2, 3 and so on, around the die."""

    def __init__(self):
        super().__init__()
        self.said = 0

    def below(self, end):
        self.said += 1
        return (self.said - 1) % end


def burned_by(kind, facts):
    """Burns on stats and on slots that a roll or hit says it brought."""
    if kind == "roll":
        return facts.burn_stat, facts.burn_slots
    on_stats = sum(each.burns for each in facts.places if each.place in list(Stat))
    return on_stats, sum(each.burns for each in facts.places) - on_stats


@given(STATS, EVENING)
def test_burns_never_exceed_values_and_the_tally_is_their_sum(stats, evening):
    table, told = played_evening(stats, evening, Turning())
    facts = table.play(burn_sheets.facts_of, "zoe")
    assert all(0 <= each.burned <= each.value for each in [*facts.stats.values(), *facts.slots])
    taken = [burned_by(kind, each) for kind, _, each in told]
    assert (facts.tally.stat_burns, facts.tally.slot_burns) == tuple(map(sum, zip(*taken, strict=True))) if taken else (0, 0)
    assert facts.tally.stat_burns == sum(each.burned for each in facts.stats.values())
    assert facts.tally.slot_burns == sum(each.burned for each in facts.slots)
    assert facts.tally.stats_burned_out == len(facts.burned_out_stats)


@given(STATS, EVENING)
def test_the_same_faces_give_the_same_evening(stats, evening):
    table, told = played_evening(stats, evening, Turning())
    again = table_with(stats, {"jetpack": (3, 0), "sword": (0, 0)})
    for kind, asked, facts in told:
        if kind == "roll":
            faces = tuple(die.face for die in facts.dice)
            repeated = again.play(burn.roll, "zoe", TableAction(**asked), Cast(faces=faces))
            assert (repeated.total, repeated.outcome, repeated.tally) == (facts.total, facts.outcome, facts.tally)
        else:
            assert again.play(burn.strike, "zoe", asked, spend_surge=False) == facts
    assert again.raw == table.raw


def test_the_tables_dice_are_thrown_where_no_faces_are_given():
    table = table_with()
    chance = Scripted(*d6(3, 4))
    rolled = table.play(burn.roll, "zoe", TableAction(stat=Stat.MOVE), Cast(), chance=chance)
    assert [die.face for die in rolled.dice] == [3, 4]
    assert rolled.source == "service"
    with pytest.raises(FacesMismatch):
        roll(table, "1", stat=Stat.MOVE)
