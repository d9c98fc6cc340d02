"""An evening at a table, played for the examples of the contract: every operation once, each with its own example."""

import secrets
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, NamedTuple
from unittest.mock import patch

import httpx
from redis.asyncio import Redis

from service.api.operation import JSON
from service.api.parts import PLACES, in_text
from service.dice import Chance
from service.store import keys

Answers = dict[str, Any]

# Members of later paths that an answer names.
NAMES = {"openSession": {"session": "id"}, "mintToken": {"token": "id"}}

# Where a path leads elsewhere than the example of its member.
ELSEWHERE = {"putDeck": {"deck": "critiques"}, "deleteDeck": {"deck": "critiques"}}

# What has to happen first: an operation, the body that it is played with, and the members of the path that it names.
Step = tuple[str, dict[str, Any], dict[str, str]]
HIT: Step = ("takeHit", {"die": "d8", "protections": [], "wait": "soak", "faces": [5]}, {"hit": "hit"})
SOAK: Step = ("soakHit", {"kind": "composure", "base": 4, "wait": "conversions", "faces": [6, 4, 2, 1, 5]}, {})
BEFORE: dict[str, list[Step]] = {
    "soakHit": [HIT],
    "convertHit": [HIT, SOAK],
    "undoEvent": [("drawCards", {"character": "zoe"}, {"event": "event"})],
}

OPENED_AT = datetime(2026, 1, 2, 20, tzinfo=UTC)
WHOLE_S = 60
"""Moments are shown as if the evening had begun then, to the minute."""
SOME_MS, EPOCH_MS = 1_000_000, 1_000_000_000_000
"""Numbers as large as these are milliseconds: of session time, and since 1970."""


class NoChance(Chance):
    """Dice show their highest face but one."""

    def below(self, end: int) -> int:
        return max(end - 2, 0)


class Played(NamedTuple):
    """An operation of the contract."""

    id: str
    method: str
    path: str
    told: dict[str, Any]


class Evening:
    def __init__(self, client: httpx.AsyncClient, redis: Redis, contract: dict[str, Any]) -> None:
        self._client, self._redis = client, redis
        self._operations = {each.id: each for each in _in_order(contract)}
        self._places = {place: example for place, (_, example) in PLACES.items()}
        self._secrets: dict[str, str] = {}

    async def played(self) -> Answers:
        """The service's answer to the example of each operation."""
        answers = {identifier: await self._example(operation) for identifier, operation in self._operations.items()}
        opened = datetime.fromisoformat(answers["openSession"]["created_at"])
        return {identifier: _timeless(answer, opened) for identifier, answer in answers.items()}

    async def _example(self, operation: Played) -> Any:
        places = self._places | ELSEWHERE.get(operation.id, {})
        for identifier, body, names in BEFORE.get(operation.id, []):
            told = await self._answer(self._operations[identifier], body, places)
            places |= {place: told[member] for place, member in names.items()}
        media = operation.told.get("requestBody", {"content": {JSON: {}}})["content"][JSON]
        told = await self._answer(operation, media.get("example"), places)
        self._places |= {place: told[member] for place, member in NAMES.get(operation.id, {}).items()}
        if operation.id == "openSession":
            await self._stop_time(told)
            self._secrets |= told["tokens"]
        self._secrets |= {told["role"]: told["token"]} if operation.id == "mintToken" else {}
        return told

    async def _stop_time(self, opened: dict[str, Any]) -> None:
        """A session's time never goes back: one that has seen the future stands still, here ten minutes after it began."""
        opened_ms = int(datetime.fromisoformat(opened["created_at"]).timestamp()) * 1_000
        await self._redis.hset(keys.session(opened["id"]), "seen", str(opened_ms + 600_999))

    async def _answer(self, operation: Played, body: Any, places: dict[str, str]) -> Any:
        own = {each["name"]: in_text(each["example"]) for each in operation.told["parameters"] if "example" in each}
        query = {**own, "format": "json"}
        headers = {"Accept-Language": "en"}
        if "token" in query:
            query["token"] = self._secrets["chat"]
        elif any("token" in each for each in operation.told["security"]):
            headers["Authorization"] = f"Bearer {self._secrets['gm']}"
        path = operation.path.format_map(places)
        answer = await self._client.request(operation.method, path, params=query, json=body, headers=headers)
        if not answer.is_success:
            raise SystemExit(f"{operation.id}: its example is answered with {answer.status_code}: {answer.text}")
        return answer.json()


def _in_order(contract: dict[str, Any]) -> Iterator[Played]:
    """Path after path, made before it is read; what deletes comes last, the deepest first."""
    for path, methods in contract["paths"].items():
        for method in ("put", "post", "get", "patch"):
            if method in methods:
                yield Played(methods[method]["operationId"], method, path, methods[method])
    for path, methods in sorted(contract["paths"].items(), key=lambda each: each[0].count("/"), reverse=True):
        if "delete" in methods:
            yield Played(methods["delete"]["operationId"], "delete", path, methods["delete"])


# What differs from one evening to the next: secrets, and time.


def known_secrets() -> Any:
    """While it lasts, ids and tokens are counted instead of made by chance."""
    counts: defaultdict[int, Iterator[int]] = defaultdict(lambda: count(1))
    return patch.multiple(
        secrets,
        token_hex=lambda size: f"{next(counts[size]):0{size * 2}x}",
        token_urlsafe=lambda size: f"{next(counts[size]):0>43}",
    )


def _timeless(node: Any, opened: datetime, name: str = "") -> Any:
    if isinstance(node, dict):
        return {key: _timeless(value, opened, key) for key, value in node.items()}
    if isinstance(node, list):
        return [_timeless(each, opened, name) for each in node]
    if isinstance(node, str) and name.endswith("at") and node.endswith("Z"):
        return f"{_shifted(datetime.fromisoformat(node), opened):%Y-%m-%dT%H:%M:%SZ}"
    return _timeless_number(node, opened, name) if isinstance(node, int | float) else node


def _timeless_number(number: Any, opened: datetime, name: str) -> Any:
    if name == "epoch":
        return int(_shifted(datetime.fromtimestamp(number, UTC), opened).timestamp())
    if number >= EPOCH_MS:
        return int(_shifted(datetime.fromtimestamp(number / 1_000, UTC), opened).timestamp()) * 1_000
    if number >= SOME_MS:
        return round(number / WHOLE_S / 1_000) * WHOLE_S * 1_000
    return type(number)(round(number / WHOLE_S) * WHOLE_S) if name.endswith("_seconds") else number


def _shifted(moment: datetime, opened: datetime) -> datetime:
    return OPENED_AT + timedelta(seconds=round((moment - opened).total_seconds() / WHOLE_S) * WHOLE_S)
