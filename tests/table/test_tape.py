"""The tape: a step that is played again meets the same dice, and more only where it asks for more."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from service.dice import Chance, DieKind, Tape, Throw


class Counting(Chance):
    """Never says the same number twice, whatever it is asked, and keeps the questions."""

    def __init__(self):
        self.asked = []

    def below(self, end):
        self.asked.append(end)
        return len(self.asked)


QUESTIONS = st.lists(st.integers(1, 12), max_size=40)


@settings(deadline=None)
@given(first=QUESTIONS, again=QUESTIONS)
def test_a_replay_hears_the_same_numbers_by_bound_and_asks_only_for_more(first, again):
    chance = Counting()
    tape = Tape(chance)
    heard = [tape.below(end) for end in first]
    tape.rewind()
    replayed = [tape.below(end) for end in again]
    for end in {*first, *again}:
        before = [number for asked, number in zip(first, heard, strict=True) if asked == end]
        after = [number for asked, number in zip(again, replayed, strict=True) if asked == end]
        common = min(len(before), len(after))
        assert before[:common] == after[:common]
        assert len({*before, *after}) == max(len(before), len(after))
    assert Counter(chance.asked) == Counter(first) | Counter(again)


@settings(deadline=None)
@given(questions=QUESTIONS, rewinds=st.integers(1, 5))
def test_rewinding_often_changes_nothing(questions, rewinds):
    chance = Counting()
    tape = Tape(chance)
    heard = [tape.below(end) for end in questions]
    for _ in range(rewinds):
        tape.rewind()
        assert [tape.below(end) for end in questions] == heard
    assert chance.asked == questions


class Last(Chance):
    """Says a different row of numbers each time, all within bounds."""

    def __init__(self):
        self.said = 0

    def below(self, end):
        self.said += 1
        return self.said * 7 % end


def test_dice_and_shuffles_are_replayed():
    tape = Tape(Last())

    def play():
        return tape.throw(Throw(6, DieKind.BASE, 0, 5), Throw(8, DieKind.DAMAGE, 0, 1)), tape.shuffled("abcdefghij")

    first = play()
    assert play() != first
    tape.rewind()
    assert play() == first


def test_an_operation_s_tape_is_its_own():
    chance = Counting()
    assert Tape(chance).below(6) != Tape(chance).below(6)
