"""A7: what a service can do for a grave card, row by row of the rules' table. Zoé holds the card, unless it says so."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import CardNotThere, InvalidValue, NobodyToPick, NotAllowed
from service.systems.sixd6 import complications
from service.systems.sixd6.character import Aptitude, Qualification
from service.table import cards, characters, decks, rolls, scene, sheets
from service.table.audience import Role
from service.table.cards import Effect, Wanted
from service.table.characters import Profile, ProfileChange
from service.table.decks import TABLE
from service.table.records import CharacterKind, Marks, Token
from service.table.rolls import Notice, PoolAsked
from service.words import Lang
from tests.table.played import CHAT, GM, OBSERVER, OF_ZOE, PLAYER, Scripted, Table, fallen, give, sheet, with_sheet

SHOOTING, STEALTH = Qualification.SHOOTING, Qualification.STEALTH
CONTROL, SOCIAL = Aptitude.CONTROL, Aptitude.SOCIAL
OF_MAX = Token(id="of-max", role=Role.PLAYER, characters=("max",), created_ms=0)

GRAVE = list(complications.cards(complications.Deck.GRAVE))


def seated(*present, absent=(), npcs=()):
    """A table with these players' characters, and game masters' ones, who are all present but the absent."""
    table = Table(*(present or ("Zoé", "Max", "Ana")), *absent, *npcs)
    for who in absent:
        table.play(characters.change, who.lower(), ProfileChange(present=False))
    for who in npcs:
        table.play(characters.change, who.lower(), ProfileChange(kind=CharacterKind.NPC))
    return table


def applied(table, card, holder="zoe", chance=None, **wanted):
    """The card dealt to its holder and applied in the next step."""
    return table.play(cards.apply, give(table, card, holder), Wanted(**wanted), chance=chance)


def held(table, deck="light"):
    return table.piles(deck)[2]


def who(facts):
    return [each.id for each in facts.characters]


# Contamination: every present character without an active card draws a light one.

CONTAMINATED = [
    # absent, holders of light cards before, holder of the card, who draws
    ((), (), "zoe", ["ana", "max"]),
    ((), ("max",), "zoe", ["ana"]),
    ((), ("max", "ana"), "zoe", []),
    (("Bob",), (), "zoe", ["ana", "max"]),
    (("Bob",), ("bob",), "zoe", ["ana", "max"]),
    ((), (), TABLE, ["ana", "max", "zoe"]),  # who holds the card has one; the table is nobody
    ((), (TABLE,), "zoe", ["ana", "max"]),
]


@pytest.mark.parametrize(("absent", "before", "holder", "drew"), CONTAMINATED)
def test_contamination(absent, before, holder, drew):
    table = seated(absent=absent)
    for each in before:
        table.play(decks.draw, "light", 1, holder=each)
    facts = applied(table, "contamination", holder)
    assert (facts.effect, who(facts), facts.undealt) == (Effect.DREW, drew, 0)
    assert [card.holder for card in facts.drawn] == drew
    assert sorted(held(table).values()) == sorted([*before, *drew])


def test_a_card_of_any_deck_counts_for_contamination():
    table = seated()
    table.own("mine", a=1)
    table.play(decks.draw, "mine", 1, holder="max")
    assert who(applied(table, "contamination")) == ["ana"]


@pytest.mark.parametrize(("left", "drew"), [(2, ["ana", "max"]), (1, ["ana"]), (0, [])])
def test_contamination_deals_what_there_is(left, drew):
    table = seated()
    table.play(decks.draw, "light", 43 - left, holder=TABLE)
    facts = applied(table, "contamination")
    assert (who(facts), len(facts.drawn), facts.undealt) == (drew, len(drew), 2 - len(drew))


def test_contamination_brings_the_discard_pile_back_but_nothing_it_dealt():
    table = seated()
    table.play(decks.draw, "light", 42, holder=TABLE)
    table.play(decks.draw, "light", 1, holder=None)
    facts = applied(table, "contamination")
    assert ([card.id for card in facts.drawn], facts.undealt) == (["light-43"], 1)


# Decompression: all active cards of the two decks go, marks end, own decks' cards stay.


def test_decompression():
    table = seated(absent=("Bob",))
    table.own("mine", a=1, b=1)
    for each in ("max", "bob", TABLE):
        table.play(decks.draw, "light", 1, holder=each)
    for each in ("max", TABLE):
        table.play(decks.draw, "mine", 1, holder=each)
    applied(table, "mandatory-denunciation", "max", character="ana")
    applied(table, "team-breakdown", TABLE)
    facts = applied(table, "decompression")
    assert facts.effect is Effect.DISCARDED
    assert sorted(card.card for card in facts.discarded if card.deck == "grave") == [
        "decompression",
        "mandatory-denunciation",
        "team-breakdown",
    ]
    assert [card.holder for card in facts.discarded if card.deck == "light"] == ["max", "bob", TABLE, "ana"]
    assert held(table) == held(table, "grave") == {}
    assert len(table.piles("light")[1]) == 4
    assert sorted(held(table, "mine").values()) == [TABLE, "max"]
    assert table.get("scene") == Marks()


def test_decompression_alone_discards_itself():
    table = seated()
    facts = applied(table, "decompression")
    assert [card.card for card in facts.discarded] == ["decompression"]
    with pytest.raises(CardNotThere):
        table.play(cards.apply, facts.card.id, Wanted())


# Mandatory denunciation: whom the table names draws a light card and is suspect.


@pytest.mark.parametrize("suspect", ["max", "zoe", "bob", "hal"])
def test_mandatory_denunciation(suspect):
    table = seated(absent=("Bob",), npcs=("Hal",))
    facts = applied(table, "mandatory-denunciation", character=suspect)
    assert (facts.effect, who(facts), len(facts.drawn), facts.undealt) == (Effect.DREW, [suspect], 1, 0)
    assert held(table) == {1: suspect}
    assert table.get("scene").suspects == (suspect,)


def test_a_suspect_is_marked_where_no_card_is_left():
    table = seated()
    table.play(decks.draw, "light", 43, holder=TABLE)
    facts = applied(table, "mandatory-denunciation", character="max")
    assert (facts.drawn, facts.undealt, table.get("scene").suspects) == ((), 1, ("max",))


def test_suspects_add_up():
    table = seated()
    card = give(table, "mandatory-denunciation", "zoe")
    for each in ("max", "ana", "max"):
        table.play(cards.apply, card, Wanted(character=each))
    assert table.get("scene").suspects == ("max", "ana")


# Puppet, inversion, messenger, imposed spokesperson: one is picked, by the table or by lot.
# Absent ones are never drawn by lot, nor are game masters' characters; the table may name them.

LOTS = [
    # card, who may be drawn, in the order of the lot
    ("puppet", ["ana", "max"]),
    ("inversion", ["ana", "max"]),
    ("messenger", ["ana", "max"]),
    ("imposed-spokesperson", ["ana", "max", "zoe"]),
]


@pytest.mark.parametrize("lot", range(3))
@pytest.mark.parametrize(("card", "among"), LOTS)
def test_by_lot(card, among, lot):
    if lot >= len(among):
        return
    table = seated(absent=("Bob",), npcs=("Hal",))
    chance = Scripted((len(among), lot))
    facts = applied(table, card, chance=chance, by_lot=True)
    assert (facts.effect, who(facts), chance.left) == (Effect.PICKED, [among[lot]], [])
    assert table.get("scene").chosen == {facts.card.id: among[lot]}


def test_the_puppeteer_is_drawn_by_lot_also_unasked():
    assert who(applied(seated(), "puppet", chance=Scripted((2, 1)))) == ["max"]


@pytest.mark.parametrize("card", ["puppet", "inversion", "messenger"])
def test_of_a_card_that_the_table_holds_anybody_is_another(card):
    assert who(applied(seated(), card, TABLE, chance=Scripted((3, 2)), by_lot=True)) == ["zoe"]


NAMED = [
    # card, named, picked or what is wrong with it
    ("inversion", "max", "max"),
    ("inversion", "bob", "bob"),
    ("inversion", "zoe", "not_the_holder"),
    ("inversion", None, "name_one"),
    ("messenger", "hal", "hal"),
    ("messenger", "zoe", "not_the_holder"),
    ("messenger", None, "name_one"),
    ("imposed-spokesperson", "max", "max"),
    ("imposed-spokesperson", "zoe", "zoe"),
    ("imposed-spokesperson", None, "name_one"),
    ("mandatory-denunciation", None, "name_one"),
    ("puppet", "max", "not_for_card"),
]


@pytest.mark.parametrize(("card", "named", "picked"), NAMED)
def test_by_choice(card, named, picked):
    table = seated(absent=("Bob",), npcs=("Hal",))
    if picked == named:
        facts = applied(table, card, character=named)
        assert (facts.effect, who(facts)) == (Effect.PICKED, [named])
        assert table.get("scene").chosen == {facts.card.id: named}
    else:
        refuses(table, card, ("character", picked), character=named)


def refuses(table, card, fault, holder="zoe", **wanted):
    identifier = give(table, card, holder)
    before = dict(table.raw)
    with pytest.raises(InvalidValue) as refusal:
        table.play(cards.apply, identifier, Wanted(**wanted), chance=Scripted())
    assert (refusal.value.field, refusal.value.problem) == fault
    assert table.raw == before


def test_to_pick_again_replaces_the_pick():
    table = seated()
    card = give(table, "inversion", "zoe")
    for each in ("max", "ana"):
        table.play(cards.apply, card, Wanted(character=each))
    assert table.get("scene").chosen == {card: "ana"}


@pytest.mark.parametrize("card", ["puppet", "inversion", "messenger"])
def test_where_nobody_else_can_be_picked(card):
    table = seated("Zoé", absent=("Bob",), npcs=("Hal",))
    with pytest.raises(NobodyToPick):
        applied(table, card, by_lot=True)


def test_a_spokesperson_is_one_of_all_the_holder_included():
    assert who(applied(seated("Zoé"), "imposed-spokesperson", chance=Scripted((1, 0)), by_lot=True)) == ["zoe"]
    table = seated("Zoé")
    table.play(characters.change, "zoe", ProfileChange(present=False))
    with pytest.raises(NobodyToPick):
        applied(table, "imposed-spokesperson", by_lot=True)


# Reversed role and degraded authority: from the sheets of those present; ties are listed.

VALUES = [
    # value or points of: zoe, max, ana (None: no sheet), lowest, highest
    ((1, 2, 3), ["zoe"], ["ana"]),
    ((2, 2, 3), ["max", "zoe"], ["ana"]),
    ((3, 3, 1), ["ana"], ["max", "zoe"]),
    ((0, 0, 0), ["ana", "max", "zoe"], ["ana", "max", "zoe"]),
    ((2, None, 1), ["ana"], ["zoe"]),
    ((None, None, 1), ["ana"], ["ana"]),
]


def valued(values):
    table = seated(absent=("Bob",))
    with_sheet(table, "bob", shooting=0, trauma=99)
    for each, value in zip(("zoe", "max", "ana"), values, strict=True):
        if value is not None:
            with_sheet(table, each, shooting=value, trauma=value)
    return table


@pytest.mark.parametrize(("values", "lowest", "highest"), VALUES)
def test_reversed_role(values, lowest, highest):
    facts = applied(valued(values), "reversed-role", qualification=SHOOTING)
    assert (facts.effect, who(facts)) == (Effect.NAMED, lowest)


@pytest.mark.parametrize(("values", "lowest", "highest"), VALUES)
def test_degraded_authority(values, lowest, highest):
    table = valued(values)
    facts = applied(table, "degraded-authority")
    assert (facts.effect, who(facts)) == (Effect.NAMED, highest)
    assert table.get("scene").authority == (highest[0] if len(highest) == 1 else None)


def test_a_qualification_that_no_sheet_names_is_zero():
    table = with_sheet(with_sheet(seated(), "max", stealth=1), "ana")
    assert who(applied(table, "reversed-role", qualification=STEALTH)) == ["ana"]


def test_without_sheets_nobody_can_be_named():
    for card, wanted in (("reversed-role", {"qualification": SHOOTING}), ("degraded-authority", {})):
        with pytest.raises(NobodyToPick):
            applied(valued((None, None, None)), card, **wanted)


def test_the_reversed_role_asks_for_its_qualification():
    refuses(seated(), "reversed-role", ("qualification", "missing"))


# Team breakdown and unstable patch: notices of rolls by name. No roll is refused.


def by_name(table, qualification=SHOOTING, aptitude=CONTROL, character="zoe"):
    asked = PoolAsked(aptitude=aptitude, qualification=qualification)
    return list(table.play(rolls.roll_sixd6, character, asked, fallen()).notices)


def playing():
    """Zoé and Max have sheets that give no dice."""
    return with_sheet(with_sheet(seated()), "max")


def test_team_breakdown():
    table = playing()
    by_name(table)  # before the card: nobody remembers it
    facts = applied(table, "team-breakdown")
    assert (facts.effect, who(facts)) == (Effect.IN_FORCE, [])
    rolled = [
        by_name(table, SHOOTING),
        by_name(table, SHOOTING, SOCIAL),
        by_name(table, STEALTH),
        by_name(table, SHOOTING, character="max"),
        by_name(table, SHOOTING),
    ]
    assert rolled == [[], [Notice.REPEATED_QUALIFICATION], [], [], [Notice.REPEATED_QUALIFICATION]]


def test_only_rolls_by_name_are_remembered():
    table = playing()
    applied(table, "team-breakdown")
    by_name(table)
    assert table.play(rolls.roll_sixd6, "zoe", PoolAsked(base=1), fallen(2)).notices == ()
    assert by_name(table) == [Notice.REPEATED_QUALIFICATION]


def test_unstable_patch():
    table = playing()
    assert applied(table, "unstable-patch").effect is Effect.IN_FORCE
    rolled = [
        by_name(table, SHOOTING, CONTROL),
        by_name(table, SHOOTING, CONTROL, "max"),
        by_name(table, STEALTH, SOCIAL),
        by_name(table, STEALTH, CONTROL),
    ]
    assert rolled == [[], [], [Notice.OTHER_APTITUDE], []]
    assert table.get("scene").synchronised is CONTROL
    assert table.play(rolls.roll_sixd6, "zoe", PoolAsked(base=1), fallen(2)).notices == ()


def test_both_at_once():
    table = playing()
    applied(table, "unstable-patch")
    applied(table, "team-breakdown")
    assert by_name(table, SHOOTING, CONTROL) == []
    assert by_name(table, SHOOTING, SOCIAL) == [Notice.REPEATED_QUALIFICATION, Notice.OTHER_APTITUDE]


# The others: the table plays them, and the answer is their text.


@pytest.mark.parametrize("card", sorted(set(GRAVE) - set(cards.PLAYS)))
def test_the_others_change_nothing(card):
    table = seated()
    identifier = give(table, card, "zoe")
    before = dict(table.raw)
    facts = table.play(cards.apply, identifier, Wanted())
    assert (facts.effect, facts.card.card, facts.characters, facts.drawn) == (Effect.TEXT, card, (), ())
    assert table.raw == before
    assert table.events[-1].type == "card.applied"


def test_every_row_of_the_rules_is_played():
    assert set(cards.PLAYS) <= set(GRAVE)
    assert len(cards.PLAYS) == 11  # A7: those of its table, but "the others"


@pytest.mark.parametrize("deck", ["light", "mine"])
def test_light_cards_and_those_of_own_decks_are_the_tables_to_play(deck):
    table = seated()
    table.own("mine", puppet=1)  # a name of the game's, in a deck that is not
    card = table.play(decks.draw, deck, 1, holder="zoe").cards[0]
    facts = table.play(cards.apply, card.id, Wanted())
    assert (facts.effect, facts.card) == (Effect.TEXT, card)


# Refusals.

STRAY = [
    # card, what is told with it, member at fault
    ("contamination", {"character": "max"}, "character"),
    ("contamination", {"by_lot": True}, "by_lot"),
    ("decompression", {"by_lot": True}, "by_lot"),
    ("mandatory-denunciation", {"by_lot": True}, "by_lot"),
    ("mandatory-denunciation", {"character": "max", "by_lot": True}, "by_lot"),
    ("puppet", {"character": "max", "by_lot": True}, "character"),
    ("inversion", {"qualification": SHOOTING, "character": "max"}, "qualification"),
    ("team-breakdown", {"qualification": SHOOTING}, "qualification"),
    ("unstable-patch", {"character": "max"}, "character"),
    ("reversed-role", {"qualification": SHOOTING, "character": "max"}, "character"),
    ("degraded-authority", {"qualification": SHOOTING}, "qualification"),
    ("white-noise", {"character": "max"}, "character"),
    ("white-noise", {"by_lot": True}, "by_lot"),
    ("white-noise", {"qualification": SHOOTING}, "qualification"),
]


@pytest.mark.parametrize(("card", "wanted", "at"), STRAY)
def test_what_a_card_has_no_use_for_is_refused(card, wanted, at):
    refuses(seated(), card, (at, "not_for_card"), **wanted)


@pytest.mark.parametrize("card", ["inversion", "messenger", "imposed-spokesperson"])
def test_a_name_or_a_lot_not_both(card):
    refuses(seated(), card, ("character", "name_or_lot"), character="max", by_lot=True)


NOT_ACTIVE = ["grave-44", "light-1", "grave-1", "grave-62", "mine-62", "grave", "", "grave-0044", "grave--44", "GRAVE-44"]


@pytest.mark.parametrize("card", NOT_ACTIVE)
def test_only_active_cards_are_applied(card):
    with pytest.raises(CardNotThere):
        seated().play(cards.apply, card, Wanted())


def test_a_discarded_card_is_not_applied():
    table = seated()
    card = give(table, "puppet", "zoe")
    table.play(decks.discard_cards, (card,))
    with pytest.raises(CardNotThere):
        table.play(cards.apply, card, Wanted())


MAY = [
    # token, Zoé's card, the table's card
    (GM, True, True),
    (PLAYER, True, True),
    (CHAT, True, True),
    (OF_ZOE, True, False),
    (OF_MAX, False, False),
    (OBSERVER, False, False),
]


@pytest.mark.parametrize(("token", "hers", "tables"), MAY, ids=lambda each: getattr(each, "id", ""))
def test_who_applies_a_card(token, hers, tables):
    for holder, may in (("zoe", hers), (TABLE, tables)):
        table = seated()
        card = give(table, "contamination", holder)
        if may:
            assert table.play(cards.apply, card, Wanted(), by=token).drawn
            assert table.events[-1].character == (holder or None)
        else:
            with pytest.raises(NotAllowed):
                table.play(cards.apply, card, Wanted(), by=token)
            assert held(table) == {}


# The end of what cards leave behind: with their card, or with the scene (R20).


def leaves(table):
    """Every mark there is; the cards that left them, by their names."""
    with_sheet(table, trauma=1)
    left = {}
    for card, wanted in (
        ("mandatory-denunciation", {"character": "max"}),
        ("puppet", {}),
        ("inversion", {"character": "max"}),
        ("team-breakdown", {}),
        ("degraded-authority", {}),
        ("unstable-patch", {}),
    ):
        left[card] = give(table, card, "zoe")
        table.play(cards.apply, left[card], Wanted(**wanted))
    by_name(table)
    marks = table.get("scene")
    assert all(getattr(marks, name) for name in Marks.__struct_fields__)
    return left


def test_the_scenes_end_keeps_what_lasts_longer():
    table = seated()
    left = leaves(table)
    ended = table.play(scene.end)
    assert {card.card for card in ended.discarded} == {
        "mandatory-denunciation",
        "puppet",
        "degraded-authority",
        "unstable-patch",
    }
    assert table.get("scene") == Marks(
        chosen={left["inversion"]: "max"}, breakdown=left["team-breakdown"], last_qualification=SHOOTING
    )
    assert by_name(table) == [Notice.REPEATED_QUALIFICATION]
    assert by_name(table, STEALTH, SOCIAL) == []  # the patch is gone


def put_down(table, card):
    table.play(decks.discard_cards, (card,))


def put_back(table, card):
    table.play(decks.return_cards, "grave", (card,), decks.ReturnTo.TOP)


WITH_ITS_CARD = [
    # card, what ends with it
    ("puppet", {"chosen"}),
    ("inversion", {"chosen"}),
    ("team-breakdown", {"breakdown", "last_qualification"}),
    ("unstable-patch", {"patch", "synchronised"}),
    ("mandatory-denunciation", set()),  # to the end of the scene
]


@pytest.mark.parametrize("gone", [put_down, put_back])
@pytest.mark.parametrize(("card", "ends"), WITH_ITS_CARD)
def test_marks_end_with_their_card(card, ends, gone):
    table = seated()
    left = leaves(table)
    before = table.get("scene")
    gone(table, left[card])
    after = table.get("scene")
    assert {name for name in Marks.__struct_fields__ if getattr(after, name) != getattr(before, name)} == ends
    assert left[card] not in after.chosen


def test_a_discard_of_others_leaves_the_marks():
    table = seated()
    leaves(table)
    before = table.get("scene")
    table.play(decks.draw, "light", 1, holder="max")
    table.play(decks.discard_of, "max", "light")
    assert table.get("scene") == before


def test_a_character_that_goes_takes_its_marks_along():
    table = seated()
    card = give(table, "mandatory-denunciation", "zoe")
    table.play(cards.apply, card, Wanted(character="max"))
    table.play(cards.apply, give(table, "inversion", "zoe"), Wanted(character="max"))
    with_sheet(table, "max", trauma=1)
    table.play(cards.apply, give(table, "degraded-authority", "zoe"), Wanted())
    table.play(decks.discard_of, "max")
    table.play(characters.delete, "max")
    assert table.get("scene") == Marks()
    table.play(characters.put, "max", Profile(name="Max"))
    assert table.get("scene").suspects == ()


# One property: whatever is drawn and applied, each card is in one place, and marks name cards that are active.


@settings(deadline=None, max_examples=50)
@given(st.data())
def test_cards_stay_whole_whatever_is_applied(data):
    table = seated(npcs=("Hal",))
    for each in ("zoe", "max"):
        table.play(sheets.put, each, sheet(trauma=data.draw(st.integers(0, 3))))
    for _ in range(data.draw(st.integers(1, 6))):
        names = [GRAVE[number - 44] for number in table.get("d:grave").pile]
        card = data.draw(st.sampled_from(names))
        wanted = {
            "character": "max" if card in cards.NAMED_BY_TABLE else None,
            "qualification": SHOOTING if card == "reversed-role" else None,
        }
        applied(table, card, data.draw(st.sampled_from(["zoe", TABLE])), **wanted)
        marks = table.get("scene")
        active = {f"grave-{number}" for number in held(table, "grave")}
        assert {*marks.chosen, marks.breakdown, marks.patch} - {None} <= active
        for deck, size in (("light", 43), ("grave", 18)):
            pile, discard, active = table.piles(deck)
            assert len({*pile, *discard, *active}) == len(pile) + len(discard) + len(active) == size


# Over HTTP: the sentence says what happened, or is the card's text.


@pytest.mark.anyio
async def test_the_answer_is_a_sentence_in_the_readers_language(table):
    drawn = (await table.ask("POST /decks/light/draws", {"character": "zoe"})).json()["cards"][0]
    for lang in Lang:
        answer = await table.ask(f"POST /cards/{drawn['id']}/apply", {}, lang=lang)
        text = complications.cards(complications.Deck.LIGHT)[drawn["card"]].worded(lang)
        assert answer.json()["text"] == f"{text.name}. {text.effect}"
        assert answer.json()["card"]["name"] == text.name
    await table.ask("PUT /decks/own", {"name": "Own", "cards": [{"card": "limp", "name": "Limp", "effect": "Walk slowly."}]})
    await table.ask("POST /decks/own/draws", {"table": True})
    assert "Walk slowly." in (await table.ask("POST /cards/own-62/apply", {})).json()["text"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("card", "body", "status", "code"),
    [
        ("grave-44", {}, 409, "card-not-there"),
        ("nothing", {}, 409, "card-not-there"),
        ("{held}", {"by_lot": 1}, 422, "invalid-request"),
        ("{held}", {"qualification": "strength"}, 422, "invalid-request"),
        ("{held}", {"character": "max", "by_lot": False, "who": "max"}, 422, "invalid-request"),
    ],
)
async def test_a_card_that_cannot_be_applied(table, card, body, status, code):
    held_card = (await table.ask("POST /decks/light/draws", {"character": "zoe"})).json()["cards"][0]["id"]
    answer = await table.ask(f"POST /cards/{card.format(held=held_card)}/apply", body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
