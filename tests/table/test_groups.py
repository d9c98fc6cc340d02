"""One roll for several characters, or one hit on several: in one step, which stands or falls as a whole."""

import pytest

from service.dice import DieKind, FacesMismatch, FacesSource, Throw
from service.errors import InvalidValue, NobodyToPick, NotAllowed, NotThere
from service.systems.sixd6.character import Aptitude, Qualification
from service.systems.sixd6.damage import Protection, Threat
from service.table import cards, characters, decks, hits, rolls
from service.table.audience import Visibility
from service.table.cards import Wanted
from service.table.characters import ProfileChange
from service.table.hits import HitWait, Soaked, Struck
from service.table.rolls import Cast, Notice, PoolAsked
from tests.table.played import CHAT, GM, OBSERVER, OF_ZOE, PLAYER, Scripted, Table, d6, fallen, give, with_sheet

PRESENT = None
BY_NAME = {"aptitude": Aptitude.CONTROL, "qualification": Qualification.SHOOTING}


def seated(absent=()):
    table = Table("Zoé", "Max", "Ana")
    for who in absent:
        table.play(characters.change, who, ProfileChange(present=False))
    return table


def roll(table, group, *faces, by=GM, chance=None, cast=None, **asked):
    return table.play(rolls.roll_group, group, PoolAsked(**asked), cast or fallen(*faces), by=by, chance=chance)


def faces(facts):
    return {each.character: [die.face for die in each.dice] for each in facts.results}


SHARED = [
    # group, absent, faces (two base dice each), who rolled what, in this order
    (("zoe",), (), [5, 2], {"zoe": [5, 2]}),
    (("zoe", "max"), (), [5, 2, 3, 3], {"zoe": [5, 2], "max": [3, 3]}),
    (("max", "zoe"), (), [5, 2, 3, 3], {"max": [5, 2], "zoe": [3, 3]}),
    (("zoe", "max"), (), [6, 2, 1, 3, 3], {"zoe": [6, 2, 1], "max": [3, 3]}),  # rerolls before the next one's dice
    (("ana", "max"), ("ana",), [1, 1, 2, 2], {"ana": [1, 1], "max": [2, 2]}),  # named, if absent
    (PRESENT, (), [1, 1, 2, 2, 3, 3], {"ana": [1, 1], "max": [2, 2], "zoe": [3, 3]}),
    (PRESENT, ("max",), [1, 1, 2, 2], {"ana": [1, 1], "zoe": [2, 2]}),
]


@pytest.mark.parametrize(("group", "absent", "given", "rolled"), SHARED)
def test_faces_are_shared_out_in_order(group, absent, given, rolled):
    table = seated(absent)
    seen = len(table.events)
    facts = roll(table, group, *given, base=2)
    assert list(faces(facts).items()) == list(rolled.items())
    (event,) = table.events[seen:]
    assert (event.type, event.data, event.character) == ("sixd6.group_roll", facts, None)
    assert {each.event for each in facts.results} == {facts.event} == {str(table.version)}
    assert (facts.single, {each.source for each in facts.results}) == (False, {FacesSource.PROVIDED})


def test_each_rolls_its_own_sheets_pool():
    table = with_sheet(with_sheet(seated(), control=1), "max", control=2, shooting=1)
    facts = roll(table, ("zoe", "max"), 5, 1, 2, 3, **BY_NAME)
    assert faces(facts) == {"zoe": [5], "max": [1, 2, 3]}
    assert [each.base for each in facts.results] == [1, 3]


def test_each_is_dealt_its_own_cards():
    table = seated()
    facts = roll(table, ("zoe", "max", "ana"), 1, 1, 5, 2, 6, 1, 1, base=0, red=2)
    assert [[card.id for card in each.drawn] for each in facts.results] == [
        ["light-1", "light-2"],
        [],
        ["light-3", "light-4"],
    ]
    assert table.piles("light")[2] == {1: "zoe", 2: "zoe", 3: "ana", 4: "ana"}


def test_the_last_ones_go_without_where_the_deck_ends():
    table = seated()
    table.play(decks.draw, "light", 41, holder=decks.TABLE)
    facts = roll(table, PRESENT, 1, 1, 1, base=0, red=1)
    assert [(each.character, len(each.drawn), each.undealt) for each in facts.results] == [
        ("ana", 1, 0),
        ("max", 1, 0),
        ("zoe", 0, 1),
    ]


def test_the_tables_dice():
    chance = Scripted(*d6(5, 6, 2))
    facts = roll(seated(), ("zoe", "max"), cast=Cast(), chance=chance, base=1)
    assert (faces(facts), chance.left) == ({"zoe": [5], "max": [6, 2]}, [])
    assert {each.source for each in facts.results} == {FacesSource.SERVICE}


