"""A table in memory: each play starts from what the one before left, as in a session, without Redis."""

from copy import copy

import msgspec

from service.dice import Chance, Tape
from service.store.steps import _writes
from service.systems.sixd6 import complications
from service.systems.sixd6.character import Aptitude, Qualification
from service.table import decks, sheets, undo
from service.table.audience import Role
from service.table.clock import moved
from service.table.records import Head, OwnCard, TableSettings, Token
from service.table.rolls import Cast
from service.table.session import opened
from service.table.state import clock_facts
from service.table.turn import Records, Turn, Unread, type_of
from service.words import Lang

encode = msgspec.json.encode

GM, PLAYER, CHAT, OBSERVER = (Token(id=role.value, role=role, created_ms=0) for role in Role)
OF_ZOE = Token(id="of-zoe", role=Role.PLAYER, characters=("zoe",), created_ms=0)
"""A player's token that is bound to Zoé."""


class Scripted(Chance):
    """Says the numbers it was given, each to the question that it was meant for."""

    def __init__(self, *said):
        self.left = list(said)

    def below(self, end):
        assert self.left, f"nothing is left to say to a question for a number below {end}"
        meant, number = self.left.pop(0)
        assert meant == end, f"a number below {meant} was to be asked for, not one below {end}"
        return number


class Unshuffled(Chance):
    """Leaves every order as it is."""

    def below(self, end):
        return end - 1


def d6(*faces):
    """What chance says for these faces of six-sided dice."""
    return [(6, face - 1) for face in faces]


def fallen(*faces):
    """Dice thrown elsewhere."""
    return Cast(faces=faces)


class Table:
    """Zoé and Max sit at it, unless others are named; every deck lies in the book's order."""

    def __init__(self, *names, running=True, now_ms=0, **settings):
        head = Head(lang=Lang.FR, settings=msgspec.convert(settings, TableSettings), created_ms=now_ms)
        first = opened(head, names or ("Zoé", "Max"), running=running, chance=Unshuffled())
        self.now_ms, self.version, self.events = now_ms, 1, []
        self._texts = {}
        self.remember({field: encode(value) for field, value in {**first, "k:gm": GM}.items()})

    def play(self, play, *told, by=GM, chance=None, **more):
        """What the play returns; what it changes is kept, unless it refuses."""
        tape = Tape(chance or Unshuffled())
        turn, facts = self._played(lambda turn: play(turn, *told, **more), by, tape)
        if turn.event is None:
            assert not turn.changes  # nothing is changed without being told
            return facts
        assert msgspec.json.decode(encode(facts), type=type(facts)) == facts  # what a repetition is answered
        self.events.append(turn.event)
        self.version = turn.version
        changed = {field: None if value is None else encode(value) for field, value in turn.changes.items()}
        self.remember({**self.raw, **changed})
        return facts

    def _played(self, play, by, tape):
        while True:
            tape.rewind()
            turn = Turn(self._records, now_ms=self.now_ms, version=self.version + 1, token=by, dice=tape, key=None)
            try:
                return turn, play(turn)
            except Unread as unread:  # the texts of own decks are read when they are asked for
                self._records.raw[unread.field] = self._texts.get(unread.field)
            finally:
                self._check_untouched()

    def _check_untouched(self):
        """What was read is shared with the plays to come: none may write on it, least of all one that refuses."""
        for field in [*self._records]:
            assert encode(self._records[field]) == self._records.raw[field]

    def remember(self, raw):
        """Go on from these records."""
        self.raw = {field: value for field, value in raw.items() if value is not None}
        self._texts = {field: value for field, value in self.raw.items() if field.startswith("t:")}
        self._records = Records({f: value for f, value in self.raw.items() if f not in self._texts}, whole=True)

    def get(self, field):
        """The record, or None."""
        raw = self.raw.get(field)
        return None if raw is None else msgspec.json.decode(raw, type=type_of(field))

    @property
    def elapsed_ms(self):
        """Session time."""
        return self.play(lambda turn: turn.elapsed_ms)

    def wait(self, ms):
        """Real time passes."""
        self.now_ms += ms

    def move(self, action, ms=0):
        """The clock is moved by hand."""
        self.play(_move, action, ms)

    def own(self, identifier, **copies):
        """Put a deck of the table's own on the table: its cards, each with its number of copies."""
        cards = tuple((OwnCard(card=card, name=card.title()), count) for card, count in copies.items())
        return self.play(decks.put_own, identifier, decks.OwnDeck(name=identifier.title(), cards=cards))

    def piles(self, identifier):
        """The cards of a deck by their numbers: pile (top first), discard pile (last first), active ones with holders."""
        deck = self.get(f"d:{identifier}")
        return list(deck.pile), list(deck.discard), deck.active


def sheet(*, damage=0, trauma=0, protections=(), **values):
    """A sheet as a request tells it: `values` are its aptitudes and qualifications, by their names."""
    return sheets.Sheet(
        aptitudes={each: values.pop(each) for each in Aptitude if each in values},
        qualifications={each: values.pop(each) for each in Qualification if each in values},
        damage=damage,
        trauma=trauma,
        protections=frozenset(protections),
        **values,
    )


def with_sheet(table, character="zoe", **told):
    """The table, after a character's sheet was put on it."""
    table.play(sheets.put, character, sheet(**told))
    return table


def give(table, card, holder, deck="grave"):
    """Deal one card of a game's deck, by its name; the id of it."""
    names = list(complications.cards(complications.Deck(deck)))
    pile = table.get(f"d:{deck}").pile
    at = pile.index(table.get(f"d:{deck}").first + names.index(card))
    chance = Scripted((len(pile), at))
    return table.play(decks.draw, deck, 1, holder=holder, place=decks.DrawFrom.RANDOM, chance=chance).cards[0].id


def _move(turn, action, ms):
    turn.put("clock", moved(turn.clock, action, ms, turn.now_ms))
    facts = clock_facts(turn, turn.next_event)
    turn.tell("clock.changed", facts)
    return facts


class Logged(Table):
    """A table that keeps its log, as the store writes it: with the values that each step's fields had before."""

    def __init__(self, *names, **told):
        self.log = []
        super().__init__(*names, **told)

    def _played(self, play, by, tape):
        turn, facts = super()._played(play, by, tape)
        if turn.event is not None:
            before = msgspec.json.decode(_writes(turn, self._records)[-1])
            undoes = facts.undone if turn.event.type == "undo" else None
            self.log.append(undo.Step(str(turn.version), turn.event.type, before, undoes))
        return turn, facts

    def undo(self, identifier=None, by=GM):
        """Take an event back, the newest where none is named."""
        at = len(self.log) - 1 if identifier is None else [each.id for each in self.log].index(identifier)
        return self.play(undo.undo, self.log[at], self.log[at + 1 :], self.version, by=by)

    def copy(self):
        """The same table, to go on from twice."""
        other = copy(self)
        other.events, other.log = [*self.events], [*self.log]
        other.remember(self.raw)
        return other

    @property
    def records(self):
        """All that an undo takes back."""
        return {field: value for field, value in self.raw.items() if field != "counts"}
