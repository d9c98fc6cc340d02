"""The gm takes a mistake back: whatever a step changed is as before, unless later steps have built on it."""

import asyncio
import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.api.log import KINDS
from service.dice import Chance
from service.errors import CannotUndo, GameError, NotAllowed, QuotaExceeded
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
    imports,
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
from service.table.hits import HitWait, Soaked, Struck
from service.table.names import sought
from service.table.opponents import OpponentProfile
from service.table.records import OwnCard, Token
from service.table.rolls import Cast, PoolAsked
from service.table.session import SettingsChange
from service.table.sheets import Adjustment, SheetChange
from tests.live import Table as At
from tests.live import in_process
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
    table.play(decks.draw, "light", 2, holder="ana")
    table.play(hits.strike, "zoe", Struck(die=Threat.D8, wait=HitWait.SOAK), fallen(5))
    table.play(cards.apply, give(table, "team-breakdown", TABLE), Wanted())
    table.play(session.mint, "secret", Token(id="t2", role=Role.PLAYER, created_ms=0))
    return table


BEGUN = laid()


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
    "burn2d6.damage": lambda t: t.play(burn.strike, "zoe", {"soul": 2}, spend_surge=False),
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
    "deck.deleted": lambda t: t.play(decks.delete_own, "mine"),
    "scene.ended": lambda t: (give(t, "puppet", "zoe"), t.play(scene.end)),
    "character.put": lambda t: t.play(characters.add, Profile(name="Bob"), None),
    "character.deleted": lambda t: t.play(characters.delete, "zoe"),
    "clock.changed": lambda t: t.move(ClockAction.ADVANCE, 60_000),
    "session.changed": lambda t: t.play(
        session.change, {"name": f"Friday {t.now_ms} {len(t.log)}"}, SettingsChange(tier_size=5)
    ),
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
    table = BEGUN.copy()
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
    table.undo(step.id)  # once more
    assert table.records == before


def test_an_own_deck_that_was_replaced_has_its_cards_again():
    table = BEGUN.copy()
    before = table.records
    table.own("mine", z=1)
    table.undo()
    assert table.records == before
    assert table.play(decks.draw, "mine", 1, holder="max").cards[0].name == "A"


def test_a_deck_that_was_deleted_has_its_cards_again():
    table = BEGUN.copy()
    STEPS["deck.deleted"](table)
    table.undo()
    assert [card.name for card in table.play(decks.draw, "mine", 3, holder="max").cards] == ["A", "A", "B"]


# What no undo brings back: numbers that were given out.


def test_counts_are_not_taken_back():
    table = BEGUN.copy()
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
        table = BEGUN.copy()
        STEPS["character.deleted"](table)
        table.play(decks.draw, "light", 1, holder="max")
    else:
        table = BEGUN.copy()
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
    table = BEGUN.copy()
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
    table = BEGUN.copy()
    STEPS["cards.drawn"](table)
    drawn = table.log[-1].id
    table.undo(drawn)
    with pytest.raises(CannotUndo) as refusal:
        table.undo(drawn)
    assert refusal.value.later == (table.log[-1].id,)
    table.undo()  # the draw stands again
    table.undo(drawn)  # and can be taken back again


def test_an_undone_step_stands_in_nobodys_way_until_it_is_made_again():
    table = BEGUN.copy()
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
    (added, [lambda t: t.play(hits.strike, "bob", Struck(die=Threat.D6, wait=HitWait.SOAK), fallen(3))], [0]),
    (added, [lambda t: t.play(cards.apply, give(t, "inversion", "max"), Wanted(character="bob"))], [1]),
    (added, [lambda t: t.play(burn_sheets.put, "bob", STATS), STEPS["sixd6.sheet"]], [0]),
    # a discard of somebody who has gone since
    (lambda t: t.play(decks.discard_of, "ana"), [lambda t: t.play(characters.delete, "ana")], [0]),
    # a name that somebody else has taken since
    (
        lambda t: t.play(characters.change, "ana", ProfileChange(name="Anaïs")),
        [lambda t: t.play(characters.add, Profile(name="ANA"), "a")],
        [0],
    ),
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
    table = BEGUN.copy()
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