RESTS = [
    # faces given, chance, source
    ([5], d6(3), FacesSource.MIXED),
    ([5, 3], [], FacesSource.PROVIDED),
    ([], d6(5, 3), FacesSource.SERVICE),
]


@pytest.mark.parametrize(("given", "said", "source"), RESTS)
def test_the_rest_may_be_rolled(given, said, source):
    chance = Scripted(*said)
    facts = roll(seated(), ("zoe", "max"), cast=Cast(faces=given, roll_rest=True), chance=chance, base=1)
    assert (faces(facts), chance.left) == ({"zoe": [5], "max": [3]}, [])
    assert {each.source for each in facts.results} == {source}


def test_secret_ones_deal_no_card_and_keep_their_visibility():
    table = seated()
    facts = roll(table, ("zoe", "max"), cast=Cast(faces=[1, 1], visibility=Visibility.GM), red=1, base=0)
    assert [each.drawn for each in facts.results] == [(), ()]
    assert (facts.visibility, table.events[-1].visibility) == (Visibility.GM, "gm")


def test_a_label_is_every_ones():
    facts = roll(seated(), ("zoe", "max"), cast=Cast(faces=[5, 5], label="Leap"), base=1)
    assert [each.label for each in facts.results] == ["Leap", "Leap"]


def test_a_group_that_rolls_by_name_repeats_itself():
    """Each is a roll of its own: after the first, the qualification has been used."""
    table = with_sheet(with_sheet(seated()), "max")
    table.play(cards.apply, give(table, "team-breakdown", "ana"), Wanted())
    facts = roll(table, ("zoe", "max"), **BY_NAME)
    assert [each.notices for each in facts.results] == [(), (Notice.REPEATED_QUALIFICATION,)]


# One hit on several.

LIGHT, HEAVY = Protection


def strike(table, group, *given, by=GM, cast=None, chance=None, **asked):
    return table.play(
        hits.strike_group, group, Struck(**{"die": Threat.D6, **asked}), cast or fallen(*given), by=by, chance=chance
    )


def test_each_has_a_damage_die_protections_and_a_soak_of_its_own():
    table = with_sheet(seated(), physique=1, damage=1, protections=(LIGHT,))
    with_sheet(table, "max", physique=2, endurance=1, protections=(HEAVY,))
    seen = len(table.events)
    facts = strike(table, ("zoe", "max"), 4, 6, 3, 1, 6, 2, soak=Soaked(kind="grit"))
    assert [(each.character, each.rolled_die, each.damage) for each in facts.results] == [("zoe", "d6", 1), ("max", "d4", 1)]
    assert [each.protections_destroyed for each in facts.results] == [(LIGHT,), (HEAVY,)]
    after = [table.get(f"s:{who}") for who in ("zoe", "max")]
    assert [(each.damage, each.protections) for each in after] == [(2, ()), (1, ())]
    (event,) = table.events[seen:]
    assert (event.type, event.data, event.character) == ("sixd6.group_damage", facts, None)


def test_a_hit_on_all_who_are_present():
    table = seated(absent=("max",))
    facts = strike(table, PRESENT, 5, 3)
    assert [(each.character, each.damage, each.state) for each in facts.results] == [
        ("ana", 5, "resolved"),
        ("zoe", 3, "resolved"),
    ]


def test_a_hits_red_ones_are_each_ones_own():
    facts = strike(seated(), ("zoe", "max"), 4, 1, 4, 2, soak=Soaked(kind="grit", base=0, red=1))
    assert [[card.id for card in each.drawn] for each in facts.results] == [["light-1"], []]


def test_the_rest_of_a_hit_may_be_rolled():
    facts = strike(seated(), ("zoe", "max"), cast=Cast(faces=[5], roll_rest=True), chance=Scripted((6, 2)))
    assert [each.damage for each in facts.results] == [5, 3]
    assert {each.source for each in facts.results} == {FacesSource.MIXED}


HITS_REFUSED = [
    # group, by, what is asked, faces, refusal
    (("zoe", "nobody"), GM, {}, [5, 5], NotThere),
    (("zoe", "max"), OF_ZOE, {}, [5, 5], NotAllowed),
    (PRESENT, OBSERVER, {}, [5, 5, 5], NotAllowed),
    (("zoe", "max"), GM, {"wait": HitWait.SOAK}, [5, 5], InvalidValue),
    (("zoe", "max"), GM, {"soak": Soaked(kind="grit")}, [5, 5], InvalidValue),  # Max has no sheet
    (("max", "zoe"), GM, {"protections": frozenset((LIGHT,))}, [5, 5], InvalidValue),  # Zoé does not wear it
    (("zoe", "max"), GM, {}, [5], FacesMismatch),
    (("zoe", "max"), GM, {}, [5, 5, 5], FacesMismatch),
]


