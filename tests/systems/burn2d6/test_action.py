"""B1, B2: the action, row by row of rules.md."""

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from service.dice import DieKind, FacesMismatch, GivenFaces, Throw
from service.errors import BurnTooLarge, InvalidValue, OutOfAction, WastedBurn
from service.systems.burn2d6.action import Action, ActionDie, ActionRoll, Burned, Stat, roll_action

# Faces in rules.md's notation: "6 4". Exactly the dice that the action rolls.
WORKED = [
    # case, action, faces, outcome, what else the case says
    ("B1", {"value": 7}, "2 4", "success", {"total": 6, "margin": 1}),
    ("B2", {"value": 7}, "3 4", "partial_success", {"margin": 0}),
    ("B3", {"value": 7}, "6 2", "failure", {"margin": -1}),
    ("B4", {"value": 8, "dice_count": 4, "burn_stat": 2}, "3 4", "success", {"burned": Burned(0, 2)}),
    ("B5", {"value": 12}, "6 6", "partial_success", {"surge_regained": True, "surge_spent": False}),
    ("B6", {"value": 5, "spend_surge": True}, "4", "success", {"surge_spent": True, "surge_regained": False}),
    ("B8", {"value": 6, "burned_out_count": 1, "helpers": 1}, "2 3", "success", {"rolled": 2}),
    ("B9", {"value": 12, "dice_count": 5, "burned_out_count": 1}, "2 2 2 2 2 2", "partial_success", {"rolled": 6}),
    (
        "B10",
        {"value": 5, "dice_count": 1, "burned_out_count": 1, "spend_surge": True},
        "6",
        "failure",
        {"surge_spent": True, "surge_regained": True},
    ),
    (
        "B11",
        {"value": 4, "burned": 3, "burned_out_count": 1, "burn_stat": 1},
        "2 3",
        "failure",
        {"burned": Burned(3, 4), "stat_burned_out": True, "out_of_action": True},
    ),
]

REFUSED = [
    # case, action, refusal
    ("B7", {"value": 5, "dice_count": 1, "spend_surge": True}, WastedBurn),
    ("B12", {"value": 5, "burned": 5}, InvalidValue),
]

# B2: dice asked, penalty, and what removes them.
DICE_ROLLED = [
    # action, dice rolled
    ({}, 2),
    ({"dice_count": 1}, 1),
    ({"dice_count": 5}, 5),
    ({"dice_count": 2, "action_difficulty": 3}, 5),
    ({"dice_count": 1, "action_difficulty": 1}, 2),
    ({"burned_out_count": 1}, 3),
    ({"dice_count": 2, "action_difficulty": 3, "burned_out_count": 1}, 6),  # B-R3
    ({"dice_count": 5, "burn_stat": 1}, 4),
    ({"dice_count": 5, "burn_slots": 2}, 3),
    ({"dice_count": 5, "spend_surge": True}, 4),
    ({"dice_count": 5, "helpers": 3}, 2),
    ({"dice_count": 5, "burn_stat": 1, "burn_slots": 1, "spend_surge": True, "helpers": 1}, 1),
    ({"dice_count": 5, "burned_out_count": 1, "burn_stat": 5}, 1),
]

# The stat after the roll (B-R1, B-R5) and the character (B2).
BURNED = [
    # action, burned, stat burned out, out of action
    ({"value": 8, "burned": 3}, Burned(3, 3), False, False),
    ({"value": 8, "burned": 3, "burn_stat": 1}, Burned(3, 4), False, False),
    ({"value": 8, "burned": 7, "burn_stat": 1}, Burned(7, 8), True, False),
    ({"value": 8, "burned": 7, "burn_slots": 1}, Burned(7, 7), False, False),
    ({"value": 8, "burned": 8, "burned_out_count": 1}, Burned(8, 8), True, False),  # the one burned out is this one
    ({"value": 8, "burned": 7, "burned_out_count": 1}, Burned(7, 7), False, False),
    ({"value": 8, "burned": 7, "burned_out_count": 1, "burn_stat": 1}, Burned(7, 8), True, True),
    ({"value": 8, "burned": 7, "burned_out_count": 1, "spend_surge": True}, Burned(7, 7), False, False),
]

