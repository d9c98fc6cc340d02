"""Everything that a table's screen shows: who sits there, cards, timers, decks and clock, from one reading."""

from service.systems.sixd6.healing import Care
from service.table import cards, characters, decks, healing, scene, sheets, state
from service.table.clock import ClockAction
from service.table.healing import Asked
from tests.table.played import OBSERVER, PLAYER, Table, fallen


def test_the_state_agrees_with_what_each_resource_says():
    table = Table(tier_size=3)
    table.own("mine", a=2)
    table.play(decks.draw, "light", 2, holder="zoe")
    table.play(decks.draw, "mine", 1, holder=decks.TABLE)
    table.play(healing.roll, "max", Asked(care=Care.TREAT_DAMAGE, base=1, level=9), fallen(5))
    table.play(sheets.put, "zoe", sheets.Sheet(damage=1))
    table.wait(1_500)
    seen = table.play(state.state, by=OBSERVER)
    assert [each.character for each in seen.characters] == list(table.play(characters.listed, None).characters)
    by_id = {each.character.id: each for each in seen.characters}
    assert by_id["zoe"].cards == table.play(decks.active_cards, "zoe")
    assert by_id["max"].cards == ()
    assert seen.table_cards == table.play(decks.active_cards, decks.TABLE)
    assert by_id["max"].healing == table.play(healing.status, "max")
    assert by_id["zoe"].sixd6 == table.play(sheets.facts_of, "zoe")
    assert (by_id["max"].sixd6, by_id["max"].burn2d6) == (None, None)
    assert seen.decks == table.play(decks.listed).decks
    assert (seen.clock.running, seen.clock.elapsed_seconds) == (True, 1.5)
    assert (seen.hits, seen.opponents, seen.role) == ((), (), "observer")
    assert seen.last_event == str(table.version)


def test_the_last_event_is_the_cursor_for_what_comes_next():
    table = Table()
    before = table.play(state.state, by=PLAYER).last_event
    facts = table.play(decks.draw, "light", 1, holder="zoe")
    assert int(facts.event) == int(before) + 1
    assert table.play(state.state).last_event == facts.event


def test_marks_are_shown_until_the_scene_ends():
    table = Table()
    table.play(decks.draw, "grave", 15, holder="zoe")
    table.play(cards.apply, "grave-58", cards.Wanted(character="max"))  # mandatory denunciation
    assert table.play(state.state).scene.suspects == ("max",)
    table.play(scene.end)
    assert table.play(state.state).scene.suspects == ()
    assert table.piles("light")[2] == {1: "max"}  # the light card stays


def test_a_paused_clock_shows_it():
    table = Table()
    table.wait(2_000)
    table.move(ClockAction.PAUSE)
    table.wait(2_000)
    seen = table.play(state.state).clock
    assert (seen.running, seen.elapsed_seconds) == (False, 2.0)