@pytest.mark.parametrize(("group", "by", "asked", "given", "refusal"), HITS_REFUSED)
def test_all_are_struck_or_none(group, by, asked, given, refusal):
    table = with_sheet(seated())
    before = dict(table.raw)
    with pytest.raises(refusal):
        strike(table, group, *given, by=by, **asked)
    assert table.raw == before


# What is refused.

REFUSED = [
    # group, by, what is asked, faces, refusal
    (("zoe", "nobody"), GM, {"base": 1}, [5, 5], NotThere),
    (("zoe", "max"), OF_ZOE, {"base": 1}, [5, 5], NotAllowed),
    (PRESENT, OF_ZOE, {"base": 1}, [5, 5, 5], NotAllowed),
    (("zoe",), OBSERVER, {"base": 1}, [5], NotAllowed),
    (("zoe", "ana"), GM, BY_NAME, [], InvalidValue),  # Ana has no sheet
    (("zoe", "max"), GM, {}, [], InvalidValue),
    (("zoe", "max"), GM, {"base": 0, "red": 1}, [1], FacesMismatch),
    (("zoe", "max"), GM, {"base": 0, "red": 1}, [1, 1, 1], FacesMismatch),
]


@pytest.mark.parametrize(("group", "by", "asked", "given", "refusal"), REFUSED)
def test_all_or_none(group, by, asked, given, refusal):
    table = with_sheet(seated())
    before = dict(table.raw)
    with pytest.raises(refusal):
        roll(table, group, *given, by=by, **asked)
    assert table.raw == before


def test_missing_faces_are_the_next_ones():
    with pytest.raises(FacesMismatch) as refusal:
        roll(seated(), ("zoe", "max"), 6, 2, base=1, red=0)
    assert (refusal.value.at, refusal.value.needed) == (2, (Throw(6, DieKind.BASE, 0, 1),))


@pytest.mark.parametrize(("token", "group"), [(GM, PRESENT), (PLAYER, PRESENT), (CHAT, PRESENT), (OF_ZOE, ("zoe",))])
def test_who_may(token, group):
    assert roll(seated(), group, *[5] * (3 if group is PRESENT else 1), by=token, base=1).roller == token.id


def test_where_nobody_is_present_nobody_rolls():
    table = seated(absent=("zoe", "max", "ana"))
    before = dict(table.raw)
    for play, asked in ((rolls.roll_group, PoolAsked(base=1)), (hits.strike_group, Struck(die=Threat.D6))):
        with pytest.raises(NobodyToPick):
            table.play(play, PRESENT, asked, Cast())
    assert table.raw == before


@pytest.mark.anyio
async def test_a_group_over_http(table):
    answer = await table.ask("POST /sixd6/rolls", {"characters": "present", "base": 1, "red": 1, "faces": [5, 1, 2, 3]})
    told = answer.json()
    assert [each["character"] for each in told["results"]] == ["max", "zoe"]
    assert [len(each["drawn"]) for each in told["results"]] == [1, 0]
    assert "Zoé" in told["text"]
    assert "Max" in told["text"]
    events = (await table.get("/events"))["events"]
    assert [event["type"] for event in events] == ["sixd6.group_roll"]
    struck = await table.ask("POST /sixd6/damage", {"characters": ["zoe", "max"], "die": "d6", "faces": [5, 3]})
    assert [each["damage"] for each in struck.json()["results"]] == [5, 3]


@pytest.mark.anyio
@pytest.mark.parametrize(("line", "body"), [("/sixd6/rolls", {"base": 1}), ("/sixd6/damage", {"die": "d6"})])
async def test_nobody_is_present(table, line, body):
    for who in ("zoe", "max"):
        await table.ask(f"PATCH /characters/{who}", {"present": False})
    answer = await table.ask(f"POST {line}", {"characters": "present", **body})
    assert (answer.status_code, answer.json()["code"]) == (409, "nobody-to-pick")


WRONG = [
    # body, member at fault
    ({"characters": [], "base": 1}, "body.characters"),
    ({"characters": "everybody", "base": 1}, "body.characters"),
    ({"characters": ["Zoé"], "base": 1}, "body.characters[0]"),
    ({"base": 1, "character": "zoe"}, "body.character"),
]


@pytest.mark.anyio
@pytest.mark.parametrize(("body", "at"), WRONG)
async def test_a_group_that_cannot_be(table, body, at):
    answer = await table.ask("POST /sixd6/rolls", body)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")
    assert answer.json()["errors"][0]["at"] == at
    assert (await table.get("/state"))["last_event"] == "1"