# All dice show 6, and nothing else is asked.
SURGE_REGAINED = [
    # action, faces, regained
    ({"value": 20}, "6 6", True),
    ({"value": 5}, "6 6", True),  # also on a failure
    ({"value": 7, "dice_count": 1}, "6", True),
    ({"value": 7, "spend_surge": True}, "6", True),  # also when it was spent on this roll
    ({"value": 7}, "6 5", False),
    ({"value": 7}, "5 6", False),
    ({"value": 7, "dice_count": 1}, "5", False),
]

# Each refusal, with what it says.
REFUSALS = [
    # action, refusal, its members
    (
        {"value": 5, "burned": 6, "burned_out_count": 1},
        InvalidValue,
        {"field": "burned", "problem": "burned_beyond_value", "data": {"burned": 6, "value": 5}},
    ),
    (
        {"value": 5, "burned": 5},
        InvalidValue,
        {"field": "burned_out_count", "problem": "burned_out_not_counted", "data": {"burned": 5, "value": 5}},
    ),
    (
        {"value": 5, "dice_count": 3, "action_difficulty": 3},
        InvalidValue,
        {"field": "dice_count", "problem": "too_many_dice", "data": {"asked": 6, "most": 5}},  # B-R2
    ),
    ({"value": 5, "burned_out_count": 2}, OutOfAction, {"burned_out": 2}),
    ({"value": 5, "burned": 5, "burned_out_count": 4}, OutOfAction, {"burned_out": 4}),
    (
        {"value": 5, "burned": 3, "dice_count": 5, "burn_stat": 3},
        BurnTooLarge,
        {"field": "burn_stat", "wanted": 3, "left": 2},  # B-R5
    ),
    (
        {"value": 5, "burned": 5, "burned_out_count": 1, "burn_stat": 1},
        BurnTooLarge,
        {"field": "burn_stat", "wanted": 1, "left": 0},
    ),
    ({"value": 5, "burn_stat": 2}, WastedBurn, {"removed": 2, "useful": 1, "fields": ("burn_stat",)}),  # B-R4
    ({"value": 5, "burn_slots": 2}, WastedBurn, {"removed": 2, "useful": 1, "fields": ("burn_slots",)}),
    ({"value": 5, "helpers": 2}, WastedBurn, {"removed": 2, "useful": 1, "fields": ("helpers",)}),
    (
        {"value": 5, "helpers": 1, "spend_surge": True},
        WastedBurn,
        {"removed": 2, "useful": 1, "fields": ("spend_surge", "helpers")},
    ),
    ({"value": 5, "dice_count": 1, "burn_slots": 1}, WastedBurn, {"removed": 1, "useful": 0, "fields": ("burn_slots",)}),
    ({"value": 5, "burned_out_count": 1, "helpers": 3}, WastedBurn, {"removed": 3, "useful": 2, "fields": ("helpers",)}),
]

# All faults at once, then put right one after the other: the first that is left is named.
ORDER_OF_REFUSALS = [
    # what is put right, refusal, field
    ({}, InvalidValue, "burned"),
    ({"burned": 5}, InvalidValue, "burned_out_count"),
    ({"burned": 5, "burned_out_count": 2}, InvalidValue, "dice_count"),
    ({"burned": 5, "burned_out_count": 2, "dice_count": 2}, OutOfAction, None),
    ({"burned": 5, "burned_out_count": 1, "dice_count": 2}, BurnTooLarge, "burn_stat"),
    ({"burned": 5, "burned_out_count": 1, "dice_count": 2, "burn_stat": 0}, WastedBurn, None),
]
ALL_FAULTS = Action(value=5, burned=6, dice_count=5, action_difficulty=3, burn_stat=9, helpers=6)


def play(action: Action, faces: str) -> ActionRoll:
    dice = GivenFaces([int(face) for face in faces.split()])
    roll = roll_action(action, dice)
    dice.finish()
    return roll


@pytest.mark.parametrize(("case", "action", "faces", "outcome", "members"), WORKED)
def test_worked_case(case, action, faces, outcome, members):
    roll = play(Action(**action), faces)
    assert roll.outcome == outcome
    assert {name: getattr(roll, name) for name in members} == members


