"""One refusal for each problem, worded for the examples of the contract."""

from collections.abc import Iterable
from typing import Any

import msgspec

from service.api.parts import PLACES
from service.api.problems import Place, Refusal, problem_of, refusal_of
from service.app import MESSAGES
from service.dice import DieKind, FacesMismatch, Throw
from service.errors import (
    BurnTooLarge,
    CannotUndo,
    CardNotThere,
    DeckExhausted,
    GameError,
    HealingCooldown,
    HealingRefused,
    HealingWindowFull,
    HitAlreadyResolved,
    InUse,
    NotAllowed,
    NothingToHeal,
    NotThere,
    OutOfAction,
    QuotaExceeded,
    TierSizeUnknown,
    Unauthorized,
    VersionMoved,
    WastedBurn,
)
from service.systems import SYSTEMS
from service.table.clock import Moment
from service.words import Lang, Words

BODY: Place = "body"
WORDS = Words(Lang.EN, MESSAGES[Lang.EN], *(game.messages()[Lang.EN] for game in SYSTEMS.values()))
IN_AN_HOUR = Moment(remaining_seconds=3_600, at="2026-01-02T21:00:00Z", epoch=1_767_387_600, at_elapsed_seconds=7_200)


def _later(kind: type[HealingRefused]) -> HealingRefused:
    refused = kind("treat_damage", "zoe")
    refused.patient_name, refused.next_roll = "Zoé", IN_AN_HOUR
    return refused


# Problems that say something of the request. Others need no telling.
SAID: dict[str, GameError | Refusal] = {
    "malformed-body": Refusal("malformed-body", members={"position": 14}, position=14),
    "unauthorized": Unauthorized(),
    "forbidden": NotAllowed(),
    "not-found": NotThere("character", "zoo", ("zoe",)),
    "healing-cooldown": _later(HealingCooldown),
    "healing-window-full": _later(HealingWindowFull),
    "tier-size-unknown": TierSizeUnknown("treat_damage", "zoe"),
    "nothing-to-heal": NothingToHeal("treat_damage", "zoe"),
    "deck-exhausted": DeckExhausted("light", wanted=5, left=2),
    "card-not-there": CardNotThere("light-7"),
    "hit-already-resolved": HitAlreadyResolved("9"),
    "cannot-undo": CannotUndo("4", ("6", "7")),
    "deck-in-use": InUse("deck", "Critiques", 2),
    "character-in-use": InUse("character", "Zoé", 1),
    "quota-exceeded": QuotaExceeded("characters", 100),
    "precondition-failed": VersionMoved(8),
    "body-too-large": Refusal("body-too-large", most=1_048_576),
    "body-too-slow": Refusal("body-too-slow", seconds=30),
    "uri-too-long": Refusal("uri-too-long", most=8_192),
    "headers-too-large": Refusal("headers-too-large", most=32_768),
    "unsupported-media-type": Refusal("unsupported-media-type", accepted="application/json"),
    "invalid-request": Refusal("invalid-request", faults=((f"{BODY}.base", "too_high", {"most": 6}),)),
    "faces-mismatch": FacesMismatch(at=6, needed=(Throw(6, DieKind.BASE, 1, 1),)),
    "wasted-burn": WastedBurn(removed=3, useful=1, fields=("burn_stat", "spend_surge")),
    "burn-too-large": BurnTooLarge("burn_stat", wanted=4, left=2),
    "out-of-action": OutOfAction(2),
    "too-many-requests": Refusal("too-many-requests", seconds=2),
}


def worded(contract: dict[str, Any]) -> dict[str, Any]:
    """The answer for each problem of the contract, given to the first operation that can refuse with it."""
    return {code: _problem(code, _path(code, contract)) for code in contract["components"]["examples"]}


def _problem(code: str, path: str) -> Any:
    said = SAID.get(code) or Refusal(code)
    refusal = said if isinstance(said, Refusal) else refusal_of(said, BODY)
    return msgspec.to_builtins(problem_of(refusal, WORDS, path, ""))


def _path(code: str, contract: dict[str, Any]) -> str:
    shared = f"/{code}"
    for path, methods in contract["paths"].items():
        if any(ref.endswith(shared) for told in methods.values() for ref in _examples(told, contract)):
            return str(path.format_map({place: example for place, (_, example) in PLACES.items()}))
    raise KeyError(code)


def _examples(operation: dict[str, Any], contract: dict[str, Any]) -> Iterable[str]:
    for told in operation["responses"].values():
        name = told.get("$ref", "").rpartition("/")[2]
        answer = contract["components"]["responses"][name] if name else told
        for media in answer.get("content", {}).values():
            yield from (example["$ref"] for example in media.get("examples", {}).values())
