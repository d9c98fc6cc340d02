"""B4: opponents never roll. They add dice to an action, and they hold so many burns."""

from typing import Annotated

from msgspec import Meta, Struct

from service.errors import InvalidValue

BurnMax = Annotated[int, Meta(ge=1, le=1000, description="The opponent's resistance: at so many burns it is defeated (B4).")]
OpponentBurns = Annotated[int, Meta(ge=0, le=1000)]
Points = Annotated[int, Meta(ge=0, le=100)]


class OpponentHit(Struct, frozen=True, kw_only=True):
    """Burns that an opponent takes; how many, the table says."""

    burn_max: BurnMax
    burns: OpponentBurns = 0
    points: Points


class OpponentWound(Struct, frozen=True, kw_only=True):
    points: Points
    burns: Annotated[int, Meta(ge=0, le=1000, description="Burns after the hit.")]
    burn_max: BurnMax
    defeated: bool
    overflow: Annotated[int, Meta(ge=0, le=100, description="Points beyond burn_max.")]


def burn_opponent(hit: OpponentHit) -> OpponentWound:
    """Raises InvalidValue when there were more burns than `burn_max` before."""
    if hit.burns > hit.burn_max:
        raise InvalidValue("burns", "burned_beyond_value", burned=hit.burns, value=hit.burn_max)
    burns = min(hit.burn_max, hit.burns + hit.points)
    return OpponentWound(
        points=hit.points,
        burns=burns,
        burn_max=hit.burn_max,
        defeated=burns == hit.burn_max,
        overflow=hit.burns + hit.points - burns,
    )