@pytest.mark.parametrize(("case", "action", "refusal"), REFUSED)
def test_worked_case_is_refused(case, action, refusal):
    with pytest.raises(refusal):
        play(Action(**action), "")


@pytest.mark.parametrize(("action", "rolled"), DICE_ROLLED)
def test_dice_rolled(action, rolled):
    roll = play(Action(value=20, **action), " ".join("1" * rolled))
    assert (roll.rolled, len(roll.dice), roll.total) == (rolled, rolled, rolled)


@pytest.mark.parametrize(("action", "burned", "stat_burned_out", "out_of_action"), BURNED)
def test_burns_on_the_stat(action, burned, stat_burned_out, out_of_action):
    roll = roll_action(Action(dice_count=3, **action), GivenFaces([1, 2, 3, 4]))
    assert (roll.burned, roll.stat_burned_out, roll.out_of_action) == (burned, stat_burned_out, out_of_action)


def test_burns_do_not_lower_the_target():
    # B-R1
    assert play(Action(value=8, burned=6, dice_count=3, burn_stat=1), "3 4").outcome == "success"


def test_the_penalty_of_a_stat_burned_out_by_this_roll_starts_with_the_next():
    # B-R5
    roll = play(Action(value=8, burned=7, dice_count=3, burn_stat=1), "3 4")
    assert (roll.stat_burned_out, roll.extra_dice) == (True, 0)
    assert play(Action(value=8, burned=8, dice_count=3, burned_out_count=1), "1 2 3 4").extra_dice == 1


@pytest.mark.parametrize(("action", "faces", "regained"), SURGE_REGAINED)
def test_surge_regained(action, faces, regained):
    assert play(Action(**action), faces).surge_regained is regained


def test_the_whole_answer():
    action = Action(value=9, burned=3, dice_count=2, action_difficulty=3, burn_stat=1, burned_out_count=1, helpers=2)
    assert play(action, "5 1 4") == ActionRoll(
        dice_count=2,
        action_difficulty=3,
        extra_dice=1,
        burn_stat=1,
        burn_slots=0,
        helpers=2,
        rolled=3,
        dice=tuple(ActionDie(face=face, sides=6, kind=DieKind.ACTION, wave=0) for face in (5, 1, 4)),
        total=10,
        value=9,
        margin=-1,
        outcome="failure",
        burned=Burned(before=3, after=4),
        stat_burned_out=False,
        out_of_action=False,
        surge_spent=False,
        surge_regained=False,
    )


def test_what_is_not_said_is_two_dice_and_no_burn():
    assert Action(value=7) == msgspec.json.decode(b'{"value": 7}', type=Action)
    assert play(msgspec.json.decode(b'{"value": 7}', type=Action), "3 4").burned == Burned(0, 0)


def test_the_stats_in_the_books_order():
    assert list(Stat) == ["move", "soul", "eyes", "heart"]


@pytest.mark.parametrize(("action", "refusal", "members"), REFUSALS)
def test_refusals(action, refusal, members):
    with pytest.raises(refusal) as refused:
        roll_action(Action(**action), GivenFaces([]))
    assert vars(refused.value) == members


@pytest.mark.parametrize(("put_right", "refusal", "field"), ORDER_OF_REFUSALS)
def test_order_of_refusals(put_right, refusal, field):
    with pytest.raises(refusal) as refused:
        roll_action(replace(ALL_FAULTS, **put_right), GivenFaces([]))
    assert getattr(refused.value, "field", None) == field


MISMATCHES = [
    # faces for three dice, position, sides of the die that was missed, dice still needed
    ([], 0, None, 3),
    ([6], 1, None, 2),
    ([6, 7, 1], 1, 6, 2),
    ([0, 6, 1], 0, 6, 3),
]


@pytest.mark.parametrize(("faces", "at", "sides", "count"), MISMATCHES)
def test_faces_that_do_not_fit_the_action(faces, at, sides, count):
    with pytest.raises(FacesMismatch) as refused:
        roll_action(Action(value=7, dice_count=3), GivenFaces(faces))
    needed = (Throw(sides=6, kind=DieKind.ACTION, wave=0, count=count),)
    assert vars(refused.value) == {"at": at, "sides": sides, "needed": needed}


