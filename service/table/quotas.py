"""How much of everything a table may have, for what adds several things at once: an undo, an import."""

from collections.abc import Mapping

from service.errors import QuotaExceeded
from service.table import characters, decks, hits, opponents, session

QUOTAS = {
    "c:": ("characters", characters.MOST_CHARACTERS),
    "d:": ("decks", decks.MOST_DECKS),
    "k:": ("tokens", session.MOST_TOKENS),
    "o:": ("opponents", opponents.MOST_OPPONENTS),
    "p:": ("hits", hits.MOST_PENDING),
}
"""The most records of each kind, by how their fields begin."""


def refuse_more(there: Mapping[str, int]) -> None:
    """Raises QuotaExceeded where there are more records of a kind than a table may have."""
    for kind, (what, most) in QUOTAS.items():
        if there.get(kind, 0) > most:
            raise QuotaExceeded(what, most)
