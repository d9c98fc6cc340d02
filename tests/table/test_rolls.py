"""Rolls at a table: the stateless rule, and in the same step the cards that its red ones draw (R3, R19)."""

import pytest

from service.dice import DieKind, FacesMismatch, FacesSource, Throw
from service.errors import InvalidValue, NobodyToPick, NotAllowed, NotThere
from service.systems.sixd6.character import Aptitude, Qualification
from service.systems.sixd6.pool import Difficulty, Outcome
from service.table import characters, decks, rolls, sheets
from service.table.audience import Visibility
from service.table.characters import ProfileChange
from service.table.rolls import Cast, PoolAsked
from tests.table.played import CHAT, GM, OBSERVER, OF_ZOE, PLAYER, Scripted, Table, d6, fallen


def roll(table, character, faces, base=None, red=0, by=GM, chance=None, **cast):
    """The dice that are not red come first."""
    asked = PoolAsked(base=len(faces) - red if base is None else base, red=red)
    return table.play(rolls.roll_sixd6, character, asked, Cast(faces=faces, **cast), by=by, chance=chance)


# R3: one card for each red 1. Base dice first, then red ones, then rerolls.
RED = [
    # base, red, faces, cards dealt
    (2, 0, [1, 1], []),
    (1, 1, [1, 2], []),
    (1, 1, [2, 1], [1]),
    (0, 3, [1, 1, 1], [1, 2, 3]),
    (1, 1, [6, 6, 1, 1], [1]),  # R2: the red reroll shows 1; the other 1 is a base die's
    (0, 2, [1, 6, 1], [1, 2]),
]


@pytest.mark.parametrize(("base", "red", "faces", "dealt"), RED)
def test_each_red_one_deals_a_light_card_in_the_same_step(base, red, faces, dealt):
    table = Table()
    facts = roll(table, "zoe", faces, base=base, red=red)
    assert [card.id for card in facts.drawn] == [f"light-{number}" for number in dealt]
    assert (facts.complications, facts.undealt) == (len(dealt), 0)
    assert table.piles("light")[2] == dict.fromkeys(dealt, "zoe")
    assert [event.type for event in table.events] == ["sixd6.roll"]


NOTHING_DEALT = [
    # character, cast
    (None, {}),
    ("zoe", {"deal": False}),
    ("zoe", {"visibility": Visibility.GM}),
    ("zoe", {"visibility": Visibility.BLIND}),
    ("zoe", {"visibility": Visibility.SELF}),
]


@pytest.mark.parametrize(("character", "cast"), NOTHING_DEALT)
def test_secret_rolls_and_rolls_for_nobody_deal_no_cards(character, cast):
    table = Table()
    facts = roll(table, character, [1, 1], red=2, **cast)
    assert (facts.complications, facts.drawn, facts.undealt) == (2, (), 0)
    assert table.piles("light") == ([*range(1, 44)], [], {})
    assert table.events[-1].visibility == facts.visibility == cast.get("visibility", "public")


# R19: three red ones at a table whose light deck has few cards left.
FEW = [
    # pile, discarded, reshuffle, cards dealt, undealt
    (2, 0, "when_empty", 2, 1),
    (0, 0, "when_empty", 0, 3),
    (1, 2, "when_empty", 3, 0),
    (1, 1, "when_empty", 2, 1),
    (1, 2, "never", 1, 2),
]


@pytest.mark.parametrize(("pile", "discarded", "reshuffle", "dealt", "undealt"), FEW)
def test_a_roll_stands_where_cards_are_missing(pile, discarded, reshuffle, dealt, undealt):
    table = Table(reshuffle=reshuffle)
    table.play(decks.draw, "light", 43 - pile - discarded, holder="max")
    if discarded:
        table.play(decks.draw, "light", discarded, holder=None)
    facts = roll(table, "zoe", [1, 1, 1], red=3)
    assert (facts.complications, len(facts.drawn), facts.undealt) == (3, dealt, undealt)
    assert list(table.piles("light")[2].values()).count("zoe") == dealt


