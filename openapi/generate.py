"""`python -m openapi.generate`: plays every operation's example, and writes the contract with the real answers."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import msgspec

from service.api import contract
from service.api.operation import Operation
from service.api.problems import Place, Refusal, problem_of, refusal_of
from service.app import create_app, operations, routes
from service.dice import FacesMismatch, Kind, SystemDice, Throw
from service.errors import BurnTooLarge, OutOfAction, WastedBurn
from service.settings import Settings
from service.words import Lang

CONTRACT = Path(__file__).parent / "openapi.json"
EXAMPLES = Path(contract.__file__).parent / "examples.json"
PLACE: Place = "body"

# What each problem says when it says something of the request. Others need no telling.
SAID = {
    "malformed-body": Refusal("malformed-body", members={"position": 14}, position=14),
    "method-not-allowed": Refusal("method-not-allowed", method="PUT", allowed="GET, HEAD"),
    "body-too-large": Refusal("body-too-large", most=1_048_576),
    "uri-too-long": Refusal("uri-too-long", most=8_192),
    "headers-too-large": Refusal("headers-too-large", most=32_768),
    "unsupported-media-type": Refusal("unsupported-media-type", accepted="application/json"),
    "invalid-request": Refusal("invalid-request", faults=((f"{PLACE}.base", "too_high", {"most": 6}),)),
    "faces-mismatch": refusal_of(FacesMismatch(at=6, needed=(Throw(6, Kind.BASE, 1, 1),)), PLACE),
    "wasted-burn": refusal_of(WastedBurn(removed=3, useful=1), PLACE),
    "burn-too-large": refusal_of(BurnTooLarge("burn_stat", wanted=4, left=2), PLACE),
    "out-of-action": refusal_of(OutOfAction(2), PLACE),
    "too-many-requests": Refusal("too-many-requests", seconds=2),
}


async def played(every: list[Operation]) -> dict[str, Any]:
    """The service's answer to each operation's example."""
    app: Any = create_app(Settings(access_log=False))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://emberdice") as client:
        return {each.id: await _answer(client, each) for each in every}


async def _answer(client: httpx.AsyncClient, operation: Operation) -> Any:
    example = dict(operation.example or {})
    path = operation.path.replace(":str}", "}").format_map(example)
    told: dict[str, Any] = {"json": example} if operation.body else {"params": _in_query(operation, example)}
    answer = await client.request(operation.method, path, **told)
    if answer.status_code != operation.status:
        raise SystemExit(f"{operation.id}: its example is answered with {answer.status_code}: {answer.text}")
    return answer.json()


def _in_query(operation: Operation, example: dict[str, Any]) -> dict[str, Any]:
    query: Any = operation.query
    return {name: value for name, value in example.items() if query and name in query.__struct_fields__}


def refused(every: list[Operation]) -> dict[str, Any]:
    """The wording of each problem, as the first operation that refuses with it says it."""
    found: dict[str, Any] = {}
    for operation in every:
        for code in (*operation.problems, *contract.FROM_THE_EDGE):
            if code not in found:
                refusal = SAID.get(code) or Refusal(code)
                found[code] = msgspec.to_builtins(problem_of(refusal, operation.words[Lang.EN], operation.path, ""))
    return found


def generated() -> dict[Path, bytes]:
    """The committed files, as they should be."""
    every = operations(routes(SystemDice(), ""))
    examples = {"answers": asyncio.run(played(every)), "problems": refused(every)}
    document = contract.document(every, "", examples)
    return {EXAMPLES: contract.encoded(examples), CONTRACT: contract.encoded(document)}


if __name__ == "__main__":
    for path, content in generated().items():
        path.write_bytes(content)
