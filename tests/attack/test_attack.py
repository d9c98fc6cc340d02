"""The attacks that are quick, against a service of our own: none finds anything. `make attack` runs all of them."""

import pytest

from tests.attack.__main__ import found_by, target
from tests.attack.attacks import ATTACKS

QUICK = [each for each in ATTACKS if each.quick]


@pytest.fixture(scope="module")
def attacked():
    with target(None) as against:
        yield against


@pytest.mark.parametrize("each", QUICK, ids=lambda each: each.what)
def test_nothing_is_found(each, attacked):
    assert found_by(each, attacked) == []