def test_what_a_roll_tells():
    table = Table()
    asked = PoolAsked(base=1, red=1, difficulty=Difficulty.HARD)
    cast = Cast(faces=(6, 6, 5, 1), label="Kick the door")
    facts = table.play(rolls.roll_sixd6, "zoe", asked, cast, by=OF_ZOE)
    assert (facts.outcome, facts.successes, facts.margin) == (Outcome.CRITICAL_SUCCESS, 3, 0)
    assert (facts.character, facts.character_name, facts.label) == ("zoe", "Zoé", "Kick the door")
    assert (facts.source, facts.visibility, facts.roller) == (FacesSource.PROVIDED, Visibility.PUBLIC, "of-zoe")
    assert facts.event == str(table.version)
    told = table.events[-1]
    assert (told.type, told.character, told.data, told.actor.token) == ("sixd6.roll", "zoe", facts, "of-zoe")


def test_the_table_s_dice_roll_what_nobody_threw():
    table, chance = Table(), Scripted(*d6(6, 2, 1))
    facts = table.play(rolls.roll_sixd6, "zoe", PoolAsked(base=2), Cast(), chance=chance)
    assert [die.face for die in facts.dice] == [6, 2, 1]
    assert (facts.source, chance.left) == (FacesSource.SERVICE, [])
    chance = Scripted(*d6(6, 2))
    mixed = roll(table, "zoe", [1], base=2, roll_rest=True, chance=chance)
    assert [die.face for die in mixed.dice] == [1, 6, 2]
    assert (mixed.source, chance.left) == (FacesSource.MIXED, [])


FACES = [
    # setting, token, may bring faces
    ("everyone", GM, True),
    ("everyone", PLAYER, True),
    ("everyone", CHAT, True),
    ("everyone", OF_ZOE, True),
    ("gm", GM, True),
    ("gm", PLAYER, False),
    ("gm", CHAT, False),
    ("gm", OF_ZOE, False),
    ("nobody", GM, False),
    ("nobody", PLAYER, False),
]


@pytest.mark.parametrize("rest", [False, True])
@pytest.mark.parametrize(("setting", "token", "may"), FACES)
def test_who_may_bring_faces(setting, token, may, rest):
    table = Table(provided_faces=setting)
    if may:
        assert roll(table, "zoe", [5], by=token, roll_rest=rest).source is FacesSource.PROVIDED
    else:
        with pytest.raises(NotAllowed) as refusal:
            roll(table, "zoe", [5], by=token, roll_rest=rest)
        assert refusal.value.reason == "faces"
    own = table.play(rolls.roll_sixd6, "zoe", PoolAsked(base=1), Cast(roll_rest=rest), by=token, chance=Scripted((6, 1)))
    assert own.source is FacesSource.SERVICE


MISMATCHES = [
    # faces for 1 base and 2 red dice, at, needed
    ([1], 1, (Throw(6, DieKind.RED, 0, 2),)),
    ([1, 1, 6], 3, (Throw(6, DieKind.RED, 1, 1),)),
    ([1, 1, 7], 2, (Throw(6, DieKind.RED, 0, 1),)),
    ([1, 1, 1, 1], 3, ()),
]


@pytest.mark.parametrize(("faces", "at", "needed"), MISMATCHES)
def test_faces_that_do_not_fit_deal_no_card(faces, at, needed):
    table = Table()
    with pytest.raises(FacesMismatch) as refusal:
        roll(table, "zoe", faces, base=1, red=2)
    assert (refusal.value.at, refusal.value.needed) == (at, needed)
    assert (table.piles("light")[2], table.events) == ({}, [])


def test_a_sheet_gives_the_base_dice_by_name():
    table = Table()
    sheet = sheets.Sheet(aptitudes={Aptitude.CONTROL: 2}, qualifications={Qualification.SHOOTING: 1, Qualification.DODGE: 3})
    table.play(sheets.put, "zoe", sheet)
    for qualification, dice in ((Qualification.SHOOTING, 3), (Qualification.DODGE, 5), (Qualification.WETWARE, 2)):
        asked = PoolAsked(aptitude=Aptitude.CONTROL, qualification=qualification)
        assert len(table.play(rolls.roll_sixd6, "zoe", asked, fallen(*[2] * dice)).dice) == dice


NAMED = [
    # character, base, aptitude, qualification, member at fault
    ("max", None, Aptitude.CONTROL, Qualification.DODGE, "aptitude"),  # no sheet
    (None, None, Aptitude.CONTROL, Qualification.DODGE, "aptitude"),
    ("max", None, None, None, "base"),
    ("max", 1, Aptitude.CONTROL, Qualification.DODGE, "base"),
    ("max", None, Aptitude.CONTROL, None, "base"),
    ("max", 1, None, Qualification.DODGE, "base"),
]


