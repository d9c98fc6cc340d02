"""The gm takes a mistake back: whatever a step changed is as before, unless later steps have built on it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.api.log import KINDS
from service.dice import Chance
from service.errors import CannotUndo, GameError, NotAllowed
from service.systems.burn2d6.action import Stat
from service.systems.burn2d6.damage import BurnableStat
from service.systems.sixd6.character import Aptitude, Qualification
from service.systems.sixd6.damage import Threat
from service.systems.sixd6.healing import Care
from service.table import (
    burn,
    burn_sheets,
    cards,
    characters,
    decks,
    export,
    healing,
    hits,
    opponents,
    rolls,
    scene,
    session,
    sheets,
    state,
    undo,
)
from service.table.audience import Role
from service.table.burn import TableAction
from service.table.burn_sheets import BurnSheetProfile
from service.table.cards import Wanted
from service.table.characters import Profile, ProfileChange
from service.table.clock import ClockAction
from service.table.decks import TABLE
from service.table.hits import Soaked, Struck, Wait
from service.table.opponents import OpponentProfile
from service.table.records import Token
from service.table.rolls import Cast, PoolAsked
from service.table.session import SettingsChange
from service.table.sheets import Adjustment, SheetChange
from tests.table.played import CHAT, GM, OBSERVER, OF_ZOE, PLAYER, Logged, fallen, give, sheet, with_sheet

TWO_HOURS_MS = 7_200_000
BY_NAME = PoolAsked(aptitude=Aptitude.CONTROL, qualification=Qualification.SHOOTING)
STATS = BurnSheetProfile(stats={Stat.MOVE: BurnableStat(7, 0), Stat.SOUL: BurnableStat(4, 1)})


def laid(names=("Zoé", "Max", "Ana")):
    """A table where everything has begun."""
    table = Logged(*names, tier_size=3)
    with_sheet(table, control=2, damage=5, trauma=4, protections=("light",))
    table.play(burn_sheets.put, "zoe", STATS)
    table.play(opponents.add, OpponentProfile(name="Ogre", burn_max=5), None)
    table.own("mine", a=2, b=1)
    table.play(decks.draw, "mine", 1, holder="max")
    table.play(decks.draw, "light", 2, holder="ana")
    table.play(hits.strike, "zoe", Struck(die=Threat.D8, wait=Wait.SOAK), fallen(5))
    table.play(cards.apply, give(table, "team-breakdown", TABLE), Wanted())
    table.play(session.mint, "secret", Token(id="t2", role=Role.PLAYER, created_ms=0))
    return table


def waiting(table):
    return table.play(hits.listed)[0].hit


# One step of each type: what is played on the table above.
STEPS = {
    "sixd6.roll": lambda t: t.play(rolls.roll_sixd6, "zoe", BY_NAME, fallen(1, 1)),
    "sixd6.group_roll": lambda t: t.play(rolls.roll_group, None, PoolAsked(base=0, red=1), fallen(1, 1, 1)),
    "sixd6.damage": lambda t: t.play(hits.soak, "zoe", waiting(t), Soaked(kind="grit", red=1), fallen(1), None),
    "sixd6.group_damage": lambda t: t.play(hits.strike_group, None, Struck(die=Threat.D6), fallen(3, 4, 5)),
    "sixd6.sheet": lambda t: t.play(sheets.change, "zoe", SheetChange(adjust=Adjustment(damage=-2))),
    "card.applied": lambda t: t.play(cards.apply, give(t, "decompression", "max"), Wanted()),
    "sixd6.healing": lambda t: t.play(healing.roll, "zoe", healing.Asked(care=Care.CALM_SELF), fallen(5, 5)),
    "sixd6.timer": lambda t: t.play(healing.set_timer, "zoe", Care.CALM_SELF, rolled_ago_ms=0, healed=1),
    "burn2d6.sheet": lambda t: t.play(burn_sheets.put, "max", STATS),
    "burn2d6.roll": lambda t: t.play(
        burn.roll, "zoe", TableAction(stat=Stat.MOVE, burn_stat=1, opponent="ogre", opponent_burns=2), fallen(5)
    ),
    "burn2d6.damage": lambda t: t.play(burn.strike, "zoe", {"soul": 2}),
    "burn2d6.surge": lambda t: t.play(burn.spend_surge, "zoe"),
    "burn2d6.build": lambda t: t.play(burn.build, "zoe", burn.Rates(), close=True),
    "opponent.put": lambda t: t.play(opponents.add, OpponentProfile(name="Troll", burn_max=2), None),
    "opponent.burned": lambda t: t.play(opponents.burn, "ogre", 2),
    "opponent.deleted": lambda t: t.play(opponents.delete, "ogre"),
    "cards.drawn": lambda t: t.play(decks.draw, "light", 3, holder="zoe"),
    "cards.discarded": lambda t: t.play(decks.discard_of, None),
    "cards.returned": lambda t: t.play(decks.return_cards, "light", ("light-1",), decks.ReturnTo.BOTTOM),
    "deck.shuffled": lambda t: t.play(decks.shuffle, "light", discard=True, chance=Backwards()),
    "deck.put": lambda t: t.own("yours", c=3),
    "deck.deleted": lambda t: (t.play(decks.discard_of, "max"), t.play(decks.delete_own, "mine")),
    "scene.ended": lambda t: (give(t, "puppet", "zoe"), t.play(scene.end)),
    "character.put": lambda t: t.play(characters.add, Profile(name="Bob"), None),
    "character.deleted": lambda t: t.play(characters.delete, "zoe"),
    "clock.changed": lambda t: t.move(ClockAction.ADVANCE, 60_000),
    "session.changed": lambda t: t.play(session.change, {"name": "Friday"}, SettingsChange(tier_size=5)),
    "token.created": lambda t: t.play(session.mint, "other", Token(id="t3", role=Role.CHAT, created_ms=0)),
    "token.deleted": lambda t: t.play(session.revoke, "t2"),
}


class Backwards(Chance):
    """Turns an order around, or nearly."""

    def below(self, end):
        return 0


def test_there_is_a_step_of_each_type():
    assert {*STEPS, "undo"} == {*KINDS}


@pytest.mark.parametrize("type_", STEPS)
def test_a_step_is_taken_back_and_made_again(type_):
    table = laid()
    STEPS[type_](table)
    step, after = table.log[-1], table.records
    assert step.type == type_
    taken = table.undo()
    assert (taken.undone, taken.type, taken.event) == (step.id, type_, table.log[-1].id)
    before = table.records
    assert before != after
    assert {field: before.get(field) for field in step.before} == {
        field: None if value is None else value.encode() for field, value in step.before.items()
    }
    assert {field for field in before.keys() | after.keys() if before.get(field) != after.get(field)} <= step.before.keys()
    table.undo()  # of the undo
    assert table.records == after
    table.undo(table.log[-2].id)  # and of that
    assert table.records == before


def test_an_own_deck_that_was_replaced_has_its_cards_again():
    table = laid()
    table.play(decks.discard_of, "max")
    before = table.records
    table.own("mine", z=1)
    table.undo()
    assert table.records == before
    assert table.play(decks.draw, "mine", 1, holder="max").cards[0].name == "A"


def test_a_deck_that_was_deleted_has_its_cards_again():
    table = laid()
    STEPS["deck.deleted"](table)
    table.undo()
    assert [card.name for card in table.play(decks.draw, "mine", 2, holder="max").cards] == ["A", "B"]


# What no undo brings back: numbers that were given out.


def test_counts_are_not_taken_back():
    table = laid()
    first = table.get("counts").next_card
    table.own("yours", c=3)
    table.undo()
    assert table.get("counts").next_card == first + 3
    table.own("yours", c=1)
    assert table.get("d:yours").first == first + 3


# Later steps.

IN_THE_WAY = [
    # an event, then others; which of the others are in the way
    (["cards.drawn", "cards.drawn"], [1]),
    (["cards.drawn", "sixd6.sheet"], []),
    (["sixd6.sheet", "sixd6.healing"], [1]),
    (["sixd6.sheet", "sixd6.damage", "sixd6.sheet"], [1, 2]),
    (["sixd6.damage", "cards.drawn"], [1]),  # its red one had drawn a card
    (["clock.changed", "clock.changed"], [1]),
    (["session.changed", "cards.drawn", "session.changed"], [2]),
    (["character.put", "cards.drawn", "sixd6.sheet"], []),
    (["burn2d6.roll", "opponent.burned", "burn2d6.surge"], [1, 2]),
    (["character.deleted", "cards.drawn"], []),
]


@pytest.mark.parametrize(("types", "later"), IN_THE_WAY)
def test_steps_that_touched_the_same_are_named(types, later):
    if types == ["character.deleted", "cards.drawn"]:
        table = laid()
        STEPS["character.deleted"](table)
        table.play(decks.draw, "light", 1, holder="max")
    else:
        table = laid()
        for each in types:
            STEPS[each](table)
    steps = [each.id for each in table.log[-len(types) :]]
    if not later:
        table.undo(steps[0])
        return
    before = dict(table.raw)
    with pytest.raises(CannotUndo) as refusal:
        table.undo(steps[0])
    assert (refusal.value.event, refusal.value.later) == (steps[0], tuple(steps[at] for at in later))
    assert table.raw == before


def test_one_after_the_other_all_go():
    table = laid()
    states = [table.records]
    for _ in range(3):
        STEPS["cards.drawn"](table)
        states.append(table.records)
    drawn = [each.id for each in table.log[-3:]]
    for identifier in reversed(drawn):
        states.pop()
        table.undo(identifier)
        assert table.records == states[-1]


def test_what_is_undone_already_is_not_undone_again():
    table = laid()
    STEPS["cards.drawn"](table)
    drawn = table.log[-1].id
    table.undo(drawn)
    with pytest.raises(CannotUndo) as refusal:
        table.undo(drawn)
    assert refusal.value.later == (table.log[-1].id,)
    table.undo()  # the draw stands again
    table.undo(drawn)  # and can be taken back again


def test_an_undone_step_stands_in_nobodys_way_until_it_is_made_again():
    table = laid()
    for _ in range(2):
        STEPS["cards.drawn"](table)
    first, second = (each.id for each in table.log[-2:])
    table.undo(second)
    undone = table.log[-1].id
    table.undo(undone)
    with pytest.raises(CannotUndo) as refusal:
        table.undo(first)
    assert refusal.value.later == (second,)


# Later steps that touched other fields, and yet have built on what would go.


def added(table):
    table.play(characters.add, Profile(name="Bob"), None)


BUILT_ON = [
    # event to take back, later steps, which of them are in the way
    (added, [lambda t: with_sheet(t, "bob")], [0]),
    (added, [lambda t: t.play(decks.draw, "light", 1, holder="max"), lambda t: give(t, "puppet", "bob")], [1]),
    (added, [lambda t: t.play(hits.strike, "bob", Struck(die=Threat.D6, wait=Wait.SOAK), fallen(3))], [0]),
    (added, [lambda t: t.play(cards.apply, give(t, "inversion", "max"), Wanted(character="bob"))], [1]),
    (added, [lambda t: t.play(burn_sheets.put, "bob", STATS), STEPS["sixd6.sheet"]], [0]),
    # a discard of somebody who has gone since
    (lambda t: t.play(decks.discard_of, "ana"), [lambda t: t.play(characters.delete, "ana")], [0]),
    # a name that somebody else has taken since
    (lambda t: t.play(characters.change, "ana", ProfileChange(name="Anaïs")), [lambda t: t.play(characters.add, Profile(name="ANA"), "a")], [0]),
    (STEPS["character.deleted"], [lambda t: t.play(characters.add, Profile(name="Zoé"), "z")], [0]),
    (STEPS["opponent.deleted"], [lambda t: t.play(opponents.add, OpponentProfile(name="OGRE", burn_max=1), "o")], [0]),
    # hours that somebody was healed in
    (
        lambda t: t.move(ClockAction.ADVANCE, TWO_HOURS_MS),
        [lambda t: t.play(healing.roll, "zoe", healing.Asked(care=Care.CALM_SELF), fallen(5, 5))],
        [0],
    ),
    (
        lambda t: t.move(ClockAction.ADVANCE, TWO_HOURS_MS),
        [lambda t: t.play(healing.set_timer, "zoe", Care.CALM_SELF, rolled_ago_ms=TWO_HOURS_MS, healed=0)],
        [],
    ),
]


@pytest.mark.parametrize(("first", "then", "later"), BUILT_ON)
def test_steps_that_have_built_on_it_are_named(first, then, later):
    table = laid()
    first(table)
    mistake = len(table.log) - 1
    for each in then:
        each(table)
    steps = [each.id for each in table.log[mistake:]]
    if not later:
        table.undo(steps[0])
        return
    before = dict(table.raw)
    with pytest.raises(CannotUndo) as refusal:
        table.undo(steps[0])
    assert refusal.value.later == tuple(steps[1 + at] for at in later)
    assert table.raw == before


def test_the_last_gm_token_stays():
    table = laid()
    second = Token(id="gm2", role=Role.GM, created_ms=1)
    table.play(session.mint, "gm2", second)
    minted = table.log[-1].id
    table.play(session.revoke, "gm", by=second)
    with pytest.raises(NotAllowed) as refusal:
        table.undo(minted, by=second)
    assert refusal.value.reason == "last_gm"


@pytest.mark.parametrize("token", [PLAYER, CHAT, OF_ZOE, OBSERVER], ids=lambda token: token.id)
def test_it_is_the_gms(token):
    table = laid()
    with pytest.raises(NotAllowed):
        table.undo(by=token)


def test_a_log_that_is_not_the_newest_is_read_again():
    table = laid()
    step = table.log[-1]
    STEPS["clock.changed"](table)
    with pytest.raises(undo.Moved):
        table.play(undo.undo, step, (), table.version - 1)


# A4 of the issue: play any sequence, undo it backwards, and the table is the first one again.


class Lots(Chance):
    """Chance that Hypothesis can shrink."""

    def __init__(self, random):
        self._random = random

    def below(self, end):
        return self._random.randrange(end)


def some(*made):
    return st.one_of(*(st.just(each) if not hasattr(each, "map") else each for each in made))


WHO = st.sampled_from(["zoe", "max", "ana", "bob"])
HOLDER = st.sampled_from(["zoe", "max", "ana", TABLE, None])
DECK = st.sampled_from(["light", "grave", "mine"])
TOKEN = st.sampled_from([GM, GM, PLAYER, OF_ZOE])
CASTS = st.sampled_from([Cast(), Cast(deal=False), Cast(visibility="gm")])
POOL = st.builds(PoolAsked, base=st.integers(0, 3), red=st.integers(0, 3)) | st.just(BY_NAME)
STRUCK = st.builds(
    Struck,
    die=st.sampled_from(Threat),
    wait=st.sampled_from([None, Wait.SOAK, Wait.SOAK]),
)
SOAK = st.none() | st.builds(Soaked, kind=st.sampled_from(["grit", "composure"]), base=st.integers(0, 4), red=st.integers(0, 2))
WANTED = st.sampled_from(
    [
        *(Wanted(), Wanted(character="max"), Wanted(character="zoe"), Wanted(by_lot=True)),
        Wanted(qualification=Qualification.SHOOTING),
    ]
)
HEALED = st.builds(
    healing.Asked,
    care=st.sampled_from(Care),
    base=st.integers(0, 4),
    carer=st.sampled_from([None, "max"]),
    level=st.sampled_from([None, None, 5]),
)
SHEETS = st.builds(lambda damage, worn: sheet(control=2, damage=damage, trauma=3, protections=worn), st.integers(0, 9), st.sets(st.sampled_from(["light", "heavy"])))
OWN = st.builds(lambda copies: decks.OwnDeck(name="Mine", cards=tuple((decks.OwnCard(card=c, name=c), n) for c, n in copies.items())), st.dictionaries(st.sampled_from("abc"), st.integers(1, 2), min_size=1))


def one_of(field, start):
    """Any of the table's cards, hits or events there is; nothing where there is none."""


