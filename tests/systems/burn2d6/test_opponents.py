"""B4: opponents, row by row of rules.md."""

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.errors import InvalidValue
from service.systems.burn2d6.opponents import OpponentHit, OpponentWound, burn_opponent

OPPONENTS = [
    # burn max, burns before, points, (burns after, defeated, overflow)
    (5, 0, 2, (2, False, 0)),
    (5, 2, 2, (4, False, 0)),
    (5, 4, 1, (5, True, 0)),
    (5, 4, 3, (5, True, 2)),
    (5, 5, 0, (5, True, 0)),
    (5, 5, 2, (5, True, 2)),
    (1, 0, 1, (1, True, 0)),
    (5, 0, 0, (0, False, 0)),
    (1000, 0, 100, (100, False, 0)),
]


@pytest.mark.parametrize(("burn_max", "before", "points", "after"), OPPONENTS)
def test_an_opponent_takes_burns(burn_max, before, points, after):
    wound = burn_opponent(OpponentHit(burn_max=burn_max, burns=before, points=points))
    assert (wound.burn_max, wound.points) == (burn_max, points)
    assert (wound.burns, wound.defeated, wound.overflow) == after


def test_more_burns_than_burn_max_are_refused():
    with pytest.raises(InvalidValue) as refused:
        burn_opponent(OpponentHit(burn_max=5, burns=6, points=1))
    assert vars(refused.value) == {
        "field": "burns",
        "problem": "burned_beyond_value",
        "data": {"burned": 6, "value": 5},
    }


# a busy machine is no fault of a rule
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@unhurried
@given(st.integers(1, 1000), st.data())
def test_burns_taken_and_overflow_are_the_points(burn_max, data):
    hit = OpponentHit(burn_max=burn_max, burns=data.draw(st.integers(0, burn_max)), points=data.draw(st.integers(0, 100)))
    wound = burn_opponent(hit)
    assert wound.burns - hit.burns + wound.overflow == hit.points
    assert wound.defeated == (wound.burns == burn_max)
    assert not wound.overflow or wound.defeated
    assert msgspec.json.decode(msgspec.json.encode(wound), type=OpponentWound) == wound


def test_an_opponent_starts_without_burns():
    assert burn_opponent(OpponentHit(burn_max=5, points=2)).burns == 2
