"""Who sits at a table, and which of them may see a roll: an input of every roll and draw."""

from enum import StrEnum


class Role(StrEnum):
    GM = "gm"
    PLAYER = "player"
    CHAT = "chat"
    OBSERVER = "observer"


class Visibility(StrEnum):
    PUBLIC = "public"
    GM = "gm"
    BLIND = "blind"
    SELF = "self"


def sees(visibility: Visibility, *, role: Role, is_roller: bool) -> bool:
    """Whether a reader sees all of it, or only that it happened."""
    is_gm = role is Role.GM
    return {
        Visibility.PUBLIC: True,
        Visibility.GM: is_roller or is_gm,
        Visibility.BLIND: is_gm,
        Visibility.SELF: is_roller,
    }[visibility]