def filled(table):
    """As many as there may be, of everything that an undo can bring back."""
    for n in range(characters.MOST_CHARACTERS - len(table.play(characters.listed, None).characters)):
        table.play(characters.add, Profile(name=f"C{n}"), None)
    for n in range(opponents.MOST_OPPONENTS - len(table.play(opponents.listed).opponents)):
        table.play(opponents.add, OpponentProfile(name=f"O{n}", burn_max=1), None)
    for n in range(decks.MOST_DECKS - len(table.play(decks.listed).decks)):
        table.own(f"own-{n}", a=1)
    for n in range(session.MOST_TOKENS - len(table.play(session.tokens).tokens)):
        table.play(session.mint, f"s{n}", Token(id=f"n{n}", role=Role.CHAT, created_ms=0))


TOO_MANY = [
    # what is taken back, of what there are too many then
    (lambda t: t.play(characters.delete, "max"), "characters"),
    (STEPS["opponent.deleted"], "opponents"),
    (STEPS["deck.deleted"], "decks"),
    (STEPS["token.deleted"], "tokens"),
]


@pytest.mark.parametrize(("first", "what"), TOO_MANY)
def test_nothing_comes_back_where_its_room_is_taken(first, what):
    table = BEGUN.copy()
    first(table)
    gone = table.log[-1].id
    filled(table)
    before = dict(table.raw)
    with pytest.raises(QuotaExceeded) as refusal:
        table.undo(gone)
    assert refusal.value.what == what
    assert table.raw == before
    assert imports.imported(table.play(export.export), table.now_ms, owner="gm")


def test_no_texts_come_back_where_their_room_is_taken():
    def own(name, number):
        texts = ((OwnCard(card=f"{n}", name="x", effect="🎲" * 300), 1) for n in range(number))
        table.play(decks.put_own, name, decks.OwnDeck(name=name, cards=tuple(texts)))

    table = BEGUN.copy()
    own("mine", 100)
    table.own("mine", a=1)
    replaced = table.log[-1].id
    own("yours", 150)
    with pytest.raises(QuotaExceeded) as refusal:
        table.undo(replaced)
    assert refusal.value.what == "card_text_bytes"


def test_the_last_gm_token_stays():
    table = BEGUN.copy()
    second = Token(id="gm2", role=Role.GM, created_ms=1)
    table.play(session.mint, "gm2", second)
    minted = table.log[-1].id
    table.play(session.revoke, "gm", by=second)
    with pytest.raises(NotAllowed) as refusal:
        table.undo(minted, by=second)
    assert refusal.value.reason == "last_gm"


@pytest.mark.parametrize("token", [PLAYER, CHAT, OF_ZOE, OBSERVER], ids=lambda token: token.id)
def test_it_is_the_gms(token):
    table = BEGUN.copy()
    with pytest.raises(NotAllowed):
        table.undo(by=token)


def test_a_log_that_is_not_the_newest_is_read_again():
    table = BEGUN.copy()
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


WHO = st.sampled_from(["zoe", "max", "ana", "bob"])
HOLDER = st.sampled_from(["zoe", "max", "ana", "bob", TABLE, None])
DECK = st.sampled_from(["light", "grave", "mine"])
CASTS = st.sampled_from([Cast(), Cast(deal=False), Cast(visibility="gm")])
POOL = st.builds(PoolAsked, base=st.integers(0, 3), red=st.integers(0, 3)) | st.just(BY_NAME)
STRUCK = st.builds(
    Struck,
    die=st.sampled_from(Threat),
    wait=st.sampled_from([None, HitWait.SOAK, HitWait.SOAK]),
)
SOAK = st.none() | st.builds(
    Soaked, kind=st.sampled_from(["grit", "composure"]), base=st.integers(0, 4), red=st.integers(0, 2)
)
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
SHEETS = st.builds(
    lambda damage, worn: sheet(control=2, damage=damage, trauma=3, protections=worn),
    st.integers(0, 9),
    st.sets(st.sampled_from(["light", "heavy"])),
)
OWN = st.builds(
    lambda copies: decks.OwnDeck(name="Mine", cards=tuple((decks.OwnCard(card=c, name=c), n) for c, n in copies.items())),
    st.dictionaries(st.sampled_from("abc"), st.integers(1, 2), min_size=1),
)


