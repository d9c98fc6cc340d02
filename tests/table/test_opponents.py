"""B4 at a table: opponents, row by row."""

import pytest
from msgspec import UNSET

from service.errors import InvalidValue, NotAllowed, NotThere, QuotaExceeded
from service.table import opponents
from service.table.opponents import OpponentProfile, OpponentProfileChange
from service.table.records import Opponent
from tests.table.played import CHAT, GM, OBSERVER, PLAYER, Table

OGRE = OpponentProfile(name="Ogre", burn_max=5, action_difficulty=2)

# B4: burns before, points, then: burns, defeated, overflow.
BURNS = [
    # before, points, burns, defeated, overflow
    (0, 2, 2, False, 0),
    (3, 1, 4, False, 0),
    (3, 2, 5, True, 0),
    (3, 4, 5, True, 2),
    (5, 1, 5, True, 1),  # the defeated hold no more
    (0, 100, 5, True, 95),
]

# Ids are made from names.
IDS = [
    # names, in the order of their coming, ids
    (["Ogre"], ["ogre"]),
    (["L’Épée d’or"], ["l-epee-d-or"]),
    (["Ogre", "Ogre!", "Ogre?"], ["ogre", "ogre-2", "ogre-3"]),
    (["龍", "虎"], ["opponent", "opponent-2"]),
]

REFUSED = [
    # the second opponent, its id, field at fault
    ({"name": "ogre"}, None, "name"),
    ({"name": " ＯＧＲＥ "}, None, "name"),
    ({"name": "Troll"}, "ogre", "id"),
    ({"name": "\u200e"}, None, "name"),
    ({"name": "Troll", "burns": 6}, None, "burns"),
]

CHANGES = [
    # change, (burn_max, action_difficulty, burns)
    ({"burn_max": 9}, (9, 2, 3)),
    ({"action_difficulty": None}, (5, 0, 3)),
    ({"burns": None}, (5, 2, 0)),
    ({"burns": 5, "action_difficulty": 3}, (5, 3, 5)),
    ({}, (5, 2, 3)),
]


def table_with(**told):
    table = Table()
    table.play(opponents.add, OpponentProfile(**{"name": "Ogre", "burn_max": 5, "action_difficulty": 2, **told}), None)
    return table


@pytest.mark.parametrize(("before", "points", "burns", "defeated", "overflow"), BURNS)
def test_burns_of_an_opponent(before, points, burns, defeated, overflow):
    table = table_with(burns=before)
    burned = table.play(opponents.burn, "ogre", points)
    assert (burned.burns, burned.defeated, burned.overflow) == (burns, defeated, overflow)
    assert table.get("o:ogre").burns == burns
    assert table.play(opponents.one, "ogre").defeated is defeated
    assert table.events[-1].type == "opponent.burned"


@pytest.mark.parametrize(("names", "ids"), IDS)
def test_an_id_is_made_from_the_name(names, ids):
    table = Table()
    made = [table.play(opponents.add, OpponentProfile(name=name, burn_max=1), None).id for name in names]
    assert made == ids
    assert sorted(each.id for each in table.play(opponents.listed).opponents) == sorted(ids)


@pytest.mark.parametrize(("second", "identifier", "field"), REFUSED)
def test_two_opponents_are_told_apart(second, identifier, field):
    table = table_with()
    with pytest.raises(InvalidValue) as refused:
        table.play(opponents.add, OpponentProfile(**{"burn_max": 5, **second}), identifier)
    assert refused.value.field == field


@pytest.mark.parametrize("name", ["ogre", "Ogre", " OGRE", "ｏｇｒｅ"])
def test_an_opponent_is_found_however_its_name_is_typed(name):
    assert table_with().play(opponents.find, name) == "ogre"


def test_an_unknown_one_is_answered_with_the_nearest():
    for ask, near in ((opponents.find, "Ogre"), (opponents.one, "ogre")):
        with pytest.raises(NotThere) as refused:
            table_with().play(ask, "ogr")
        assert refused.value.nearest == (near,)


@pytest.mark.parametrize(("told", "after"), CHANGES)
def test_a_change_is_a_merge_patch(told, after):
    changed = table_with(burns=3).play(opponents.change, "ogre", OpponentProfileChange(**told))
    assert (changed.burn_max, changed.action_difficulty, changed.burns) == after


def test_a_change_cannot_leave_more_burns_than_it_holds():
    table = table_with(burns=3)
    with pytest.raises(InvalidValue):
        table.play(opponents.change, "ogre", OpponentProfileChange(burn_max=2))
    assert table.get("o:ogre").burn_max == 5


def test_a_name_may_be_respelt_but_not_taken():
    table = table_with()
    table.play(opponents.add, OpponentProfile(name="Troll", burn_max=1), None)
    assert table.play(opponents.change, "ogre", OpponentProfileChange(name="OGRE")).name == "OGRE"
    with pytest.raises(InvalidValue):
        table.play(opponents.change, "ogre", OpponentProfileChange(name="troll"))
    assert OpponentProfileChange().name is UNSET


def test_a_deleted_one_is_gone_and_its_name_is_free():
    table = table_with(burns=5)
    assert table.play(opponents.delete, "ogre").defeated
    assert table.play(opponents.listed).opponents == ()
    assert table.play(opponents.add, OGRE, None).id == "ogre"
    assert [event.type for event in table.events] == ["opponent.put", "opponent.deleted", "opponent.put"]


@pytest.mark.parametrize(
    ("record", "possible"),
    [
        ({"burns": 5, "action_difficulty": 3}, True),
        ({"burns": 6}, False),
        ({"burn_max": 0}, False),
        ({"burn_max": 1_001}, False),
        ({"action_difficulty": 4}, False),
        ({"name": "x" * 65}, False),
        ({"name": " Ogre"}, False),
    ],
)
def test_a_record_from_elsewhere_is_looked_at(record, possible):
    assert opponents.is_possible(Opponent(**{"name": "Ogre", "burn_max": 5, **record})) is possible


@pytest.mark.parametrize("by", [PLAYER, CHAT, OBSERVER], ids=lambda token: token.id)
def test_opponents_are_the_gms_and_everybody_sees_them(by):
    table = table_with()
    for play, *told in (
        (opponents.add, OGRE, None),
        (opponents.change, "ogre", OpponentProfileChange(burns=1)),
        (opponents.delete, "ogre"),
        (opponents.burn, "ogre", 1),
    ):
        with pytest.raises(NotAllowed):
            table.play(play, *told, by=by)
    assert table.play(opponents.one, "ogre", by=by) == table.play(opponents.one, "ogre", by=GM)
    assert len(table.play(opponents.listed, by=by).opponents) == 1


def test_a_table_has_a_hundred_opponents_at_most():
    table = Table()
    for number in range(opponents.MOST_OPPONENTS):
        table.play(opponents.add, OpponentProfile(name=f"Rat {number}", burn_max=1), None)
    with pytest.raises(QuotaExceeded):
        table.play(opponents.add, OpponentProfile(name="Rat king", burn_max=9), None)
