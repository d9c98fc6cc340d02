"""R20: the scene's end takes away what lasts a scene."""

import pytest

from service.systems.sixd6 import complications
from service.systems.sixd6.complications import CardDuration
from service.table import decks, scene
from tests.table.played import Table

GRAVE = list(complications.cards(complications.Deck.GRAVE).values())
LASTING = [44 + at for at, card in enumerate(GRAVE) if card.lasts is CardDuration.SCENE]
STAYING = [44 + at for at, card in enumerate(GRAVE) if card.lasts is CardDuration.DISCARD]


@pytest.mark.parametrize("holder", ["zoe", decks.TABLE])
def test_active_grave_cards_that_last_a_scene_are_discarded(holder):
    table = Table()
    table.own("mine", a=2)
    for deck, count in (("grave", 18), ("light", 3), ("mine", 1)):
        table.play(decks.draw, deck, count, holder=holder)
    facts = table.play(scene.end)
    assert sorted(card.id for card in facts.discarded) == [f"grave-{number}" for number in LASTING]
    assert {card.holder for card in facts.discarded} == {holder}
    pile, discard, active = table.piles("grave")
    assert (pile, sorted(discard), sorted(active)) == ([], LASTING, STAYING)
    assert (len(table.piles("light")[2]), len(table.piles("mine")[2])) == (3, 1)
    assert (table.events[-1].type, table.events[-1].data) == ("scene.ended", facts)


def test_cards_that_are_not_active_stay_where_they_are():
    table = Table()
    table.play(decks.draw, "grave", 10, holder=None)
    before = table.piles("grave")
    facts = table.play(scene.end)
    assert (facts.discarded, table.piles("grave")) == ((), before)
    assert facts.event == str(table.version)  # the scene ended all the same