def held(table):
    return [card.id for card in table.play(decks.active_cards)]


def pending(table, draw):
    hit = draw(st.sampled_from([field[2:] for field in table.raw if field.startswith("p:")] or ["h0"]))
    kept = table.get(f"p:{hit}")
    return (kept.character if kept else "zoe"), hit


def put_back(table, draw):
    card = draw(st.sampled_from(held(table) or ["light-1"]))
    return table.play(decks.return_cards, card.rpartition("-")[0], (card,), decks.ReturnTo.SHUFFLE)


# Each draws its arguments and plays; most can be refused, and then nothing has happened.
PLAYS = {
    "roll": lambda t, d: t.play(rolls.roll_sixd6, d(WHO), d(POOL), d(CASTS)),
    "group": lambda t, d: t.play(rolls.roll_group, None, d(POOL), d(CASTS)),
    "strike": lambda t, d: t.play(hits.strike, d(WHO), d(STRUCK), d(CASTS)),
    "strike group": lambda t, d: t.play(hits.strike_group, None, Struck(die=Threat.D6), Cast()),
    "soak": lambda t, d: t.play(hits.soak, *pending(t, d), d(SOAK), Cast(), d(st.sampled_from([None, HitWait.CONVERSIONS]))),
    "convert": lambda t, d: t.play(hits.convert, *pending(t, d), d(st.integers(0, 2)), Cast()),
    "sheet": lambda t, d: t.play(sheets.put, d(WHO), d(SHEETS)),
    "adjust": lambda t, d: t.play(sheets.change, d(WHO), SheetChange(adjust=Adjustment(damage=d(st.integers(-3, 3))))),
    "heal": lambda t, d: t.play(healing.roll, d(WHO), d(HEALED), d(CASTS)),
    "timer": lambda t, d: t.play(healing.clear_timer, d(WHO), d(st.sampled_from(Care))),
    "draw": lambda t, d: t.play(decks.draw, d(DECK), d(st.integers(1, 4)), holder=d(HOLDER)),
    "discard": lambda t, d: t.play(decks.discard_of, d(st.sampled_from(["zoe", "max", "ana", None]))),
    "return": put_back,
    "shuffle": lambda t, d: t.play(decks.shuffle, d(DECK), discard=d(st.booleans())),
    "own": lambda t, d: t.play(decks.put_own, "mine", d(OWN)),
    "no own": lambda t, d: t.play(decks.delete_own, "mine"),
    "apply": lambda t, d: t.play(cards.apply, d(st.sampled_from(held(t) or ["none"])), d(WANTED)),
    "scene": lambda t, d: t.play(scene.end),
    "clock": lambda t, d: t.move(d(st.sampled_from(ClockAction)), d(st.sampled_from([1, TWO_HOURS_MS]))),
    "time": lambda t, d: t.wait(d(st.sampled_from([1, 60_000, TWO_HOURS_MS]))),
    "add": lambda t, d: t.play(characters.add, Profile(name=d(st.sampled_from(["Bob", "Zoé"]))), None),
    "change": lambda t, d: t.play(characters.change, d(WHO), ProfileChange(present=d(st.booleans()))),
    "rename": lambda t, d: t.play(characters.change, d(WHO), ProfileChange(name=d(st.sampled_from(["Ana", "Z"])))),
    "delete": lambda t, d: t.play(characters.delete, d(WHO)),
    "burn sheet": lambda t, d: t.play(burn_sheets.put, d(WHO), STATS),
    "burn": lambda t, d: t.play(
        burn.roll, d(WHO), TableAction(stat=Stat.MOVE, burn_stat=1, opponent="ogre", opponent_burns=1), Cast()
    ),
    "burned": lambda t, d: t.play(burn.strike, d(WHO), {"move": d(st.integers(1, 3))}, spend_surge=d(st.booleans())),
    "ogre": lambda t, d: t.play(opponents.add, OpponentProfile(name="Ogre", burn_max=3), None),
    "no ogre": lambda t, d: t.play(opponents.delete, "ogre"),
    "settings": lambda t, d: t.play(session.change, {}, SettingsChange(tier_size=d(st.integers(1, 4)))),
    "mint": lambda t, d: t.play(session.mint, "x", Token(id="x", role=Role.CHAT, created_ms=0)),
    "revoke": lambda t, d: t.play(session.revoke, "x"),
    "undo": lambda t, d: t.undo(d(st.sampled_from([each.id for each in reversed(t.log)]))),
}


