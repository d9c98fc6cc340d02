"""What a game can refuse. No HTTP here: api/problems.py gives each its status.

GameError
├── InvalidValue          a value that its type allows and the rule does not
├── FacesMismatch         faces from outside that do not fit the dice (in dice.py)
├── WastedBurn            a burn that would remove no die (B-R4)
├── BurnTooLarge          a burn beyond the stat (B-R5)
└── OutOfAction           two stats burned out (B2)
"""


class GameError(Exception):
    """A refusal: nothing was rolled that counts, nothing changed."""


class InvalidValue(GameError):
    """`field` is the request's member at fault, `problem` the id of the sentence that says why, `data` its numbers."""

    def __init__(self, field: str, problem: str, **data: object) -> None:
        super().__init__(field, problem, data)
        self.field, self.problem, self.data = field, problem, data


class WastedBurn(GameError):
    """`removed` burns were declared, only `useful` of them would remove a die."""

    def __init__(self, removed: int, useful: int) -> None:
        super().__init__(removed, useful)
        self.removed, self.useful = removed, useful


class BurnTooLarge(GameError):
    """`field` asked for `wanted` burns, and only `left` fit."""

    def __init__(self, field: str, wanted: int, left: int) -> None:
        super().__init__(field, wanted, left)
        self.field, self.wanted, self.left = field, wanted, left


class OutOfAction(GameError):
    """`burned_out` stats are burned out, and two are enough."""

    def __init__(self, burned_out: int) -> None:
        super().__init__(burned_out)
        self.burned_out = burned_out