# Each draws its arguments and plays; most can be refused, and then nothing has happened.
PLAYS = {
    "roll": lambda t, d, **by: t.play(rolls.roll_sixd6, d(WHO), d(POOL), d(CASTS), **by),
    "group": lambda t, d, **by: t.play(rolls.roll_group, None, d(POOL), d(CASTS), **by),
    "strike": lambda t, d, **by: t.play(hits.strike, d(WHO), d(STRUCK), d(CASTS), **by),
    "strike group": lambda t, d, **by: t.play(hits.strike_group, None, Struck(die=Threat.D6), Cast(), **by),
    "soak": lambda t, d, **by: t.play(
        hits.soak, *pending(t, d), d(SOAK), Cast(), d(st.sampled_from([None, Wait.CONVERSIONS])), **by
    ),
    "convert": lambda t, d, **by: t.play(hits.convert, *pending(t, d), d(st.integers(0, 2)), Cast(), **by),
    "sheet": lambda t, d, **by: t.play(sheets.put, d(WHO), d(SHEETS), **by),
    "adjust": lambda t, d, **by: t.play(sheets.change, d(WHO), SheetChange(adjust=Adjustment(damage=d(st.integers(-3, 3)))), **by),
    "heal": lambda t, d, **by: t.play(healing.roll, d(WHO), d(HEALED), d(CASTS), **by),
    "timer": lambda t, d, **by: t.play(healing.clear_timer, d(WHO), d(st.sampled_from(Care)), **by),
    "draw": lambda t, d, **by: t.play(decks.draw, d(DECK), d(st.integers(1, 4)), holder=d(HOLDER), **by),
    "discard": lambda t, d, **by: t.play(decks.discard_of, d(st.sampled_from(["zoe", "max", "ana", None])), **by),
    "return": lambda t, d, **by: put_back(t, d, **by),
    "shuffle": lambda t, d, **by: t.play(decks.shuffle, d(DECK), discard=d(st.booleans()), **by),
    "own": lambda t, d, **by: t.play(decks.put_own, "mine", d(OWN), **by),
    "no own": lambda t, d, **by: t.play(decks.delete_own, "mine", **by),
    "apply": lambda t, d, **by: t.play(cards.apply, d(st.sampled_from(held(t) or ["none"])), d(WANTED), **by),
    "scene": lambda t, d, **by: t.play(scene.end, **by),
    "clock": lambda t, d, **by: t.move(d(st.sampled_from(ClockAction)), d(st.sampled_from([1, TWO_HOURS_MS]))),
    "time": lambda t, d, **by: t.wait(d(st.sampled_from([1, 60_000, TWO_HOURS_MS]))),
    "add": lambda t, d, **by: t.play(characters.add, Profile(name=d(st.sampled_from(["Bob", "Zoé"]))), None, **by),
    "change": lambda t, d, **by: t.play(characters.change, d(WHO), ProfileChange(present=d(st.booleans())), **by),
    "rename": lambda t, d, **by: t.play(characters.change, d(WHO), ProfileChange(name=d(st.sampled_from(["Ana", "Z"]))), **by),
    "delete": lambda t, d, **by: t.play(characters.delete, d(WHO), **by),
    "burn sheet": lambda t, d, **by: t.play(burn_sheets.put, d(WHO), STATS, **by),
    "burn": lambda t, d, **by: t.play(
        burn.roll, d(WHO), TableAction(stat=Stat.MOVE, burn_stat=1, opponent="ogre", opponent_burns=1), Cast(), **by
    ),
    "burned": lambda t, d, **by: t.play(burn.strike, d(WHO), {"move": d(st.integers(1, 3))}, **by),
    "ogre": lambda t, d, **by: t.play(opponents.add, OpponentProfile(name="Ogre", burn_max=3), None, **by),
    "no ogre": lambda t, d, **by: t.play(opponents.delete, "ogre", **by),
    "settings": lambda t, d, **by: t.play(session.change, {}, SettingsChange(tier_size=d(st.integers(1, 4))), **by),
    "mint": lambda t, d, **by: t.play(session.mint, "x", Token(id="x", role=Role.CHAT, created_ms=0), **by),
    "revoke": lambda t, d, **by: t.play(session.revoke, "x", **by),
    "undo": lambda t, d, **by: t.undo(d(st.sampled_from([each.id for each in t.log])), **by),
}


