"""The log as it happens: what a listener hears, from where, in which words, and when its stream ends."""

import asyncio
import json
import time
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import httpx
import msgspec
import pytest
from redis.asyncio import Redis

from service.__main__ import STOP_S
from service.api import log
from service.api.room import Room
from service.api.stream import EventStream, Reset
from service.app import tables
from service.dice import SystemDice
from service.errors import Unauthorized
from service.store import keys, live, steps
from service.store.log import Entry
from service.table.records import Event
from service.words import Lang
from tests.live import Service, Table, in_process
from tests.table.test_undo import BEGUN, STEPS

pytestmark = pytest.mark.anyio

SPOKEN = next(iter(tables(SystemDice()))).words
WAIT_S = 20.0
"""For what must come; it comes at once where the machine is not too busy."""


class Listener:
    """Somebody at the stream of an application in this process."""

    def __init__(self, table, by="gm", headers=(), **query):
        told = {"Accept": "text/event-stream", **({"Authorization": f"Bearer {table.tokens[by]}"} if by else {})}
        url = httpx.URL(f"http://emberdice/v1/sessions/{table.id}/events", params=query)
        self.status, self.headers, self._ended = None, None, False
        self._app = table.client._transport.app
        self._scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": url.path,
            "raw_path": url.raw_path.split(b"?")[0],
            "query_string": url.query,
            "root_path": "",
            "headers": [(n.lower().encode(), v.encode()) for n, v in {**told, **dict(headers)}.items()],
            "client": ("127.0.0.1", 1),
            "server": ("emberdice", 80),
        }
        self._sent, self._left, self._asked = asyncio.Queue(), asyncio.Event(), False

    async def __aenter__(self):
        self._task = asyncio.create_task(self._app(self._scope, self._receive, self._sent.put))
        start = await self._next()
        self.status, self.headers = start["status"], {n.decode().lower(): v.decode() for n, v in start["headers"]}
        return self

    async def __aexit__(self, *_):
        await self.leave()

    async def leave(self):
        self._left.set()
        await asyncio.wait_for(self._task, WAIT_S)

    async def _receive(self):
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _next(self):
        return await asyncio.wait_for(self._sent.get(), WAIT_S)

    async def part(self):
        """What is sent next, None at the end."""
        if self._ended:
            return None
        message = await self._next()
        self._ended = not message.get("more_body", False)
        return message.get("body", b"").decode() or (None if self._ended else "")

    async def events(self, count):
        """So many events, the next ones; fewer where the stream ends before."""
        heard = []
        while len(heard) < count and (part := await self.part()) is not None:
            heard += [told(frame) for frame in part.split("\n\n") if frame.startswith("id:")]
        return heard

    async def rest(self):
        """All that comes until the stream ends."""
        return await self.events(float("inf"))


def told(frame):
    """An event as an EventSource reads it."""
    fields = [line.partition(": ")[::2] for line in frame.splitlines()]
    assert [name for name, _ in fields] == ["id", "data"]  # no event: line
    event = json.loads(fields[1][1])
    assert event.get("id", fields[0][1]) == fields[0][1]
    return event


async def draw(table, count=1, by="gm", **told):
    """Events of draws that others make."""
    answers = [await table.ask("POST /clock", {"action": "advance", "seconds": 1}, by=by, **told) for _ in range(count)]
    assert {answer.status_code for answer in answers} == {200}
    return [answer.json()["event"] for answer in answers]


def ids(events):
    return [event["id"] for event in events]


# From where.