ANY = {"data": st.data(), "names": st.lists(st.sampled_from(sorted(PLAYS)), min_size=8, max_size=24), "random": st.randoms()}


@settings(deadline=None, max_examples=80)
@given(**ANY)
def test_a_sequence_undone_backwards_leaves_the_first_table(data, names, random):
    table = BEGUN.copy()
    play(table, names, data.draw, random)
    for step in reversed(table.log[len(BEGUN.log) :]):
        table.undo(step.id)
    assert table.records == BEGUN.records


@settings(deadline=None, max_examples=80)
@given(**ANY)
def test_whatever_is_played_and_undone_the_table_is_one_that_can_be(data, names, random):
    table = BEGUN.copy()
    play(table, [each for name in names for each in (name, "undo")[: 1 + random.randrange(2)]], data.draw, random)
    there = {field[2:] for field in table.raw if field.startswith("c:")}
    elapsed_ms = table.elapsed_ms
    for field in table.raw:
        record = table.get(field)
        match field[:2]:
            case "s:" | "b:":
                assert field[2:] in there
            case "p:":
                assert record.character in there
            case "d:":
                assert {*record.active.values()} <= {*there, TABLE}
                assert field in {"d:light", "d:grave"} or len(record.copies) == len(table.get(f"t:{field[2:]}"))
            case "c:":
                assert all(at_ms <= elapsed_ms for at_ms in record.timers.rolled_ms.values())
    for prefix in ("c:", "o:"):
        names = [sought(table.get(field).name) for field in table.raw if field.startswith(prefix)]
        assert len(names) == len({*names})
    assert {*table.get("scene").suspects, *table.get("scene").chosen.values()} <= there
    assert table.play(state.state).characters
    assert imports.imported(table.play(export.export), table.now_ms, owner="gm")


def play(table, names, draw, random):
    """Plays with arguments of any kind; those that are refused did nothing (the table sees to it)."""
    plain = table.play

    def with_lots(*told, by=GM, **more):
        return plain(*told, by=by, chance=Lots(random), **more)

    table.play = with_lots
    for name in names:
        with contextlib.suppress(GameError):
            PLAYS[name](table, draw)
    table.play = plain


# Over HTTP.


@pytest.mark.anyio
async def test_over_http_a_wrong_hit_is_taken_back(table):
    await table.ask("PUT /characters/zoe/sixd6", {"damage": 1, "protections": ["light"]})
    wrong = (await table.ask("POST /characters/zoe/sixd6/damage", {"die": "d6", "faces": [5]})).json()
    assert wrong["damage_level"] == 5
    answer = await table.ask(f"POST /events/{wrong['event']}/undo")
    told = answer.json()
    assert (answer.status_code, told["undone"], told["type"]) == (200, wrong["event"], "sixd6.damage")
    sheet = await table.get("/characters/zoe/sixd6")
    assert (sheet["damage"], sheet["protections"]) == (1, ["light"])
    event = await table.get(f"/events/{told['event']}")
    assert (event["type"], event["data"]["undone"]) == ("undo", wrong["event"])
    for lang in ("fr", "en"):
        assert wrong["event"] in (await table.get(f"/events/{told['event']}", lang=lang))["text"]


