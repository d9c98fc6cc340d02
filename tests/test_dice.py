"""The one door to chance: what it asks the system for, and what it makes of faces from outside."""

import secrets
from collections import Counter
from itertools import permutations, product

import pytest

from service.dice import Chance, Dice, DieKind, FacesMismatch, FacesSource, GivenFaces, SystemDice, Tape, Throw

DAMAGE = Throw(8, DieKind.DAMAGE, 0, 1)
BASE = Throw(6, DieKind.BASE, 0, 3)
RED = Throw(6, DieKind.RED, 0, 2)


class Rest(Dice):
    """Lets every die fall on 2, and keeps what it was asked."""

    def __init__(self):
        self.asked = []

    def throw(self, *throws):
        self.asked += throws
        return [2 for throw in throws for _ in range(throw.count)]


@pytest.mark.parametrize("end", [1, 2, 3, 6, 8, 10, 12, 43, 200, 256])
def test_system_dice_make_each_number_of_as_many_bytes_of_the_operating_system(end, monkeypatch):
    asked = []
    monkeypatch.setattr(secrets, "token_bytes", lambda count: asked.append(count) or bytes(range(256)))
    dice = SystemDice()
    numbers = [dice.below(end) for _ in range(end * (256 // (1 << (end - 1).bit_length())))]
    assert {number: numbers.count(number) for number in range(end)} == dict.fromkeys(range(end), len(numbers) // end)
    assert asked == [256]


def test_system_dice_throw_each_die_by_its_sides(monkeypatch):
    monkeypatch.setattr(secrets, "token_bytes", lambda _: bytes([7, 6, 7, 0, 8, 9]))
    # d8: 7; d6 in three bits: 6 and 7 are no face, 0, 8 & 7 = 0, 9 & 7 = 1
    assert SystemDice().throw(DAMAGE, BASE) == [8, 1, 1, 2]


def test_large_numbers_are_the_operating_systems_own(monkeypatch):
    monkeypatch.setattr(secrets, "randbelow", lambda end: end - 1)
    assert SystemDice().below(257) == 256


def test_given_faces_are_handed_out_in_their_order_over_all_throws():
    dice = GivenFaces([8, 1, 2, 3, 4, 5])
    assert dice.throw(DAMAGE) == [8]
    assert dice.throw(BASE, RED) == [1, 2, 3, 4, 5]
    assert dice.finish() is FacesSource.PROVIDED


REFUSED = [
    # faces given, throws, position at fault, sides of the wrong die, needed there
    ([], (DAMAGE,), 0, None, (DAMAGE,)),
    ([], (BASE, RED), 0, None, (BASE, RED)),
    ([4], (BASE, RED), 1, None, (Throw(6, DieKind.BASE, 0, 2), RED)),
    ([4, 4, 4], (BASE, RED), 3, None, (RED,)),
    ([4, 4, 4, 1], (BASE, RED), 4, None, (Throw(6, DieKind.RED, 0, 1),)),
    ([9], (DAMAGE,), 0, 8, (DAMAGE,)),
    ([0], (DAMAGE,), 0, 8, (DAMAGE,)),
    ([-1], (DAMAGE,), 0, 8, (DAMAGE,)),
    ([7, 1, 1, 1, 1], (BASE, RED), 0, 6, (BASE, RED)),
    ([1, 7, 1, 1, 1], (BASE, RED), 1, 6, (Throw(6, DieKind.BASE, 0, 2), RED)),
    ([1, 1, 1, 1, 7], (BASE, RED), 4, 6, (Throw(6, DieKind.RED, 0, 1),)),
    ([1, 7], (BASE, RED), 1, 6, (Throw(6, DieKind.BASE, 0, 2), RED)),  # wrong comes before too few
]


@pytest.mark.parametrize(("faces", "throws", "at", "sides", "needed"), REFUSED)
def test_faces_that_do_not_fit_are_refused_with_their_place_and_what_belongs_there(faces, throws, at, sides, needed):
    with pytest.raises(FacesMismatch) as refusal:
        GivenFaces(faces).throw(*throws)
    assert (refusal.value.at, refusal.value.sides, refusal.value.needed) == (at, sides, needed)


def test_the_place_counts_from_the_first_face_of_all():
    dice = GivenFaces([8, 1, 2, 3, 7])
    dice.throw(DAMAGE)
    dice.throw(BASE)
    with pytest.raises(FacesMismatch) as refusal:
        dice.throw(RED)
    assert (refusal.value.at, refusal.value.sides, refusal.value.needed) == (4, 6, (RED,))


def test_faces_left_over_are_refused_and_nothing_more_is_needed():
    dice = GivenFaces([8, 1, 1])
    dice.throw(DAMAGE)
    with pytest.raises(FacesMismatch) as refusal:
        dice.finish()
    assert (refusal.value.at, refusal.value.sides, refusal.value.needed) == (1, None, ())


REST = [
    # faces given, faces thrown for 3 base and 2 red dice, what the rest was asked, source
    ([], [2, 2, 2, 2, 2], [BASE, RED], FacesSource.SERVICE),
    ([5], [5, 2, 2, 2, 2], [Throw(6, DieKind.BASE, 0, 2), RED], FacesSource.MIXED),
    ([5, 5, 5], [5, 5, 5, 2, 2], [RED], FacesSource.MIXED),
    ([5, 5, 5, 1], [5, 5, 5, 1, 2], [Throw(6, DieKind.RED, 0, 1)], FacesSource.MIXED),
    ([5, 5, 5, 1, 1], [5, 5, 5, 1, 1], [], FacesSource.PROVIDED),
]


@pytest.mark.parametrize(("faces", "thrown", "asked", "source"), REST)
def test_the_rest_is_rolled_where_the_given_faces_end(faces, thrown, asked, source):
    rest = Rest()
    dice = GivenFaces(faces, rest)
    assert dice.throw(BASE, RED) == thrown
    assert rest.asked == asked
    assert dice.finish() is source


def test_a_rest_does_not_excuse_a_wrong_face():
    with pytest.raises(FacesMismatch) as refusal:
        GivenFaces([1, 7], Rest()).throw(BASE)
    assert (refusal.value.at, refusal.value.sides, refusal.value.needed) == (1, 6, (Throw(6, DieKind.BASE, 0, 2),))


def test_a_rest_does_not_excuse_faces_left_over():
    dice = GivenFaces([1, 1, 1, 4], Rest())
    dice.throw(BASE)
    with pytest.raises(FacesMismatch) as refusal:
        dice.finish()
    assert (refusal.value.at, refusal.value.needed) == (3, ())


class Scripted(Chance):
    """Says these numbers, each for the bound that it stands beside, and no more."""

    def __init__(self, *script):
        self.script = list(script)

    def below(self, end):
        number, bound = self.script.pop(0)
        assert end == bound
        return number


def test_a_shuffle_makes_each_order_from_one_run_of_chance():
    """Four cards ask for one of 4, of 3 and of 2: 24 runs, all as likely, and 24 orders."""
    runs = product(range(4), range(3), range(2))
    orders = Counter(tuple(Scripted(*zip(run, (4, 3, 2), strict=True)).shuffled("abcd")) for run in runs)
    assert orders == Counter(permutations("abcd"))


@pytest.mark.parametrize("items", [[], ["a"]])
def test_nothing_to_shuffle_asks_chance_for_nothing(items):
    assert Scripted().shuffled(items) == items


def test_a_shuffle_leaves_the_items_it_was_given():
    items = ["a", "b"]
    assert Scripted((0, 2)).shuffled(items) == ["b", "a"]
    assert items == ["a", "b"]


def test_a_tape_says_the_same_again_and_asks_only_for_what_is_new():
    chance = Scripted((0, 6), (7, 8), (5, 6), (3, 6))
    tape = Tape(chance)
    assert tape.throw(Throw(6, DieKind.BASE, 0, 1), DAMAGE, Throw(6, DieKind.RED, 0, 1)) == [1, 8, 6]
    tape.rewind()
    assert tape.throw(Throw(6, DieKind.BASE, 0, 3), DAMAGE) == [1, 6, 4, 8]
    assert chance.script == []


def test_a_tape_goes_on_while_it_is_not_rewound():
    tape = Tape(Scripted((0, 6), (5, 6)))
    assert tape.throw(Throw(6, DieKind.BASE, 0, 1)) == [1]
    assert tape.throw(Throw(6, DieKind.BASE, 0, 1)) == [6]
