"""Rolls as Foundry VTT's `Roll.fromData` takes them (v12 to v14), in the order in which Dice So Nice throws them."""

import html
from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from service.render.marks import inert

RED = "red"


class FoundryResult(Struct, frozen=True, kw_only=True):
    result: Annotated[int, Meta(ge=1, le=12)]
    active: bool = True
    exploded: bool = False
    success: bool = False
    count: int | None = None


class FoundryTerm(Struct, frozen=True, kw_only=True, rename={"kind": "class"}):
    """A Die, or the operator between two. `number` is the initial dice only: Foundry counts the rerolls itself."""

    kind: Annotated[str, Meta(max_length=20)]
    evaluated: bool = True
    number: Annotated[int, Meta(ge=0, le=1_001)] | None = None
    faces: Annotated[int, Meta(ge=2, le=12)] | None = None
    modifiers: list[str] = []
    results: list[FoundryResult] = []
    operator: str | None = None
    options: dict[str, Any] = {}


class FoundryRoll(Struct, frozen=True, kw_only=True, rename={"kind": "class"}):
    kind: Annotated[str, Meta(max_length=20)] = "Roll"
    formula: Annotated[str, Meta(max_length=100)]
    terms: list[FoundryTerm]
    total: int
    evaluated: bool = True
    options: dict[str, Any] = {}


def _flavored(flavor: str) -> dict[str, Any]:
    """Foundry shows a flavor as HTML."""
    return {"flavor": html.escape(inert(flavor))}


def pool_roll(dice: Sequence[Any], *, flavor: str, counts_from: int = 5) -> FoundryRoll | None:
    """A pool: base dice, and red ones as a second term with their colour. `total` counts faces from `counts_from` up."""
    kinds = [kind for kind in ("base", RED) if any(die.kind == kind for die in dice)]
    terms: list[FoundryTerm] = []
    for kind in kinds:
        terms += [FoundryTerm(kind="OperatorTerm", operator="+")] if terms else []
        terms.append(_pool_term([die for die in dice if die.kind == kind], counts_from, red=kind == RED))
    if not terms:
        return None
    formula = " + ".join(f"{term.number}d6{''.join(term.modifiers)}" for term in terms if term.faces)
    total = sum(result.success for term in terms for result in term.results)
    return FoundryRoll(formula=formula, terms=terms, total=total, options=_flavored(flavor))


def _pool_term(dice: Sequence[Any], counts_from: int, *, red: bool) -> FoundryTerm:
    again = any(die.wave for die in dice)
    results = [
        FoundryResult(
            result=die.face,
            success=die.face >= counts_from,
            exploded=again and die.face == 6,
            count=int(die.face >= counts_from),
        )
        for die in dice
    ]
    options: dict[str, Any] = {"colorset": RED, "appearance": {"colorset": RED}} if red else {}
    return FoundryTerm(
        kind="Die",
        number=sum(die.wave == 0 for die in dice),
        faces=6,
        modifiers=[*(["x6"] if again else []), f"cs>={counts_from}"],
        results=results,
        options=options,
    )


def sum_roll(dice: Sequence[Any], *, flavor: str) -> FoundryRoll | None:
    """Dice that are added up: a damage die, an action."""
    if not dice:
        return None
    sides = dice[0].sides
    term = FoundryTerm(kind="Die", number=len(dice), faces=sides, results=[FoundryResult(result=die.face) for die in dice])
    total = sum(die.face for die in dice)
    return FoundryRoll(formula=f"{len(dice)}d{sides}", terms=[term], total=total, options=_flavored(flavor))


def rolls(dice: Sequence[Any], *, flavor: str) -> list[FoundryRoll]:
    """All that an answer's dice make: what is added up first, then the pool; of a soak only sixes count."""
    added = [die for die in dice if die.kind in ("damage", "action")]
    made = (sum_roll(added, flavor=flavor), pool_roll(dice, flavor=flavor, counts_from=6 if added else 5))
    return [roll for roll in made if roll is not None]
