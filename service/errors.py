"""What a game can refuse. No HTTP here: api/problems.py gives each its status.

GameError
├── InvalidValue          a value that its type allows and the rule does not
├── FacesMismatch         faces from outside that do not fit the dice (in dice.py)
├── WastedBurn            a burn that would remove no die (B-R4)
├── BurnTooLarge          a burn beyond the stat (B-R5)
├── OutOfAction           two stats burned out (B2)
├── Unauthorized          no token, or one that opens nothing here
├── NotThere              no such character, deck, card, token or event at this table
├── NotAllowed            the token's role may not, or not for this character
├── CardNotThere          a card that is not active, or not where the request says
├── DeckExhausted         fewer cards left than wanted (R19)
├── InUse                 a deck or character that still has active cards
├── QuotaExceeded         more of something than a table may have
├── TierSizeUnknown       healing at a table that has not said how large a tier is (R16)
├── NothingToHeal         the track is at 0
├── HealingCooldown       rolled less than two hours ago (R14)
├── HealingWindowFull     a tier was healed in this window already (R15)
├── HitAlreadyResolved    a pending hit that somebody else has resolved
├── NobodyToPick          somebody is to be picked, and nobody is there
├── VersionMoved          If-Match names a version that is not the current one
├── CannotUndo            later steps touched the same things
└── KeyReused             an idempotency key that came with another request before
"""


class GameError(Exception):
    """A refusal: nothing was rolled that counts, nothing changed."""


class InvalidValue(GameError):
    """`field` is the request's member at fault, `problem` the id of the sentence that says why, `data` its numbers."""

    def __init__(self, field: str, problem: str, **data: object) -> None:
        super().__init__(field, problem, data)
        self.field, self.problem, self.data = field, problem, data


class WastedBurn(GameError):
    """`removed` burns were declared, by the members `fields`; only `useful` of them would remove a die."""

    def __init__(self, removed: int, useful: int, fields: tuple[str, ...]) -> None:
        super().__init__(removed, useful, fields)
        self.removed, self.useful, self.fields = removed, useful, fields


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


class Unauthorized(GameError):
    """Also for a session that does not exist: who has no token learns nothing."""


class NotThere(GameError):
    """No `kind` is called `name`; `nearest` are names that are there, or the one id that was `meant` by a name.

    `field` is the request's member, where it is not called like the kind.
    """

    def __init__(
        self, kind: str, name: str, nearest: tuple[str, ...] = (), *, meant: str | None = None, field: str | None = None
    ) -> None:
        super().__init__(kind, name)
        self.kind, self.name, self.nearest, self.meant = kind, name, (meant,) if meant else nearest, meant
        self.field = field or kind


class NotAllowed(GameError):
    """`reason` is the id of the sentence that says why; `roles` are those that may."""

    def __init__(self, reason: str = "role", roles: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.reason, self.roles = reason, roles


class CardNotThere(GameError):
    """`card` (an instance's id) is not active, or belongs elsewhere."""

    def __init__(self, card: str) -> None:
        super().__init__(card)
        self.card = card


class DeckExhausted(GameError):
    """`wanted` cards, and only `left` could be drawn. Nothing moved."""

    def __init__(self, deck: str, wanted: int, left: int) -> None:
        super().__init__(deck, wanted, left)
        self.deck, self.wanted, self.left = deck, wanted, left


class InUse(GameError):
    """The `kind` (deck or character) `name` still has `active` cards."""

    def __init__(self, kind: str, name: str, active: int) -> None:
        super().__init__(kind, name, active)
        self.kind, self.name, self.active = kind, name, active


class QuotaExceeded(GameError):
    """A table may have `most` of `what`."""

    def __init__(self, what: str, most: int) -> None:
        super().__init__(what, most)
        self.what, self.most = what, most


class HitAlreadyResolved(GameError):
    """The pending hit `hit` is over."""

    def __init__(self, hit: str) -> None:
        super().__init__(hit)
        self.hit = hit


class NobodyToPick(GameError):
    """No present character can be picked."""


class VersionMoved(GameError):
    """The current version is `current`."""

    def __init__(self, current: int) -> None:
        super().__init__(current)
        self.current = current


class CannotUndo(GameError):
    """`event` changed things that the `later` events changed again; `already`: one of them took it back."""

    def __init__(self, event: str, later: tuple[str, ...], *, already: bool = False) -> None:
        super().__init__(event, later)
        self.event, self.later, self.already = event, later, already


class KeyReused(GameError):
    """The idempotency key answered another request before."""


class HealingRefused(GameError):
    """A healing roll that may not be made before `next_ms` of session time; a table adds it as a Moment, `next_roll`."""

    def __init__(self, care: str, patient: str, next_ms: int | None = None) -> None:
        super().__init__(care, patient, next_ms)
        self.care, self.patient, self.next_ms = care, patient, next_ms
        self.patient_name = patient
        self.next_roll: object = None


class TierSizeUnknown(HealingRefused):
    pass


class NothingToHeal(HealingRefused):
    pass


class HealingCooldown(HealingRefused):
    pass


class HealingWindowFull(HealingRefused):
    pass