async def test_from_now_on(table):
    await draw(table, 3)
    async with Listener(table) as listener:
        assert (listener.status, listener.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        assert listener.headers["cache-control"] == "no-store"
        assert listener.headers["x-accel-buffering"] == "no"
        assert listener.headers["access-control-allow-origin"] == "*"
        assert await listener.part() == ": \n\n"  # at once, for proxies and for who waits to be connected
        happened = await draw(table, 2)
        assert ids(await listener.events(2)) == happened


CURSORS = [
    # of five events (2 to 6): after=, Last-Event-ID, heard before the next one
    (None, None, []),
    ("3", None, ["4", "5", "6"]),
    (None, "3", ["4", "5", "6"]),
    ("6", None, []),
    ("1", None, ["2", "3", "4", "5", "6"]),
    ("0", None, ["2", "3", "4", "5", "6"]),
    ("2", "5", ["6"]),  # an EventSource that connects again has its first address, and what it saw since
    ("999999", None, []),  # more than there is: from now on
]


@pytest.mark.parametrize(("after", "last", "heard"), CURSORS)
async def test_after_a_cursor(table, after, last, heard):
    assert await draw(table, 5) == ["2", "3", "4", "5", "6"]
    headers = {"Last-Event-ID": last} if last else {}
    async with Listener(table, headers=headers, **({"after": after} if after else {})) as listener:
        await draw(table)
        assert ids(await listener.events(len(heard) + 1)) == [*heard, "7"]


@pytest.mark.parametrize(
    ("headers", "query", "at"),
    [
        ({"Last-Event-ID": "x"}, {}, "header.Last-Event-ID"),
        ({"Last-Event-ID": "-1"}, {}, "header.Last-Event-ID"),
        ({}, {"after": "1.5"}, "query.after"),
    ],
)
async def test_what_is_no_cursor_is_refused(table, headers, query, at):
    async with Listener(table, headers=headers, **query) as listener:
        assert listener.status == 422
        assert at in await listener.part()


async def test_who_was_cut_off_for_ten_events_gets_exactly_those(table):
    async with Listener(table) as listener:
        await draw(table, 3)
        seen = ids(await listener.events(3))
    missed = await draw(table, 10)
    async with Listener(table, headers={"Last-Event-ID": seen[-1]}) as listener:
        (next_,) = await draw(table)
        assert ids(await listener.events(11)) == [*missed, next_]


@pytest.mark.parametrize("others", [0, 1])
async def test_who_missed_more_than_a_worker_keeps_reads_the_log(table, monkeypatch, others):
    """First on its worker, or beside others who are there already."""
    monkeypatch.setattr(live, "RECENT", 4)
    async with AsyncExitStack() as stack:
        here = [await stack.enter_async_context(Listener(table)) for _ in range(others)]
        missed = await draw(table, 11)
        for each in here:
            assert ids(await each.events(11)) == missed
        late = await stack.enter_async_context(Listener(table, after="1"))
        now = await stack.enter_async_context(Listener(table))
        assert ids(await late.events(11)) == missed
        happened = await draw(table)
        for each in (*here, late, now):
            assert ids(await each.events(1)) == happened


async def test_a_cursor_that_the_log_has_lost_gets_one_reset(table, monkeypatch):
    monkeypatch.setattr(steps, "LOG_ENTRIES", 4)
    await draw(table, 9)
    assert (await table.ask("GET /events", after=2)).json()["code"] == "cursor-expired"
    async with Listener(table, after="2") as listener:
        (reset,) = await listener.rest()
    assert reset == {"type": "reset", "last_event": "10"}
    assert msgspec.convert(reset, Reset) == Reset(last_event="10")
    async with Listener(table, headers={"Last-Event-ID": reset["last_event"]}) as listener:
        happened = await draw(table)
        assert ids(await listener.events(1)) == happened


# While nothing happens.


async def test_a_sign_of_life_comes_again_and_again(table, monkeypatch):
    monkeypatch.setattr(live, "KEEP_ALIVE_S", 0.02)
    async with Listener(table) as listener:
        assert [await listener.part() for _ in range(4)] == [": \n\n"] * 4
        happened = await draw(table)
        assert ids(await listener.events(1)) == happened


# When it ends.


async def test_a_revoked_token_hears_no_more(table):
    minted = await table.mint("overlay", "observer")
    async with Listener(table, "overlay") as revoked, Listener(table) as gm, Listener(table, "player") as player:
        await draw(table)
        assert len(await revoked.events(1)) == len(await player.events(1)) == 1
        deleted, after = await asyncio.gather(table.ask(f"DELETE /tokens/{minted['id']}"), draw(table))
        assert deleted.status_code == 200
        assert ids(await revoked.rest()) in ([], after)  # what came before the revocation, perhaps; nothing after it
        heard = await gm.events(3)
        assert {event["type"] for event in heard} == {"clock.changed", "token.deleted"}
        assert ids(await player.events(1)) == after  # of tokens only the gm hears
    assert (await table.ask("GET /events", by="overlay")).status_code == 401


async def test_a_token_that_is_undone_hears_no_more(table):
    await table.mint("overlay", "observer")
    minted = (await table.get("/state"))["last_event"]
    async with Listener(table, "overlay") as listener:
        assert (await table.ask(f"POST /events/{minted}/undo")).status_code == 200
        assert await listener.rest() == []


async def test_events_after_the_revocation_are_not_sent_with_it():
    """A slow listener gets many at once."""

    async def follow():
        told = (msgspec.structs.replace(BEGUN.events[0], type=type_) for type_ in ("token.deleted", "clock.changed"))
        yield [Entry(str(at), event, b"{}") for at, event in enumerate(told, 2)]

    async def revoked():
        raise Unauthorized

    async def send(message):
        sent.append(message.get("body"))

    sent = []
    await EventStream(follow(), lambda entry: b"{}", revoked, revoked, Room(0, 0))({}, asyncio.Event().wait, send)
    assert sent == [None, b": \n\n", b": revoked\n\n", b""]


async def test_a_deleted_session_ends_all_streams(table):
    await table.mint("overlay", "observer")
    async with AsyncExitStack() as stack:
        listeners = [await stack.enter_async_context(Listener(table, by)) for by in ("gm", "player", "overlay")]
        assert (await table.ask("DELETE ")).status_code == 200
        assert [await each.rest() for each in listeners] == [[], [], []]


@pytest.mark.parametrize(("ended", "said"), [("token", ": revoked\n\n"), ("session", ": gone\n\n")])
async def test_the_last_words_say_which_of_the_two_is_gone(table, ended, said):
    minted = await table.mint("overlay", "observer")
    async with Listener(table, "overlay") as listener:
        assert await listener.part() == ": \n\n"
        await table.ask(f"DELETE /tokens/{minted['id']}" if ended == "token" else "DELETE ")
        assert [await listener.part() for _ in range(3)] == [said, None, None]


async def test_the_end_of_the_service_ends_all_streams(redis_url):
    async with in_process(redis_url) as client:
        table = await Table.open(client)
        listener = await Listener(table).__aenter__()
        await listener.part()
    assert await listener.rest() == []
    await listener.leave()


# For whom, and in which words.

HEARD = [
    # visibility, heard whole by: gm, who rolled, another player, chat, observer
    ("public", [True, True, True, True, True]),
    ("gm", [True, True, False, False, False]),
    ("blind", [True, False, False, False, False]),
    ("self", [False, True, False, False, False]),
]


@pytest.mark.parametrize(("visibility", "whole"), HEARD)
async def test_who_hears_what(table, visibility, whole):
    for name, role in (("roller", "player"), ("bot", "chat"), ("overlay", "observer")):
        await table.mint(name, role)
    readers = ("gm", "roller", "player", "bot", "overlay")
    async with AsyncExitStack() as stack:
        listeners = [await stack.enter_async_context(Listener(table, by)) for by in readers]
        body = {"base": 2, "faces": [5, 2], "visibility": visibility, "label": "Lie"}
        rolled = await table.ask("POST /characters/zoe/sixd6/rolls", body, by="roller", key="mine")
        assert rolled.status_code == 200
        for by, listener, sees in zip(readers, listeners, whole, strict=True):
            (event,) = await listener.events(1)
            assert event["redacted"] is not sees, by
            assert (event["data"] is not None) is sees
            assert ("Lie" in event["text"]) is sees
            assert event["idempotency_key"] == ("mine" if by in ("gm", "roller") else None)
            read_again = await table.get(f"/events/{event['id']}", by=by)
            assert read_again == event


async def test_of_tokens_only_the_gm_hears(table):
    async with Listener(table) as gm, Listener(table, "player") as player:
        await table.mint("overlay", "observer")
        await draw(table)
        assert [event["type"] for event in await gm.events(2)] == ["token.created", "clock.changed"]
        assert [event["type"] for event in await player.events(1)] == ["clock.changed"]


async def test_each_hears_its_own_language(table):
    async with Listener(table, lang="fr") as french, Listener(table, headers={"Accept-Language": "en"}) as english:
        await table.ask("POST /scene/end")
        said = [(await each.events(1))[0]["text"] for each in (french, english)]
    for lang, text in zip(("fr", "en"), said, strict=True):
        assert text == (await table.get("/events", lang=lang))["events"][-1]["text"]
    assert said[0] != said[1]


TOKENS = [
    # role, in the header, in the address
    ("gm", 200, 403),
    ("player", 200, 403),
    ("chat", 200, 200),
    ("observer", 200, 200),
]


@pytest.mark.parametrize(("role", "header", "address"), TOKENS)
async def test_which_tokens_may_stand_in_an_address(table, role, header, address):
    secret = (await table.mint("listener", role))["token"]
    async with Listener(table, "listener") as listener:
        assert listener.status == header
    async with Listener(table, None, token=secret) as listener:
        assert listener.status == address
        if address == 200:
            happened = await draw(table)
            assert ids(await listener.events(1)) == happened


@pytest.mark.parametrize("query", [{}, {"token": "nobody"}, {"token": ""}])
async def test_without_a_token_nothing_is_heard(table, query):
    async with Listener(table, None, **query) as listener:
        assert (listener.status, listener.headers["content-type"]) == (401, "application/problem+json")


@pytest.mark.parametrize("type_", STEPS)
async def test_each_event_is_of_its_type(type_):
    """As the contract tells it, for its reader and for those who may not see it, in both languages."""
    table = BEGUN.copy()
    STEPS[type_](table)
    event = msgspec.json.decode(msgspec.json.encode(table.events[-1]), type=Event)
    assert event.type == type_
    for words in (SPOKEN[lang] for lang in Lang):
        for token in (table.get("k:gm"), msgspec.structs.replace(table.get("k:gm"), id="x", role="observer")):
            worded = log.worded(Entry("7", event, b"{}"), token, words)
            if worded is None:
                assert log.KINDS[type_].gm_only
                continue
            again = msgspec.json.decode(msgspec.json.encode(worded), type=log.AnyEvent)
            assert (again.id, again.redacted, type(again)) == ("7", False, log.EVENTS[type_])
            assert again.text.strip()


# Between workers, and with Redis.


@asynccontextmanager
async def another_worker(redis_url, table):
    async with in_process(redis_url) as client:
        yield Table(client, table.opened)


async def test_what_another_worker_commits_is_heard(table, redis_url):
    async with another_worker(redis_url, table) as other, Listener(table) as here, Listener(other) as there:
        happened = [*await draw(table, 2), *await draw(other, 2), *await draw(table, 1)]
        assert ids(await here.events(5)) == ids(await there.events(5)) == happened


async def channels(redis):
    return [name.decode() for name in await redis.pubsub_channels("*:log")]


async def until_so(asked):
    give_up_s = time.monotonic() + WAIT_S
    while not await asked():
        assert time.monotonic() < give_up_s
        await asyncio.sleep(0.01)


async def test_who_leaves_frees_the_channel(table, redis):
    async def freed():
        return keys.log(table.id) not in await channels(redis)

    async with Listener(table) as first, Listener(table) as second:
        await draw(table)
        assert len(await first.events(1)) == len(await second.events(1)) == 1
        await first.leave()
        await draw(table)
        assert len(await second.events(1)) == 1
        assert not await freed()
    await until_so(freed)
    async with Listener(table) as again:  # and it can be listened to again
        happened = await draw(table)
        assert ids(await again.events(1)) == happened


async def test_a_stream_that_could_not_begin_leaves_nothing_behind(table, redis, monkeypatch):
    async def unavailable(*_):
        raise live.StoreUnavailable

    with monkeypatch.context() as patched:
        patched.setattr("service.store.log.Log.after", unavailable)
        async with Listener(table) as listener:
            assert await listener.rest() == []

    async def freed():
        return keys.log(table.id) not in await channels(redis)

    await until_so(freed)
    async with Listener(table) as listener:
        happened = await draw(table)
        assert ids(await listener.events(1)) == happened


async def test_a_broken_connection_loses_nothing(table, redis):
    async def subscribed():
        return keys.log(table.id) in await channels(redis)

    async with Listener(table) as listener:
        for missed in (1, 3, 1):
            await until_so(subscribed)
            await redis.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
            happened = await draw(table, missed)
            assert ids(await listener.events(missed)) == happened
        await until_so(subscribed)


async def connections(redis):
    return Counter("pubsub" if int(each["sub"]) else "others" for each in await redis.client_list())


async def test_connections_do_not_grow_with_the_listeners(table, redis):
    """One that hears for all of the worker, and those of its pool, which asks one thing after the other here."""
    counted = []
    async with AsyncExitStack() as stack:
        listeners = []
        for many in (50, 500):
            while len(listeners) < many:
                listeners.append(await stack.enter_async_context(Listener(table)))
            happened = await draw(table)
            heard = [await each.events(1) for each in listeners]
            assert all(ids(each) == happened for each in heard)
            counted.append(await connections(redis))
    assert counted[1]["pubsub"] == counted[0]["pubsub"]
    assert counted[1]["others"] <= counted[0]["others"]


async def test_many_who_begin_at_once_share_the_connection(redis, redis_url):
    async with in_process(redis_url) as client, AsyncExitStack() as stack:
        before = (await connections(redis))["pubsub"]
        tables = [await Table.open(client) for _ in range(4)]
        begun = (stack.enter_async_context(Listener(table)) for table in tables * 3)
        listeners = await asyncio.gather(*begun)
        happened = [await draw(table) for table in tables]
        assert [ids(await each.events(1)) for each in listeners] == happened * 3
        assert (await connections(redis))["pubsub"] == before + 1


# Beside the whole service, on four workers.


@asynccontextmanager
async def listening(client, table, **query):
    headers = {"Accept": "text/event-stream", "Authorization": f"Bearer {table.tokens['gm']}"}
    async with client.stream(
        "GET", f"/v1/sessions/{table.id}/events", headers=headers, params=query, timeout=WAIT_S
    ) as answer:
        assert answer.status_code == 200
        yield answer.aiter_lines()


async def heard(lines, count):
    events = []
    async for line in lines:
        if line.startswith("data: "):
            events.append(json.loads(line.removeprefix("data: ")))
        if len(events) == count:
            break
    return events


async def test_on_four_workers_everybody_hears_everything(service):
    async with service.client() as client, AsyncExitStack() as stack:
        table = await Table.open(client, characters=["Zoé"])
        streams = [await stack.enter_async_context(listening(client, table)) for _ in range(24)]
        happened = [event for each in await asyncio.gather(*(draw(table) for _ in range(8))) for event in each]
        for each in await asyncio.gather(*(heard(lines, 8) for lines in streams)):
            assert ids(each) == sorted(happened, key=int)


async def test_on_four_workers_each_has_one_connection_that_hears(service):
    async with service.client() as client, AsyncExitStack() as stack, Redis.from_url(service.redis_url) as redis:
        table = await Table.open(client)
        for _ in range(60):
            await stack.enter_async_context(listening(client, table))
        await draw(table)
        assert (await connections(redis))["pubsub"] <= 4
        assert await redis.pubsub_numsub(keys.log(table.id)) in ([(keys.log(table.id).encode(), n)] for n in range(1, 5))


async def test_a_service_with_open_streams_stops_in_time(tmp_path):
    service = Service(tmp_path, workers=1).start()
    try:
        async with service.client() as client, AsyncExitStack() as stack:
            table = await Table.open(client)
            streams = [await stack.enter_async_context(listening(client, table)) for _ in range(20)]
            await draw(table)
            await asyncio.gather(*(heard(lines, 1) for lines in streams))
            started_s = time.monotonic()
            stopping = asyncio.create_task(asyncio.to_thread(service.stop))
            for lines in streams:
                with suppress(httpx.TransportError):
                    assert await heard(lines, 1) == []
            await stopping
        assert time.monotonic() - started_s < STOP_S
    finally:
        service.kill()
