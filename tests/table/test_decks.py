"""A7: decks at a table. A deck named mine has one card a letter, numbered from 62: the game's 61 come first."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from service.dice import Chance
from service.errors import CardNotThere, DeckExhausted, InUse, InvalidValue, NotAllowed, NotThere, QuotaExceeded
from service.systems.sixd6 import complications
from service.table import decks
from service.table.audience import Visibility
from service.table.decks import TABLE, DrawFrom, OwnDeck, ReturnTo
from service.table.records import OwnCard, Reshuffle
from tests.table.played import CHAT, GM, OBSERVER, OF_ZOE, PLAYER, Scripted, Table

TOP, BOTTOM, RANDOM = DrawFrom
A, B, C, D, E = range(62, 67)


def mine(*holders, discarded=0, names=("Zoé", "Max"), **settings):
    """A table whose deck `mine` has the cards A to E: the first ones held, the next ones discarded, others in the pile."""
    table = Table(*names, **settings)
    table.own("mine", a=1, b=1, c=1, d=1, e=1)
    for holder in holders:
        table.play(decks.draw, "mine", 1, holder=holder)
    if discarded:
        table.play(decks.draw, "mine", discarded, holder=None)
    return table


def drawn(table, count=1, holder=None, place=TOP, identifier="mine", chance=None):
    facts = table.play(decks.draw, identifier, count, holder=holder, place=place, chance=chance)
    return facts, [int(card.id.rpartition("-")[2]) for card in facts.cards]


def test_a_table_starts_with_both_decks_shuffled():
    table = Table()
    assert [deck.deck for deck in table.play(decks.listed).decks] == ["grave", "light"]
    assert [deck.size for deck in table.play(decks.listed).decks] == [18, 43]
    assert table.piles("light") == ([*range(1, 44)], [], {})
    assert table.piles("grave") == ([*range(44, 62)], [], {})
    chance = Scripted(*((end, 0) for end in range(3, 1, -1)))
    assert decks.fresh(10, 3, chance).pile == (11, 12, 10)  # Fisher and Yates


@pytest.mark.parametrize(("deck", "first"), [("light", 1), ("grave", 44)])
def test_each_card_of_the_game_s_decks_is_there_once(deck, first):
    table = Table()
    facts, numbers = drawn(table, len(complications.cards(complications.Deck(deck))), identifier=deck)
    assert [card.card for card in facts.cards] == list(complications.cards(complications.Deck(deck)))
    assert facts.cards[0].id == f"{deck}-{first}"
    assert facts.cards[0].name == facts.cards[0].effect == ""  # worded when they are shown
    assert numbers == [*range(first, first + len(numbers))]


DRAWS = [
    # count, place, what chance says, cards drawn, pile left
    (1, TOP, [], [A], [B, C, D, E]),
    (3, TOP, [], [A, B, C], [D, E]),
    (2, BOTTOM, [], [E, D], [A, B, C]),
    (2, RANDOM, [(5, 2), (4, 2)], [C, D], [A, B, E]),
    (1, RANDOM, [(5, 0)], [A], [B, C, D, E]),
    (5, RANDOM, [(5, 4), (4, 0), (3, 0), (2, 1), (1, 0)], [E, A, B, D, C], []),
    (5, TOP, [], [A, B, C, D, E], []),
]


@pytest.mark.parametrize("holder", ["zoe", TABLE, None])
@pytest.mark.parametrize(("count", "place", "said", "numbers", "pile"), DRAWS)
def test_draws(count, place, said, numbers, pile, holder):
    table, chance = mine(), Scripted(*said)
    facts, got = drawn(table, count, holder, place, chance=chance)
    assert (got, chance.left, facts.reshuffled) == (numbers, [], False)
    kept = (numbers[::-1], {}) if holder is None else ([], dict.fromkeys(numbers, holder))
    assert table.piles("mine") == (pile, *kept)
    assert (facts.draw_pile, facts.discard_pile, facts.active) == (len(pile), len(kept[0]), len(kept[1]))
    assert {card.holder for card in facts.cards} == {holder}
    assert [card.card for card in facts.cards] == ["abcde"[number - A] for number in numbers]
    assert (facts.character, facts.character_name) == (("zoe", "Zoé") if holder == "zoe" else (None, None))
    told = table.events[-1]
    assert (told.type, told.data, told.character, told.visibility) == ("cards.drawn", facts, holder or None, "public")


def test_a_draw_keeps_its_visibility_and_who_drew():
    table = mine()
    facts = table.play(decks.draw, "mine", 1, holder="zoe", visibility=Visibility.SELF, by=OF_ZOE)
    assert (facts.visibility, facts.roller, table.events[-1].visibility) == (Visibility.SELF, "of-zoe", "self")


# A and B active, D on C discarded, E in the pile; the discard pile goes under it in the order that chance gives.
REPLENISHED = [
    # rule, count, what chance says, cards drawn or cards left, reshuffled
    (Reshuffle.WHEN_EMPTY, 1, [], [E], False),
    (Reshuffle.WHEN_EMPTY, 2, [(2, 1)], [E, D], True),
    (Reshuffle.WHEN_EMPTY, 2, [(2, 0)], [E, C], True),
    (Reshuffle.WHEN_EMPTY, 3, [(2, 1)], [E, D, C], True),
    (Reshuffle.WHEN_EMPTY, 4, [(2, 1)], 3, None),
    (Reshuffle.NEVER, 1, [], [E], False),
    (Reshuffle.NEVER, 2, [], 1, None),
    (Reshuffle.NEVER, 20, [], 1, None),
]


@pytest.mark.parametrize(("reshuffle", "count", "said", "numbers", "reshuffled"), REPLENISHED)
def test_the_discard_pile_goes_under_the_pile_where_it_is_not_enough(reshuffle, count, said, numbers, reshuffled):
    table, chance = mine("zoe", "max", discarded=2, reshuffle=reshuffle), Scripted(*said)
    assert table.piles("mine") == ([E], [D, C], {A: "zoe", B: "max"})
    if isinstance(numbers, list):
        facts, got = drawn(table, count, TABLE, chance=chance)
        assert (got, facts.reshuffled) == (numbers, reshuffled)
        assert table.piles("mine")[2] == {A: "zoe", B: "max", **dict.fromkeys(numbers, TABLE)}
    else:
        before = table.piles("mine")
        with pytest.raises(DeckExhausted) as refusal:
            drawn(table, count, "zoe", chance=chance)
        assert (refusal.value.deck, refusal.value.wanted, refusal.value.left) == ("mine", count, numbers)
        assert table.piles("mine") == before
    assert chance.left == []


def test_cards_of_the_same_draw_do_not_come_back_within_it():
    table = mine(discarded=3)
    facts, got = drawn(table, 5, None, chance=Scripted((3, 2), (2, 1)))
    assert got == [D, E, C, B, A]
    assert table.piles("mine") == ([], [A, B, C, E, D], {})
    assert facts.reshuffled


def test_a_draw_from_a_place_reshuffles_under_the_pile_first():
    table = mine("zoe", "max", discarded=2)
    _, got = drawn(table, 2, TABLE, BOTTOM, chance=Scripted((2, 1)))
    assert got == [C, D]  # pile E D C


def deal(turn, identifier, count, holder):
    """A roll or a card that draws."""
    facts = decks.deal(turn, identifier, count, holder)
    turn.tell("test", decks.Discarded(cards=facts[0]))
    return decks.Discarded(cards=facts[0], event=str(facts[1]))


DEALT = [
    # rule, count, cards dealt, undealt
    (Reshuffle.WHEN_EMPTY, 0, [], 0),
    (Reshuffle.WHEN_EMPTY, 1, [E], 0),
    (Reshuffle.WHEN_EMPTY, 3, [E, D, C], 0),
    (Reshuffle.WHEN_EMPTY, 7, [E, D, C], 4),
    (Reshuffle.NEVER, 1, [E], 0),
    (Reshuffle.NEVER, 3, [E], 2),
]


@pytest.mark.parametrize(("reshuffle", "count", "numbers", "undealt"), DEALT)
def test_what_follows_from_a_roll_deals_what_there_is(reshuffle, count, numbers, undealt):
    table = mine("zoe", "max", discarded=2, reshuffle=reshuffle)
    facts = table.play(deal, "mine", count, "max")
    assert ([card.id for card in facts.cards], facts.event) == ([f"mine-{number}" for number in numbers], str(undealt))
    assert table.piles("mine")[2] == {A: "zoe", B: "max", **dict.fromkeys(numbers, "max")}


NOT_DRAWN = [
    # deck, holder, kind, nearest
    ("mini", "zoe", "deck", ("mine",)),
    ("mine", "zo", "character", ("zoe",)),
    ("x" * 200, None, "deck", ()),
]


@pytest.mark.parametrize(("deck", "holder", "kind", "nearest"), NOT_DRAWN)
def test_draws_of_what_is_not_there(deck, holder, kind, nearest):
    with pytest.raises(NotThere) as refusal:
        mine().play(decks.draw, deck, 1, holder=holder)
    assert (refusal.value.kind, refusal.value.nearest) == (kind, nearest)


# Whom a bound player's token may draw for, and whose cards it may put down.
HOLDERS = [("zoe", True), ("max", False), (TABLE, False), (None, False)]


@pytest.mark.parametrize(("holder", "allowed"), HOLDERS)
def test_a_bound_player_draws_for_its_character_only(holder, allowed):
    table = mine()
    for token in (PLAYER, CHAT):
        table.play(decks.draw, "mine", 1, holder=holder, by=token)
    with pytest.raises(NotAllowed) as refusal:
        table.play(decks.draw, "mine", 1, holder=holder, by=OBSERVER)
    assert refusal.value.reason == "role"
    if allowed:
        assert table.play(decks.draw, "mine", 1, holder=holder, by=OF_ZOE).active == 3
    else:
        with pytest.raises(NotAllowed) as refusal:
            table.play(decks.draw, "mine", 1, holder=holder, by=OF_ZOE)
        assert refusal.value.reason == "character"


# Discards.


def test_discarded_cards_lie_last_first():
    table = mine("zoe", "max", TABLE, discarded=1)
    facts = table.play(decks.discard_cards, ("mine-64", "mine-62"))
    assert [(card.id, card.card, card.holder) for card in facts.cards] == [("mine-64", "c", TABLE), ("mine-62", "a", "zoe")]
    assert table.piles("mine") == ([E], [A, C, D], {B: "max"})
    assert (table.events[-1].type, table.events[-1].character, table.events[-1].data) == ("cards.discarded", None, facts)


def test_cards_of_several_decks_are_discarded_in_one_step():
    table = mine("zoe")
    table.play(decks.draw, "light", 1, holder="zoe")
    facts = table.play(decks.discard_cards, ("light-1", "mine-62"))
    assert [card.deck for card in facts.cards] == ["light", "mine"]
    assert table.events[-1].character == "zoe"
    assert (table.piles("light")[1], table.piles("mine")[1]) == ([1], [A])


# Zoé holds A, Max B, the table C; D is discarded, E in the pile. Every row names a card that may go as well: all or nothing.
NOT_DISCARDED = [
    # card, within, refusal
    ("mine-65", None, CardNotThere),  # discarded already
    ("mine-66", None, CardNotThere),  # in the pile
    ("mine-67", None, CardNotThere),  # of nobody
    ("mine-1", None, CardNotThere),  # of another deck
    ("light-62", None, CardNotThere),
    ("other-62", None, CardNotThere),
    ("mine-62", "light", CardNotThere),
    ("mine", None, CardNotThere),
    ("62", None, CardNotThere),
    ("", None, CardNotThere),
    ("mine-062", None, CardNotThere),
    ("mine-+62", None, CardNotThere),
    ("mine-６２", None, CardNotThere),
    ("mine-62\n", None, CardNotThere),
    ("Mine-62", None, CardNotThere),
    ("mine-99999999999999999999", None, CardNotThere),
    ("mine-63", None, InvalidValue),  # twice
]


@pytest.mark.parametrize(("card", "within", "error"), NOT_DISCARDED)
def test_cards_that_cannot_be_discarded_leave_all_where_they_are(card, within, error):
    table = mine("zoe", "max", TABLE, discarded=1)
    before = table.piles("mine")
    with pytest.raises(error) as refusal:
        table.play(decks.discard_cards, ("mine-63", card), within)
    if error is CardNotThere:
        assert refusal.value.card == (card if within is None else "mine-63")
    else:
        assert (refusal.value.field, refusal.value.problem, refusal.value.data) == ("cards", "repeated_card", {"card": card})
    assert table.piles("mine") == before


def test_a_bound_player_discards_its_own_cards_only():
    table = mine("zoe", "max", TABLE)
    for cards_ in (("mine-63",), ("mine-64",), ("mine-62", "mine-63")):
        with pytest.raises(NotAllowed):
            table.play(decks.discard_cards, cards_, by=OF_ZOE)
    assert table.play(decks.discard_cards, ("mine-62",), by=OF_ZOE).cards[0].holder == "zoe"
    assert len(table.play(decks.discard_cards, ("mine-63", "mine-64"), by=PLAYER).cards) == 2


OF_WHOM = [
    # character (None: everybody's), within, cards that go
    ("zoe", None, ["light-1", "mine-62", "mine-63"]),
    ("zoe", "mine", ["mine-62", "mine-63"]),
    ("zoe", "grave", []),
    ("max", None, ["mine-64"]),
    (None, None, ["light-1", "mine-62", "mine-63", "mine-64", "mine-65"]),
    (None, "mine", ["mine-62", "mine-63", "mine-64", "mine-65"]),
    (None, "light", ["light-1"]),
]


@pytest.mark.parametrize(("character", "within", "gone"), OF_WHOM)
def test_all_cards_of_a_character_or_of_everybody(character, within, gone):
    table = mine("zoe", "zoe", "max", TABLE)
    table.play(decks.draw, "light", 1, holder="zoe")
    told = len(table.events)
    facts = table.play(decks.discard_of, character, within)
    assert [card.id for card in facts.cards] == gone
    assert len(table.events) - told == bool(gone)  # to discard nothing is no event
    assert not {card.id for card in table.play(decks.active_cards)} & set(gone)


def test_who_may_discard_all():
    table = mine("zoe", "max")
    with pytest.raises(NotThere):
        table.play(decks.discard_of, "nobody")
    with pytest.raises(NotAllowed):
        table.play(decks.discard_of, None, by=PLAYER)
    with pytest.raises(NotAllowed):
        table.play(decks.discard_of, "max", by=OF_ZOE)
    assert len(table.play(decks.discard_of, "zoe", by=OF_ZOE).cards) == 1


# Returns. Zoé holds A and B; C is discarded under D; E is in the pile.
RETURNS = [
    # cards, to, what chance says, pile, discard pile, active
    ([A], ReturnTo.TOP, [], [A, E], [D, C], [B]),
    ([A], ReturnTo.BOTTOM, [], [E, A], [D, C], [B]),
    ([B, A], ReturnTo.TOP, [], [B, A, E], [D, C], []),
    ([C, A], ReturnTo.BOTTOM, [], [E, C, A], [D], [B]),
    ([C, D], ReturnTo.TOP, [], [C, D, E], [], [A, B]),
    ([A], ReturnTo.SHUFFLE, [(2, 0)], [A, E], [D, C], [B]),
    ([A, C], ReturnTo.SHUFFLE, [(3, 0), (2, 1)], [C, A, E], [D], [B]),
]


@pytest.mark.parametrize(("numbers", "to", "said", "pile", "discard", "active"), RETURNS)
def test_returns(numbers, to, said, pile, discard, active):
    table, chance = mine("zoe", "zoe", discarded=2), Scripted(*said)
    facts = table.play(decks.return_cards, "mine", tuple(f"mine-{each}" for each in numbers), to, chance=chance)
    assert table.piles("mine") == (pile, discard, dict.fromkeys(active, "zoe"))
    assert [card.id for card in facts.cards] == [f"mine-{each}" for each in numbers]
    assert (facts.draw_pile, facts.discard_pile, facts.active) == (len(pile), len(discard), len(active))
    assert (table.events[-1].type, table.events[-1].data, chance.left) == ("cards.returned", facts, [])


NOT_RETURNED = [
    # cards, refusal
    (("mine-62", "mine-66"), CardNotThere),  # in the pile already
    (("mine-62", "mine-67"), CardNotThere),
    (("mine-62", "light-1"), CardNotThere),
    (("mine-62", "mine-62"), InvalidValue),
]


@pytest.mark.parametrize(("cards_", "error"), NOT_RETURNED)
def test_cards_that_cannot_be_returned_leave_all_where_they_are(cards_, error):
    table = mine("zoe", "zoe", discarded=2)
    table.play(decks.draw, "light", 1, holder="zoe")
    before = table.piles("mine"), table.piles("light")
    with pytest.raises(error):
        table.play(decks.return_cards, "mine", cards_, ReturnTo.TOP)
    assert (table.piles("mine"), table.piles("light")) == before


def test_who_may_return_what():
    table = mine("zoe", "max", discarded=1)
    with pytest.raises(NotThere):
        table.play(decks.return_cards, "other", ("other-1",), ReturnTo.TOP)
    for card in ("mine-63", "mine-64"):  # somebody else's, and nobody's
        with pytest.raises(NotAllowed):
            table.play(decks.return_cards, "mine", (card,), ReturnTo.TOP, by=OF_ZOE)
    assert table.play(decks.return_cards, "mine", ("mine-62",), ReturnTo.TOP, by=OF_ZOE).draw_pile == 3
    assert table.play(decks.return_cards, "mine", ("mine-64",), ReturnTo.TOP, by=PLAYER).draw_pile == 4


SHUFFLES = [
    # with the discard pile, what chance says, pile, discard pile
    (False, [(2, 0)], [E, D], [C, B]),
    (True, [(4, 0), (3, 2), (2, 1)], [B, E, C, D], []),
]


@pytest.mark.parametrize(("with_discard", "said", "pile", "discard"), SHUFFLES)
def test_shuffles(with_discard, said, pile, discard):
    table, chance = mine("zoe", discarded=2), Scripted(*said)
    facts = table.play(decks.shuffle, "mine", discard=with_discard, chance=chance)
    assert table.piles("mine") == (pile, discard, {A: "zoe"})
    assert (facts.draw_pile, facts.discard_pile, facts.active, chance.left) == (len(pile), len(discard), 1, [])


def test_a_peek_moves_nothing_and_is_the_gm_s():
    table = mine("zoe", discarded=1)
    raw, told = table.raw, len(table.events)
    assert [card.card for card in table.play(decks.peek, "mine", 2).cards] == ["c", "d"]
    assert [card.card for card in table.play(decks.peek, "mine", 20).cards] == ["c", "d", "e"]
    for token in (PLAYER, CHAT, OF_ZOE, OBSERVER):
        with pytest.raises(NotAllowed):
            table.play(decks.peek, "mine", 1, by=token)
    assert (table.raw, len(table.events)) == (raw, told)


def test_a_view_shows_no_card_of_the_pile():
    table = mine("zoe", TABLE, discarded=2)
    seen = table.play(decks.view, "mine", by=OBSERVER)
    assert (seen.deck, seen.name, seen.size) == ("mine", "Mine", 5)
    assert (seen.draw_pile, seen.discard_pile, seen.active) == (1, 2, 2)
    assert [card.card for card in seen.discard] == ["d", "c"]
    assert [(card.card, card.holder) for card in seen.active_cards] == [("a", "zoe"), ("b", TABLE)]
    with pytest.raises(NotThere):
        table.play(decks.view, "other")


def test_active_cards_over_all_decks_or_of_one_character():
    table = mine("zoe", "max", TABLE)
    table.play(decks.draw, "grave", 1, holder="zoe")

    def held(*told):
        return [card.id for card in table.play(decks.active_cards, *told)]

    assert held() == ["grave-44", "mine-62", "mine-63", "mine-64"]
    assert held("zoe") == ["grave-44", "mine-62"]
    assert held("zoe", "mine") == ["mine-62"]
    assert held(TABLE) == ["mine-64"]
    assert held("nobody") == []


# A table's own decks.


def texts(*copies, effect=""):
    """So many texts, each with its copies."""
    return tuple((OwnCard(card=f"c{number}", name="C", effect=effect), count) for number, count in enumerate(copies))


def own(table, identifier, cards_, **more):
    return table.play(decks.put_own, identifier, OwnDeck(name="Deck", cards=cards_), **more)


def test_copies_share_a_text_and_have_ids_of_their_own():
    table = Table()
    view = table.own("mine", limp=2, blind=1, deaf=3)
    assert (view.size, view.draw_pile, view.name) == (6, 6, "Mine")
    facts, numbers = drawn(table, 6, "zoe")
    assert numbers == [*range(62, 68)]
    assert [card.card for card in facts.cards] == ["limp", "limp", "blind", "deaf", "deaf", "deaf"]
    assert [card.name for card in facts.cards] == ["Limp", "Limp", "Blind", "Deaf", "Deaf", "Deaf"]


def test_a_deck_of_500_cards_is_shuffled_whole():
    table = Table()
    assert own(table, "large", texts(499, 1)).size == 500
    assert drawn(table, 500, None, identifier="large")[0].cards[-1].card == "c1"


def test_a_replaced_deck_has_new_cards():
    table = mine(discarded=2)
    for _ in range(2):
        table.own("mine", a=1, f=1)
    assert table.piles("mine") == ([69, 70], [], {})  # 62 to 66, then 67 and 68, are never seen again
    assert table.play(decks.peek, "mine", 2).cards[1].card == "f"
    with pytest.raises(CardNotThere):
        table.play(decks.return_cards, "mine", ("mine-62",), ReturnTo.TOP)


def test_a_deleted_deck_is_gone_and_its_numbers_with_it():
    table = mine()
    facts = table.play(decks.delete_own, "mine")
    assert (facts.deck, facts.draw_pile) == ("mine", 5)
    assert {"d:mine", "t:mine"} & table.raw.keys() == set()
    with pytest.raises(NotThere):
        table.play(decks.delete_own, "mine")
    table.own("mine", a=1)
    assert table.piles("mine")[0] == [67]


def test_a_deck_in_use_is_neither_replaced_nor_deleted():
    table = mine("zoe", TABLE, discarded=1)
    with pytest.raises(InUse) as refusal:
        own(table, "mine", texts(1))
    assert (refusal.value.kind, refusal.value.name, refusal.value.active) == ("deck", "mine", 2)
    with pytest.raises(InUse):
        table.play(decks.delete_own, "mine")
    table.play(decks.discard_of, None)
    table.play(decks.delete_own, "mine")


NOT_PUT = [
    # id, cards, refusal, what is wrong
    ("light", texts(1), InvalidValue, "game_deck"),
    ("grave", texts(1), InvalidValue, "game_deck"),
    ("Mine", texts(1), InvalidValue, "bad_id"),  # its cards could not be named
    ("mïne", texts(1), InvalidValue, "bad_id"),
    ("", texts(1), InvalidValue, "bad_id"),
    ("x" * 65, texts(1), InvalidValue, "bad_id"),
    ("mine", (*texts(1), *texts(1)), InvalidValue, "repeated_card"),
    ("mine", texts(500, 1), QuotaExceeded, "cards"),
    ("mine", texts(*[1] * 501), QuotaExceeded, "cards"),
]


@pytest.mark.parametrize(("identifier", "cards_", "error", "wrong"), NOT_PUT)
def test_decks_that_cannot_be(identifier, cards_, error, wrong):
    table = Table()
    raw = table.raw
    with pytest.raises(error) as refusal:
        own(table, identifier, cards_)
    assert (refusal.value.problem if error is InvalidValue else refusal.value.what) == wrong
    assert table.raw == raw


@pytest.mark.parametrize("identifier", ["light", "grave"])
def test_the_game_s_decks_stay(identifier):
    with pytest.raises(InvalidValue) as refusal:
        Table().play(decks.delete_own, identifier)
    assert refusal.value.problem == "game_deck"


def test_a_table_has_twenty_decks_at_most():
    table = Table()
    for number in range(18):
        own(table, f"d{number}", texts(1))
    with pytest.raises(QuotaExceeded) as refusal:
        own(table, "d18", texts(1))
    assert (refusal.value.what, refusal.value.most) == ("decks", 20)
    own(table, "d0", texts(2))  # to replace one is no more
    table.play(decks.delete_own, "d1")
    own(table, "d18", texts(1))


def test_all_texts_of_a_table_have_256_kib():
    table = Table()
    # c0 to c499 and C: 1,890 + 500 bytes; é has two.
    size = 2_390 + 500 * 2 * 60
    for number in range(4):
        own(table, f"d{number}", texts(*[1] * 500, effect="é" * 60))
    left = 262_144 - 4 * size
    fits = "x" * (left - 3)
    with pytest.raises(QuotaExceeded) as refusal:
        own(table, "last", texts(500, effect=fits + "x"))  # copies are free
    assert (refusal.value.what, refusal.value.most) == ("card_text_bytes", 262_144)
    own(table, "last", texts(500, effect=fits))
    own(table, "last", texts(1, effect=fits))  # the text that goes counts no more


def test_who_may_change_decks():
    table = mine()
    for token in (PLAYER, CHAT, OF_ZOE, OBSERVER):
        for play, told in ((decks.put_own, ("mine", OwnDeck(name="M", cards=texts(1)))), (decks.delete_own, ("mine",))):
            with pytest.raises(NotAllowed):
                table.play(play, *told, by=token)


# Every card is always in exactly one place.


class Told(Chance):
    """Says the numbers over and over, each cut to its question."""

    def __init__(self, numbers):
        self.numbers, self.said = numbers, 0

    def below(self, end):
        self.said += 1
        return self.numbers[self.said % len(self.numbers)] % end


PILE, DISCARDED = "the pile", "the discard pile"
NAMES = st.sampled_from(["light", "grave", "mine", "yours"])
HOLDERS_DRAWN = st.sampled_from(["zoe", "max", TABLE, None])


class Conservation(RuleBasedStateMachine):
    """`places` says where each card should be: in the pile, on the discard pile, or with its holder."""

    @initialize(reshuffle=st.sampled_from(Reshuffle), numbers=st.lists(st.integers(0, 10**6), min_size=1, max_size=30))
    def open(self, reshuffle, numbers):
        self.table, self.chance = Table(reshuffle=reshuffle), Told(numbers)
        self.can_reshuffle = reshuffle is Reshuffle.WHEN_EMPTY
        self.places, self.seen = {}, set()
        for deck in ("light", "grave"):
            self._new(deck)

    def _play(self, play, *told, **more):
        return self.table.play(play, *told, chance=self.chance, **more)

    def _new(self, deck):
        numbers = self.table.piles(deck)[0]
        assert not self.seen & set(numbers)  # a number is never used again
        self.seen |= set(numbers)
        self.places[deck] = dict.fromkeys(numbers, PILE)

    def _at(self, deck, *places):
        return [number for number, place in self.places[deck].items() if place in places]

    def _active(self, deck):
        return [number for number, place in self.places[deck].items() if place not in (PILE, DISCARDED)]

    def _move(self, deck, cards_, place, *, count=None):
        numbers = [int(card.id.rpartition("-")[2]) for card in cards_]
        assert len(set(numbers)) == len(numbers)
        assert count in (None, len(numbers))
        self.places[deck] |= dict.fromkeys(numbers, place)

    def _draws(self, deck, count):
        """Cards that can be drawn; with the discard pile, where it is needed and may be used."""
        pile, discard = self._at(deck, PILE), self._at(deck, DISCARDED)
        if count > len(pile) and self.can_reshuffle:
            return len(pile) + len(discard), True
        return len(pile), False

    def _reshuffle(self, deck):
        self.places[deck] |= dict.fromkeys(self._at(deck, DISCARDED), PILE)

    @rule(deck=NAMES, count=st.integers(1, 20), place=st.sampled_from(DrawFrom), holder=HOLDERS_DRAWN)
    def draw(self, deck, count, place, holder):
        if deck not in self.places:
            return
        there, reshuffles = self._draws(deck, count)
        if count > there:
            with pytest.raises(DeckExhausted) as refusal:
                self._play(decks.draw, deck, count, holder=holder, place=place)
            assert (refusal.value.wanted, refusal.value.left) == (count, there)
            return
        discarded = self._at(deck, DISCARDED)
        drawn_ = self._play(decks.draw, deck, count, holder=holder, place=place)
        assert drawn_.reshuffled == bool(reshuffles and discarded)
        if reshuffles:
            self._reshuffle(deck)
        assert all(self.places[deck][int(card.id.rpartition("-")[2])] == PILE for card in drawn_.cards)
        self._move(deck, drawn_.cards, DISCARDED if holder is None else holder, count=count)

    @rule(deck=NAMES, count=st.integers(1, 50), holder=st.sampled_from(["zoe", "max"]))
    def deal(self, deck, count, holder):
        if deck not in self.places:
            return
        there, reshuffles = self._draws(deck, count)
        facts = self._play(deal, deck, count, holder)
        if reshuffles:
            self._reshuffle(deck)
        assert all(self.places[deck][int(card.id.rpartition("-")[2])] == PILE for card in facts.cards)
        assert facts.event == str(max(0, count - there))
        self._move(deck, facts.cards, holder, count=min(count, there))

    @rule(deck=NAMES, chosen=st.data())
    def discard(self, deck, chosen):
        active = self._active(deck) if deck in self.places else []
        if not active:
            return
        numbers = chosen.draw(st.lists(st.sampled_from(active), min_size=1, unique=True))
        facts = self._play(decks.discard_cards, tuple(f"{deck}-{number}" for number in numbers))
        self._move(deck, facts.cards, DISCARDED, count=len(numbers))

    @rule(character=st.sampled_from(["zoe", "max", None]))
    def discard_all(self, character):
        for card in self._play(decks.discard_of, character).cards:
            assert character in (None, card.holder)
            self._move(card.deck, [card], DISCARDED)
        assert not [deck for deck in self.places if self._at(deck, character) or (character is None and self._active(deck))]

    @rule(deck=NAMES, to=st.sampled_from(ReturnTo), chosen=st.data())
    def give_back(self, deck, to, chosen):
        out = [*self._active(deck), *self._at(deck, DISCARDED)] if deck in self.places else []
        if not out:
            return
        numbers = chosen.draw(st.lists(st.sampled_from(out), min_size=1, max_size=10, unique=True))
        facts = self._play(decks.return_cards, deck, tuple(f"{deck}-{number}" for number in numbers), to)
        self._move(deck, facts.cards, PILE, count=len(numbers))

    @rule(deck=NAMES, with_discard=st.booleans())
    def shuffle(self, deck, with_discard):
        if deck in self.places:
            self._play(decks.shuffle, deck, discard=with_discard)
            if with_discard:
                self._reshuffle(deck)

    @rule(deck=st.sampled_from(["mine", "yours"]), copies=st.lists(st.integers(1, 4), min_size=1, max_size=5))
    def put(self, deck, copies):
        active = self._active(deck) if deck in self.places else []
        if active:
            with pytest.raises(InUse):
                self._play(decks.put_own, deck, OwnDeck(name=deck, cards=texts(*copies)))
        else:
            self._play(decks.put_own, deck, OwnDeck(name=deck, cards=texts(*copies)))
            self._new(deck)
            assert len(self.places[deck]) == sum(copies)

    @precondition(lambda self: len(self.places) > 2)
    @rule(deck=st.sampled_from(["mine", "yours"]))
    def delete(self, deck):
        if deck in self.places and self._active(deck):
            with pytest.raises(InUse):
                self._play(decks.delete_own, deck)
        elif deck in self.places:
            self._play(decks.delete_own, deck)
            del self.places[deck]

    @precondition(lambda self: hasattr(self, "places"))
    @invariant()
    def every_card_is_in_exactly_one_place(self):
        assert {field[2:] for field in self.table.raw if field.startswith("d:")} == self.places.keys()
        for deck, places in self.places.items():
            pile, discard, active = self.table.piles(deck)
            assert len(pile) + len(discard) + len(active) == len(places)
            assert {**dict.fromkeys(pile, PILE), **dict.fromkeys(discard, DISCARDED), **active} == places


TestConservation = Conservation.TestCase
TestConservation.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)


# Who sees an active card that was drawn in secret: its visibility, who drew, who reads, whether it is seen.
SECRET_CARDS = [
    (Visibility.GM, PLAYER, GM, True),
    (Visibility.GM, PLAYER, PLAYER, True),
    (Visibility.GM, GM, PLAYER, False),
    (Visibility.BLIND, PLAYER, PLAYER, False),
    (Visibility.BLIND, PLAYER, GM, True),
    (Visibility.SELF, PLAYER, GM, False),
    (Visibility.SELF, PLAYER, PLAYER, True),
    (Visibility.PUBLIC, PLAYER, OBSERVER, True),
]


@pytest.mark.parametrize(("visibility", "drawer", "reader", "seen"), SECRET_CARDS)
def test_a_card_drawn_in_secret_is_seen_by_those_it_is_for(visibility, drawer, reader, seen):
    table = Table("Zoé")
    card = table.play(decks.draw, "light", 1, holder="zoe", visibility=visibility, by=drawer).cards[0]
    assert bool(table.play(decks.shown_cards, by=reader)) is seen
    assert bool(table.play(decks.view, "light", by=reader).active_cards) is seen
    assert table.play(decks.view, "light", by=reader).active == 1
    sees_own = visibility is not Visibility.BLIND  # else it is not there for who drew it
    if not sees_own:
        with pytest.raises(CardNotThere):
            table.play(decks.discard_cards, (card.id,), by=drawer)
    table.play(decks.discard_cards, (card.id,), by=drawer if sees_own else GM)
    assert table.get("d:light").hidden == {}