def test_a_face_too_many_does_not_fit():
    with pytest.raises(FacesMismatch):
        play(Action(value=7), "1 2 3")


BOUNDS = [
    # member, least, most
    ("value", 1, 20),
    ("burned", 0, 20),
    ("dice_count", 1, 5),
    ("action_difficulty", 0, 3),
    ("burn_stat", 0, 20),
    ("burn_slots", 0, 20),
    ("helpers", 0, 6),
    ("burned_out_count", 0, 4),
]


@pytest.mark.parametrize(("member", "least", "most"), BOUNDS)
def test_bounds_of_a_request(member, least, most):
    for number in (least, most):
        assert getattr(msgspec.convert({"value": 7, member: number}, Action), member) == number
    for number in (least - 1, most + 1):
        with pytest.raises(msgspec.ValidationError, match=member):
            msgspec.convert({"value": 7, member: number}, Action)


# a busy machine is no fault of a rule
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def actions(draw):
    """Actions that are played: what removes dice is taken from the dice there are."""
    value = draw(st.integers(1, 20))
    burned = draw(st.integers(0, value))
    burned_out_count = draw(st.integers(1 if burned == value else 0, 1))
    dice_count = draw(st.integers(1, 5))
    action_difficulty = draw(st.integers(0, min(3, 5 - dice_count)))
    room = dice_count + action_difficulty + burned_out_count - 1
    burn_stat = draw(st.integers(0, min(room, value - burned)))
    helpers = draw(st.integers(0, room - burn_stat))
    spend_surge = draw(st.booleans()) and room > burn_stat + helpers
    burn_slots = draw(st.integers(0, room - burn_stat - helpers - spend_surge))
    return Action(
        value=value,
        burned=burned,
        dice_count=dice_count,
        action_difficulty=action_difficulty,
        burn_stat=burn_stat,
        burn_slots=burn_slots,
        spend_surge=spend_surge,
        helpers=helpers,
        burned_out_count=burned_out_count,
    )


six_faces = st.lists(st.integers(1, 6), min_size=6, max_size=6)
any_action = st.builds(
    Action,
    spend_surge=st.booleans(),
    **{member: st.integers(least, most) for member, least, most in BOUNDS},
)


@unhurried
@given(actions(), six_faces)
def test_a_replay_of_its_own_faces_gives_the_same_answer(action, faces):
    roll = roll_action(action, GivenFaces(faces))
    assert play(action, " ".join(str(die.face) for die in roll.dice)) == roll


@unhurried
@given(actions(), six_faces)
def test_the_dice_add_up(action, faces):
    roll = roll_action(action, GivenFaces(faces))
    removed = roll.burn_stat + roll.burn_slots + roll.helpers + roll.surge_spent
    assert roll.rolled == len(roll.dice) == roll.dice_count + roll.action_difficulty + roll.extra_dice - removed
    assert roll.burned.after - roll.burned.before == action.burn_stat


@unhurried
@given(actions(), six_faces, st.sampled_from(["burn_slots", "helpers"]))
def test_one_burn_more_removes_a_die_or_is_refused(action, faces, member):
    roll = roll_action(action, GivenFaces(faces))
    more = replace(action, **{member: getattr(action, member) + 1})
    if roll.rolled == 1:
        with pytest.raises(WastedBurn):
            roll_action(more, GivenFaces(faces))
    else:
        fewer = roll_action(more, GivenFaces(faces))
        assert fewer.rolled == roll.rolled - 1
        assert fewer.margin == roll.margin + faces[roll.rolled - 1]


@unhurried
@given(actions() | any_action, six_faces)
def test_an_action_is_answered_within_its_contract_or_refused(action, faces):
    try:
        roll = roll_action(action, GivenFaces(faces))
    except (InvalidValue, OutOfAction, BurnTooLarge, WastedBurn):
        return
    assert msgspec.json.decode(msgspec.json.encode(roll), type=ActionRoll) == roll