def held(table):
    return [card.id for card in table.play(decks.active_cards)]


def pending(table, draw):
    hit = draw(st.sampled_from([field[2:] for field in table.raw if field.startswith("p:")] or ["h0"]))
    kept = table.get(f"p:{hit}")
    return (kept.character if kept else "zoe"), hit


def put_back(table, draw, **by):
    card = draw(st.sampled_from(held(table) or ["light-1"]))
    return table.play(decks.return_cards, card.rpartition("-")[0], (card,), decks.ReturnTo.SHUFFLE, **by)


@settings(deadline=None, max_examples=60)
@given(data=st.data(), names=st.lists(st.sampled_from(sorted(PLAYS)), min_size=1, max_size=25), random=st.randoms())
def test_a_sequence_undone_backwards_leaves_the_first_table(data, names, random):
    table = laid()
    play(table, names, data, random)
    begun, states = table.log[: laid_steps()], []
    assert begun
    del states
    for step in reversed(table.log[laid_steps() :]):
        table.undo(step.id)
    first = laid()
    assert table.records == first.records


def laid_steps():
    return len(laid().log)


def play(table, names, data, random):
    """Some of the plays, with arguments of any kind; those that are refused did nothing (the table sees to it)."""
    seen = table.play

    def played(*told, by=None, **more):
        return seen(*told, by=by or GM, chance=Lots(random), **more)

    table.play = played
    try:
        for name in names:
            try:
                PLAYS[name](table, data.draw, by=data.draw(TOKEN))
            except GameError:
                continue
    finally:
        table.play = seen
