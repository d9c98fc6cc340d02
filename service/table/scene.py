"""R20: the scene's end takes away what lasts a scene."""

from msgspec import Struct
from msgspec.structs import replace

from service.systems.sixd6 import complications
from service.systems.sixd6.complications import CardDuration
from service.table import decks
from service.table.records import Marks
from service.table.turn import Turn


class SceneEnded(Struct, frozen=True, kw_only=True):
    discarded: tuple[decks.DealtCard, ...]
    event: str


def end(turn: Turn) -> SceneEnded:
    """Grave cards that last a scene are discarded, and marks end but for those of cards that stay. Light cards stay."""
    turn.allow()
    grave = complications.cards(complications.Deck.GRAVE)
    over = tuple(card for card in decks.active_cards(turn, within="grave") if grave[card.card].lasts is CardDuration.SCENE)
    for card in over:
        number = int(card.id.rpartition("-")[2])
        turn.put("d:grave", decks.put_down(turn.deck("grave"), (number,)))
    marks: Marks = turn.get("scene")
    gone = {card.id for card in over}
    lasting = replace(
        Marks(),
        chosen={card: who for card, who in marks.chosen.items() if card not in gone},
        breakdown=marks.breakdown,
        last_qualification=marks.last_qualification,
    )
    turn.put("scene", lasting)
    facts = SceneEnded(discarded=over, event=turn.next_event)
    turn.tell("scene.ended", facts)
    return facts
