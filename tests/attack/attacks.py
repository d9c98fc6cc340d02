"""What is tried. Each attack yields what it found, in words; one that yields nothing found nothing."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.attack.target import Target

Findings = Iterator[str]


@dataclass(frozen=True)
class Attack:
    what: str
    run: Callable[[Target], Findings]
    quick: bool
    """Part of the tests; the others take their time."""
    own: bool
    """Needs a service of our own: its log, or its low limits."""


ATTACKS: list[Attack] = []


def attack(what: str, *, quick: bool = True, own: bool = False) -> Callable[[Callable[[Target], Findings]], object]:
    def registered(run: Callable[[Target], Findings]) -> object:
        ATTACKS.append(Attack(what, run, quick, own))
        return run

    return registered
