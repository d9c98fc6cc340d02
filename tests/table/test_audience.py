"""Who may see a roll or draw: each row of the table (design, section 4) for each reader."""

import pytest

from service.table.audience import Role, Visibility, sees

PUBLIC, OF_GM, BLIND, SELF = Visibility

SEES = [
    # visibility, whoever rolled, gm who rolled, gm, others
    (PUBLIC, True, True, True, True),
    (OF_GM, True, True, True, False),
    (BLIND, False, True, True, False),
    (SELF, True, True, False, False),
]


@pytest.mark.parametrize("role", [Role.PLAYER, Role.CHAT, Role.OBSERVER])
@pytest.mark.parametrize(("visibility", "roller", "rolling_gm", "gm", "others"), SEES)
def test_who_sees_what(visibility, roller, rolling_gm, gm, others, role):
    assert sees(visibility, role=role, is_roller=True) is roller
    assert sees(visibility, role=role, is_roller=False) is others
    assert sees(visibility, role=Role.GM, is_roller=True) is rolling_gm
    assert sees(visibility, role=Role.GM, is_roller=False) is gm


def test_every_visibility_has_a_row():
    assert [row[0] for row in SEES] == list(Visibility)
