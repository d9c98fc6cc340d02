"""The one door to chance: rules are handed dice, and never reach for them."""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, TypeVar

from msgspec import Meta, Struct

from service.errors import GameError

T = TypeVar("T")

MOST_DICE = 1_000
"""A pool stops rerolling its sixes here (A2)."""


class DieKind(StrEnum):
    BASE = "base"
    RED = "red"
    DAMAGE = "damage"
    ACTION = "action"


class FacesSource(StrEnum):
    """Where the faces of an answer came from."""

    SERVICE = "service"
    PROVIDED = "provided"
    MIXED = "mixed"


class Throw(Struct, frozen=True):
    """Like dice that leave the hand together. Wave 0 is the first throw, wave n the rerolls that wave n-1 earned."""

    sides: Annotated[int, Meta(ge=2, le=12)]
    kind: DieKind
    wave: Annotated[int, Meta(ge=0, le=MOST_DICE)]
    count: Annotated[int, Meta(ge=1, le=MOST_DICE)]


class FacesMismatch(GameError):
    """`at` is the position in the given faces, `needed` what should come there (empty: there are too many)."""

    def __init__(self, at: int, needed: tuple[Throw, ...], sides: int | None = None) -> None:
        super().__init__(at, needed, sides)
        self.at, self.needed, self.sides = at, needed, sides


class Dice(ABC):
    """Whatever can be asked for faces: the system's generator, faces from outside, a replay's tape."""

    @abstractmethod
    def throw(self, *throws: Throw) -> list[int]:
        """Faces from 1 to each throw's sides, in the order of the throws.

        Raises FacesMismatch where the faces come from outside and do not fit.
        """


class Chance(Dice):
    """Dice, lots and shuffles from one source of whole numbers."""

    @abstractmethod
    def below(self, end: int) -> int:
        """A whole number from 0 up to, not including, `end`; each as likely."""

    def throw(self, *throws: Throw) -> list[int]:
        return [self.below(throw.sides) + 1 for throw in throws for _ in range(throw.count)]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in an order of which each is as likely (Fisher and Yates)."""
        order = list(items)
        for last in range(len(order) - 1, 0, -1):
            chosen = self.below(last + 1)
            order[last], order[chosen] = order[chosen], order[last]
        return order


class SystemDice(Chance):
    """The operating system's generator, without the bias of a remainder. Not to be shared by threads."""

    ASKED_FOR = 256
    """Bytes; asked for one by one they cost more than all else in a roll."""

    def __init__(self) -> None:
        self._bytes = iter(b"")

    def below(self, end: int) -> int:
        if end > 256:  # no byte is so large
            return secrets.randbelow(end)
        mask = (1 << (end - 1).bit_length()) - 1
        while True:
            for byte in self._bytes:
                if byte & mask < end:
                    return byte & mask
            self._bytes = iter(secrets.token_bytes(self.ASKED_FOR))


class Tape(Chance):
    """Remembers what chance said, so that a step that must be played again meets the same dice."""

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self._said: dict[int, list[int]] = {}
        self._read: dict[int, int] = {}

    def rewind(self) -> None:
        self._read = {}

    def below(self, end: int) -> int:
        said, at = self._said.setdefault(end, []), self._read.get(end, 0)
        if at == len(said):
            said.append(self._chance.below(end))
        self._read[end] = at + 1
        return said[at]


class GivenFaces(Dice):
    """Faces from outside first; `rest` rolls what they leave open, or nothing may be left open."""

    def __init__(self, faces: Sequence[int], rest: Dice | None = None) -> None:
        self._faces = faces
        self._rest = rest
        self._used = 0
        self._rolled_rest = False

    def throw(self, *throws: Throw) -> list[int]:
        faces: list[int] = []
        for number, throw in enumerate(throws):
            given = self._given(throw, throws[number + 1 :])
            faces += given
            if len(given) < throw.count:
                return faces + self._roll_rest(_needed(throw, len(given), throws[number + 1 :]))
        return faces

    def _given(self, throw: Throw, later: tuple[Throw, ...]) -> list[int]:
        faces = list(self._faces[self._used : self._used + throw.count])
        wrong = next((at for at, face in enumerate(faces) if not 1 <= face <= throw.sides), None)
        if wrong is not None:
            raise FacesMismatch(at=self._used + wrong, sides=throw.sides, needed=_needed(throw, wrong, later))
        self._used += len(faces)
        return faces

    def _roll_rest(self, missing: tuple[Throw, ...]) -> list[int]:
        if self._rest is None:
            raise FacesMismatch(at=len(self._faces), needed=missing)
        self._rolled_rest = True
        return self._rest.throw(*missing)

    def finish(self) -> FacesSource:
        """Where the faces came from. Raises FacesMismatch, with nothing needed, when some were left over."""
        if self._used < len(self._faces):
            raise FacesMismatch(at=self._used, needed=())
        if not self._rolled_rest:
            return FacesSource.PROVIDED if self._faces or self._rest is None else FacesSource.SERVICE
        return FacesSource.MIXED if self._used else FacesSource.SERVICE


def _needed(throw: Throw, had: int, later: tuple[Throw, ...]) -> tuple[Throw, ...]:
    return (Throw(throw.sides, throw.kind, throw.wave, throw.count - had), *later)
