"""An evening at a table, played for the examples of the contract: every operation once, each with its own example."""

import secrets
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from unittest.mock import patch

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
    return _without_time(answers)


def _in_order(contract: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Path after path, made before it is read; what deletes comes last, the deepest first."""
    order = ("put", "post", "get", "patch")
    every = [
        (method, path, methods[method])
        for path, methods in contract["paths"].items()
        for method in order
        if method in methods
    ]
    last = [("delete", path, methods["delete"]) for path, methods in contract["paths"].items() if "delete" in methods]
    return every + sorted(last, key=lambda each: each[1].count("/"), reverse=True)


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


# What differs from one evening to the next: secrets, and time.


def known_secrets() -> Any:
    """While it lasts, ids and tokens are counted instead of made by chance."""
    counts: defaultdict[int, Iterator[int]] = defaultdict(lambda: count(1))
    return patch.multiple(
        secrets,
        token_hex=lambda size: f"{next(counts[size]):0{size * 2}x}",
        token_urlsafe=lambda size: f"{next(counts[size]):0>43}",
    )


def _without_time(answers: Answers) -> Answers:
    opened = datetime.fromisoformat(answers["openSession"]["created_at"])
    return {identifier: _timeless(answer, opened) for identifier, answer in answers.items()}


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