@pytest.mark.parametrize(("character", "base", "aptitude", "qualification", "member"), NAMED)
def test_a_pool_has_a_base_or_names(character, base, aptitude, qualification, member):
    asked = PoolAsked(base=base, aptitude=aptitude, qualification=qualification)
    with pytest.raises(InvalidValue) as refusal:
        Table().play(rolls.roll_sixd6, character, asked, Cast(), chance=Scripted())
    assert refusal.value.field == member


WHO = [
    # token, for, allowed
    (PLAYER, "max", True),
    (PLAYER, None, True),
    (CHAT, "max", True),
    (CHAT, None, True),
    (OF_ZOE, "zoe", True),
    (OF_ZOE, "max", False),
    (OF_ZOE, None, False),
    (OBSERVER, "zoe", False),
    (OBSERVER, None, False),
]


@pytest.mark.parametrize(("token", "character", "allowed"), WHO)
def test_who_may_roll_for_whom(token, character, allowed):
    table = Table()
    if allowed:
        assert roll(table, character, [5], by=token).roller == token.id
    else:
        with pytest.raises(NotAllowed):
            roll(table, character, [5], by=token)


def test_nobody_rolls_for_who_is_not_there():
    with pytest.raises(NotThere) as refusal:
        roll(Table(), "zoo", [5])
    assert refusal.value.nearest


# A group rolls in one step, in the order that it is named in.


def roll_group(table, group, faces, base=1, red=0, **more):
    cast = {name: more.pop(name) for name in ("visibility", "roll_rest") if name in more}
    return table.play(rolls.roll_group, group, PoolAsked(base=base, red=red), Cast(faces=faces, **cast), **more)


def test_a_group_shares_the_faces_out():
    table = Table("Zoé", "Max", "Ana")
    facts = roll_group(table, ("max", "zoe"), [6, 1, 1, 5, 1], red=1)
    assert [(each.character, [die.face for die in each.dice]) for each in facts.results] == [
        ("max", [6, 1, 1]),
        ("zoe", [5, 1]),
    ]
    assert [[card.id for card in each.drawn] for each in facts.results] == [["light-1"], ["light-2"]]
    assert table.piles("light")[2] == {1: "max", 2: "zoe"}
    assert [(event.type, event.data) for event in table.events] == [("sixd6.group_roll", facts)]


def test_a_group_is_whoever_is_present_unless_it_is_named():
    table = Table("Zoé", "Max", "Ana")
    table.play(characters.change, "max", ProfileChange(present=False))
    assert [each.character for each in roll_group(table, None, [5, 2]).results] == ["ana", "zoe"]
    assert [each.character for each in roll_group(table, ("max",), [5]).results] == ["max"]


def test_nobody_present_is_no_group():
    table = Table("Zoé")
    table.play(characters.change, "zoe", ProfileChange(present=False))
    with pytest.raises(NobodyToPick):
        roll_group(table, None, [])


GROUPS = [
    # group, faces, refusal
    (("zoe", "nobody"), [5, 5], NotThere),
    (("zoe", "max"), [5], FacesMismatch),
    (("zoe", "max"), [1, 1, 5], FacesMismatch),
]


@pytest.mark.parametrize(("group", "faces", "error"), GROUPS)
def test_a_group_rolls_whole_or_not_at_all(group, faces, error):
    table = Table()
    with pytest.raises(error):
        roll_group(table, group, faces, base=0, red=1)
    assert (table.piles("light")[2], table.events) == ({}, [])


def test_a_bound_player_rolls_for_no_group_of_others():
    table = Table()
    assert len(roll_group(table, ("zoe",), [5], by=OF_ZOE).results) == 1
    with pytest.raises(NotAllowed):
        roll_group(table, ("zoe", "max"), [5, 5], by=OF_ZOE)


SOURCES = [
    # faces for two, rest, what chance says, source
    ([5, 2], False, [], FacesSource.PROVIDED),
    ([5], True, d6(2), FacesSource.MIXED),
    (None, False, d6(5, 2), FacesSource.SERVICE),
    ([5, 2], True, [], FacesSource.PROVIDED),
    ([], True, d6(5, 2), FacesSource.SERVICE),
]


@pytest.mark.parametrize(("faces", "rest", "said", "source"), SOURCES)
def test_a_group_says_where_its_faces_came_from(faces, rest, said, source):
    facts = roll_group(Table(), ("zoe", "max"), faces, roll_rest=rest, chance=Scripted(*said))
    assert {each.source for each in facts.results} == {source}
