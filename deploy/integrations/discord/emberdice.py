"""The service as a bot sees it: questions that may be repeated, refusals with a sentence, tables kept by channel."""

import asyncio
import os
import sqlite3
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp

TRIES, MOST_WAIT_S, TIMEOUT_S = 5, 20.0, 10.0
AGAIN = (429, 503)


class Refused(Exception):
    """The service's own problem document; its `text` says what to do."""

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(problem["text"])
        self.problem = problem


class Unreachable(Exception):
    """No answer, however often it was asked."""


class Unsure:
    """Keys of what was asked for without an answer: it may have been done, and asked for again it is the same."""

    def __init__(self, kept_s: float = 300.0, now_s: Callable[[], float] = time.monotonic) -> None:
        self._kept_s, self._now_s = kept_s, now_s
        self._keys: dict[str, tuple[str, float]] = {}

    def keep(self, asked: str, key: str) -> None:
        self._keys[asked] = key, self._now_s()

    def take(self, asked: str) -> str | None:
        """The key under which the same found no answer; whoever takes it keeps it again, or it is over."""
        self._keys = {each: kept for each, kept in self._keys.items() if self._now_s() - kept[1] < self._kept_s}
        return self._keys.pop(asked, (None, 0.0))[0]


class NoTable(Exception):
    """Nobody has opened a table in this channel."""


class Emberdice:
    def __init__(self, address: str, http: aiohttp.ClientSession, api_key: str = "") -> None:
        self._address, self.http, self._api_key = address.rstrip("/"), http, api_key
        self._references: dict[str, dict[str, Any]] = {}

    async def ask(
        self, method: str, path: str, body: Any = None, *, token: str | None = None, key: str | None = None, **query: Any
    ) -> dict[str, Any]:
        """Raises Refused. What has a key, or changes nothing, is asked again when the service is busy or away."""
        shown = {"Authorization": f"Bearer {token}"} if token else {"X-Api-Key": self._api_key}
        headers = {name: value for name, value in {**shown, "Idempotency-Key": key}.items() if value}
        tries = TRIES if key or method == "GET" else 1
        for attempt in range(tries):
            wait_s = 0.5 * 2**attempt
            try:
                async with self.http.request(
                    method,
                    f"{self._address}/v1{path}",
                    json=None if body is None else {name: each for name, each in body.items() if each is not None},
                    params={name: str(each) for name, each in query.items() if each is not None},
                    headers=headers,
                    timeout=aiohttp.ClientTimeout(total=TIMEOUT_S),
                ) as answer:
                    said: dict[str, Any] = await answer.json(content_type=None)
                    if answer.status < 400:
                        return said
                    if answer.status not in AGAIN or attempt == tries - 1:
                        raise Refused(said)
                    wait_s = float(answer.headers.get("Retry-After", wait_s))
            except (aiohttp.ClientError, TimeoutError, ValueError) as error:
                if attempt == tries - 1:
                    raise Unreachable from error
            await asyncio.sleep(min(wait_s, MOST_WAIT_S))
        raise Unreachable

    async def words(self, kind: str, lang: str) -> dict[str, str]:
        """Ids and labels of a kind of game word, in the book's order. They change with the service's version only."""
        if lang not in self._references:
            self._references[lang] = await self.ask("GET", "/sixd6/reference", lang=lang)
        return {each["id"]: each["label"] for each in self._references[lang][kind]}

    async def meant(self, kind: str, typed: str | None) -> str | None:
        """The id of what somebody typed in either language; what is no such word is left for the service to refuse."""
        for lang in ("en", "fr"):
            for identifier, label in (await self.words(kind, lang)).items() if typed else ():
                if plain(typed or "") in (identifier, plain(label)):
                    return identifier
        return typed


def plain(text: str) -> str:
    """Without case and accents, as people type."""
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)).casefold().strip()


class Table(NamedTuple):
    """`chat` asks for whatever all may read: the service shows such a token no secret, whoever made it."""

    session: str
    gm: str
    player: str
    chat: str | None = None


class Channels:
    """The table of each channel, tokens included, in one SQLite file that only its owner may read."""

    def __init__(self, path: Path) -> None:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        path.chmod(0o600)
        self._file = sqlite3.connect(path, isolation_level=None)
        self._file.execute("create table if not exists tables (channel integer primary key, session, gm, player, chat)")
        if "chat" not in (name for _, name, *_ in self._file.execute("pragma table_info(tables)")):
            self._file.execute("alter table tables add column chat")

    def table(self, channel: int | None) -> Table:
        """Raises NoTable."""
        found = self._file.execute("select session, gm, player, chat from tables where channel = ?", (channel,)).fetchone()
        if found is None:
            raise NoTable
        return Table(*found)

    def keep(self, channel: int | None, table: Table) -> None:
        self._file.execute(
            "insert or replace into tables (channel, session, gm, player, chat) values (?, ?, ?, ?, ?)", (channel, *table)
        )

    def close(self) -> None:
        self._file.close()
