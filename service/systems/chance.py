"""A probability as an answer gives it: the exact fraction, and a percentage to read."""

from fractions import Fraction
from typing import Annotated

from msgspec import Meta, Struct


class Chance(Struct, frozen=True):
    fraction: Annotated[str, Meta(pattern=r"^\d+/\d+(?![\s\S])", max_length=200, description="Exact, in lowest terms.")]
    percent: Annotated[float, Meta(ge=0, le=100, description="Rounded to three decimals.")]


def chance(p: Fraction) -> Chance:
    """`p` from 0 to 1. The percentage is rounded from the fraction itself, half to even."""
    return Chance(fraction=f"{p.numerator}/{p.denominator}", percent=float(round(p * 100, 3)))
