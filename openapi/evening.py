"""An evening at a table, played for the examples of the contract: every operation once, each with its own example."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from service.api.operation import JSON
from service.api.parts import PLACES
from service.dice import Chance

Answers = dict[str, Any]

# Where a path leads elsewhere than its member's example says.
ELSEWHERE = {"putDeck": {"deck": "critiques"}, "deleteDeck": {"deck": "critiques"}}

# What an earlier answer names, and which member of it: the operation, then the member.
NAMED = {"session": ("openSession", "id"), "token": ("mintToken", "id")}

OPENED_AT = datetime(2026, 1, 2, 20, tzinfo=UTC)
WHOLE_S = 60
"""Moments are shown as if the evening was played in no time at all."""


class NoChance(Chance):
    """Decks stay in the book's order, dice show their highest face."""

    def below(self, end: int) -> int:
        return end - 1


async def played(client: httpx.AsyncClient, contract: dict[str, Any]) -> Answers:
    answers: Answers = {}
    for method, path, operation in _in_order(contract):
        answers[operation["operationId"]] = await _answer(client, method, path, operation, answers)
    return _named_alike(answers)


def _in_order(contract: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """As the contract lists them; what deletes comes last, the youngest first."""
    every = [(method, path, told) for path, methods in contract["paths"].items() for method, told in methods.items()]
    last = [each for each in every if each[0] == "delete"]
    return [each for each in every if each not in last] + sorted(last, key=lambda each: each[1].count("/"), reverse=True)


async def _answer(client: httpx.AsyncClient, method: str, path: str, operation: dict[str, Any], answers: Answers) -> Any:
    identifier = operation["operationId"]
    named = {place: answers[by][member] for place, (by, member) in NAMED.items() if by in answers}
    members = {place: example for place, (_, example) in PLACES.items()} | named | ELSEWHERE.get(identifier, {})
    query = {each["name"]: _in_query(each["example"]) for each in operation["parameters"] if "example" in each}
    body = operation.get("requestBody", {"content": {JSON: {}}})["content"][JSON].get("example")
    token = f"Bearer {answers['openSession']['tokens']['gm']}" if operation["security"] else ""
    headers = {"Accept-Language": "en", "Authorization": token}
    answer = await client.request(method, path.format_map(members), params=query, json=body, headers=headers)
    if str(answer.status_code) not in operation["responses"] or not answer.is_success:
        raise SystemExit(f"{identifier}: its example is answered with {answer.status_code}: {answer.text}")
    return answer.json()


def _in_query(value: Any) -> str:
    return (
        ",".join(map(str, value))
        if isinstance(value, list)
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
    )


# What differs from one evening to the next: secrets, ids made by chance, and time.


def _named_alike(answers: Answers) -> Answers:
    text = json.dumps(answers, ensure_ascii=False)
    for made, shown in _made_by_chance(answers):
        text = text.replace(made, shown)
    opened = datetime.fromisoformat(answers["openSession"]["created_at"]) if "openSession" in answers else OPENED_AT
    return {identifier: _timeless(answer, opened) for identifier, answer in json.loads(text).items()}


def _made_by_chance(answers: Answers) -> Iterator[tuple[str, str]]:
    for place, (by, member) in NAMED.items():
        if by in answers:
            yield answers[by][member], PLACES[place][1]
    if "openSession" in answers:
        for role, secret in answers["openSession"]["tokens"].items():
            yield secret, f"ember_{role}_{role * 10}"
        yield answers["mintToken"]["token"], "ember_chat_" + "chat" * 10
        yield answers["readOwnToken"]["id"], "70ce40000000"


def _timeless(node: Any, opened: datetime, name: str = "") -> Any:
    if isinstance(node, dict):
        return {key: _timeless(value, opened, key) for key, value in node.items()}
    if isinstance(node, list):
        return [_timeless(each, opened, name) for each in node]
    if name == "epoch" and node is not None:
        return int(_shifted(datetime.fromtimestamp(node, UTC), opened).timestamp())
    if name.endswith("_seconds") and node is not None:
        return type(node)(round(node / WHOLE_S) * WHOLE_S)
    if name.endswith("at") and isinstance(node, str) and node.endswith("Z"):
        return _shifted(datetime.fromisoformat(node), opened).strftime("%Y-%m-%dT%H:%M:%SZ")
    return node


def _shifted(moment: datetime, opened: datetime) -> datetime:
    return OPENED_AT + timedelta(seconds=round((moment - opened).total_seconds() / WHOLE_S) * WHOLE_S)