@pytest.mark.anyio
async def test_over_http_later_steps_are_named(table):
    first, *later = [(await table.ask("POST /decks/light/draws", {})).json()["event"] for _ in range(3)]
    answer = await table.ask(f"POST /events/{first}/undo", {})
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["later"]) == (409, "cannot-undo", later)
    assert later[0] in problem["text"]
    for event in (*reversed(later), first):
        assert (await table.ask(f"POST /events/{event}/undo", {})).status_code == 200
    assert (await table.get("/decks/light"))["draw_pile"] == 43


NOWHERE = ["99", "1", "0", "-1", "01", "x", "999999999999999", "9999999999999999", "2-0"]


@pytest.mark.parametrize("event", NOWHERE)
@pytest.mark.anyio
async def test_over_http_an_event_that_is_not_there(table, event):
    await table.ask("POST /decks/light/draws", {})
    answer = await table.ask(f"POST /events/{event}/undo", {})
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


@pytest.mark.parametrize("role", ["player", "chat", "observer"])
@pytest.mark.anyio
async def test_over_http_it_is_the_gms(table, role):
    await table.ask("POST /decks/light/draws", {})
    await table.mint("other", role)
    assert (await table.ask("POST /events/2/undo", {}, by="other")).status_code == 403
    assert (await table.ask("POST /events/99/undo", {}, by="other")).status_code == 403
    assert (await table.ask("POST /events/2/undo", {}, by="nobody")).status_code == 401


@pytest.mark.anyio
async def test_over_http_a_repeated_key_undoes_once(table):
    await table.ask("POST /decks/light/draws", {})
    answers = [await table.ask("POST /events/2/undo", {}, key="once") for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert answers[1].headers["idempotency-replayed"] == "true"
    assert len((await table.get("/events"))["events"]) == 2


@pytest.mark.anyio
async def test_over_http_a_step_of_before_a_restart_is_taken_back(table, redis_url):
    await table.ask("PUT /decks/own", {"name": "Own", "cards": [{"card": "limp", "name": "Limp", "effect": "Walk."}]})
    await table.ask("PUT /decks/own", {"name": "Other", "cards": [{"card": "run", "name": "Run"}]})
    replaced = (await table.get("/state"))["last_event"]
    async with in_process(redis_url) as client:
        again = At(client, table.opened)
        assert (await again.ask(f"POST /events/{replaced}/undo", {})).status_code == 200
        drawn = (await again.ask("POST /decks/own/draws", {})).json()
    assert (drawn["cards"][0]["name"], drawn["cards"][0]["effect"]) == ("Limp", "Walk.")


@pytest.mark.anyio
async def test_over_http_of_two_undoes_at_once_one_wins(table):
    await table.ask("POST /decks/light/draws", {})
    answers = await asyncio.gather(*(table.ask("POST /events/2/undo", {}) for _ in range(4)))
    assert sorted(each.status_code for each in answers) == [200, 409, 409, 409]
    assert {each.json()["code"] for each in answers if each.status_code == 409} == {"cannot-undo"}
    assert (await table.get("/decks/light"))["draw_pile"] == 43


@pytest.mark.anyio
async def test_over_http_an_undo_meets_a_step_that_comes_between(table):
    """Either the draw was first, and stands in the way, or it found the deck as it was."""
    drawn = (await table.ask("POST /decks/light/draws", {})).json()["event"]
    undone, after = await asyncio.gather(
        table.ask(f"POST /events/{drawn}/undo", {}), table.ask("POST /decks/light/draws", {})
    )
    assert after.status_code == 200
    assert (undone.status_code, after.json()["draw_pile"]) in ((200, 42), (409, 41))
