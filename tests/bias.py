"""Rolls SystemDice often and prints whether its faces are even. Not a test: run `python -m tests.bias` by hand."""

import math
from collections import Counter

from service.dice import DieKind, SystemDice, Throw

ROLLS = 600_000
A_THROW = 1_000


def chi_squared_tail(statistic: float, freedom: int) -> float:
    """Probability of a chi-squared of at least this: the regularised upper gamma function, for odd `freedom`."""
    half = statistic / 2
    terms = (half ** (n + 0.5) / math.gamma(n + 1.5) for n in range((freedom - 1) // 2))
    return math.erfc(math.sqrt(half)) + math.exp(-half) * sum(terms)


def faces(sides: int) -> Counter[int]:
    dice = SystemDice()
    throws = [Throw(sides, DieKind.ACTION, 0, A_THROW)] * (ROLLS // A_THROW)
    return Counter(face for throw in throws for face in dice.throw(throw))


def main() -> None:
    for sides in (6, 10):
        seen = faces(sides)
        expected = ROLLS / sides
        statistic = sum((seen[face] - expected) ** 2 / expected for face in range(1, sides + 1))
        counts = " ".join(str(seen[face]) for face in range(1, sides + 1))
        print(f"d{sides}: {ROLLS} rolls: {counts}")
        print(f"d{sides}: chi-squared {statistic:.3f}, {sides - 1} degrees, p {chi_squared_tail(statistic, sides - 1):.4f}")


if __name__ == "__main__":
    main()
