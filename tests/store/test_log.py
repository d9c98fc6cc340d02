"""The log: written with its change, kept to 500 entries, read from a cursor."""

import asyncio
import secrets

import msgspec
import pytest
from msgspec import UNSET

from service.dice import SystemDice
from service.errors import NotAllowed
from service.store import keys
from service.store.connection import connect, connect_for_news
from service.store.live import Live
from service.store.log import Expired, Log
from service.store.steps import Store, Wish, seat, token_digest
from service.table import decks, session
from service.table.audience import Role
from service.table.decks import Drawn
from service.table.records import Head, Token
from service.table.session import SessionFacts

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(redis_url):
    store = Store(connect(redis_url), SystemDice(), life_ms=86_400_000)
    yield store
    await store.redis.aclose()


@pytest.fixture
def log(store):
    return Log(store.redis)


@pytest.fixture
async def at(store):
    now_ms, identifier = await store.now_ms(), secrets.token_hex(10)
    records = session.opened(Head(created_ms=now_ms), (), running=True, chance=store.chance)
    gm = {f"k:{token_digest('gm')}": Token(id="gm", role=Role.GM, created_ms=now_ms)}
    await store.create(identifier, {**records, **gm}, now_ms)
    return seat(identifier, "gm")


async def rename(store, at, *names):
    for name in names:
        play = Wish(play=lambda turn, name=name: session.change(turn, {"name": name}, UNSET), facts=SessionFacts)
        await store.play(at, play)


def ids(page):
    return [entry.id for entry in page.entries]


def names(page):
    return [entry.event.data["name"] for entry in page.entries]


async def test_who_follows_hears_what_follows_a_failover_that_undid_what_was_heard(store, log, redis, redis_url, at):
    """The numbers of what was undone are given again."""
    await rename(store, at, "one")
    kept = {name: await redis.dump(name) for name in (keys.session(at.session), keys.log(at.session))}
    live = Live(log, lambda: connect_for_news(redis_url))
    following = live.follow(at.session, 0)
    try:
        assert names_of(await heard(following)) == ["one"]
        await rename(store, at, "undone", "undone too")
        while (undone := await heard(following))[-1].event.data["name"] != "undone too":
            pass
        assert undone[-1].id == "4"
        for name, dumped in kept.items():
            await redis.restore(name, 86_400_000, dumped, replace=True)
        await redis.client_kill_filter(_type="pubsub")
        await rename(store, at, "two", "three", "four")
        found = []
        while found[-1:] != ["four"]:
            found += names_of(await heard(following))
        assert found == ["two", "three", "four"]
    finally:
        await following.aclose()
        await live.close()


async def heard(following):
    async with asyncio.timeout(10):
        while not (entries := await anext(following)):
            pass
    return entries


def names_of(entries):
    return [entry.event.data["name"] for entry in entries]


async def test_a_new_session_has_an_empty_log(log, at):
    for cursor in (None, "0", "1"):
        page = await log.after(at.session, cursor, 10)
        assert (page.entries, page.has_more) == ([], False)


async def test_each_step_is_told_once_under_its_version(store, log, at):
    await rename(store, at, "a", "b", "c")
    page = await log.after(at.session, None, 10)
    assert (ids(page), names(page), page.has_more) == (["2", "3", "4"], ["a", "b", "c"], False)


async def test_what_is_refused_is_not_told(store, log, at):
    def play(turn):
        session.change(turn, {"name": "never"}, UNSET)
        raise NotAllowed

    with pytest.raises(NotAllowed):
        await store.play(at, Wish(play=play, facts=SessionFacts))
    assert (await log.after(at.session, None, 10)).entries == []


PAGES = [
    # read, cursor, limit, ids, has_more
    ("after", None, 2, ["2", "3"], True),
    ("after", "3", 2, ["4", "5"], True),
    ("after", "5", 2, ["6"], False),
    ("after", "6", 2, [], False),
    ("after", "999999999999999", 2, [], False),
    ("after", "0", 5, ["2", "3", "4", "5", "6"], False),
    ("before", None, 2, ["6", "5"], True),
    ("before", "5", 2, ["4", "3"], True),
    ("before", "3", 2, ["2"], False),
    ("before", "2", 2, [], False),
    ("before", "0", 2, [], False),
]


async def test_pages_go_either_way(store, log, at):
    await rename(store, at, *"abcde")
    for way, cursor, limit, expected, has_more in PAGES:
        page = await getattr(log, way)(at.session, cursor, limit)
        assert (way, cursor, ids(page), page.has_more) == (way, cursor, expected, has_more)


async def test_one_entry_by_its_id(store, log, at):
    await rename(store, at, "a", "b")
    assert (await log.one(at.session, "3")).event.data["name"] == "b"
    for unknown in ("0", "1", "4", "999999999999999"):
        assert await log.one(at.session, unknown) is None


async def test_the_newest_500_steps_are_kept(store, log, redis, at):
    await rename(store, at, *map(str, range(503)))
    assert await redis.xlen(keys.log(at.session)) == 500
    page = await log.after(at.session, "4", 500)
    assert (ids(page)[0], ids(page)[-1], page.has_more) == ("5", "504", False)
    assert (await log.before(at.session, "6", 10)).entries[0].id == "5"
    assert await log.one(at.session, "4") is None


async def test_a_cursor_that_the_log_no_longer_reaches_is_expired(store, log, redis, at):
    await rename(store, at, *"abcdef")
    await redis.xtrim(keys.log(at.session), maxlen=3, approximate=False)
    for expired in ("0", "1", "2", "3"):
        with pytest.raises(Expired):
            await log.after(at.session, expired, 10)
    assert ids(await log.after(at.session, "4", 10)) == ["5", "6", "7"]
    assert ids(await log.after(at.session, None, 10)) == ["5", "6", "7"]


async def test_an_entry_keeps_what_its_step_changed(store, log, redis, at):
    before = await redis.hgetall(keys.session(at.session))
    draw = Wish(
        play=lambda turn: decks.draw(turn, "light", 1, holder=None),
        facts=Drawn,
        wants=("d:light",),
        key="k",
        fingerprint="draw",
    )
    await store.play(at, draw)
    entry = await log.one(at.session, "2")
    assert msgspec.json.decode(entry.before) == {"d:light": before[b"d:light"].decode()}
    assert (entry.event.key, entry.event.actor.role, entry.event.actor.token) == ("k", Role.GM, "gm")
    assert entry.event.data["cards"][0]["deck"] == "light"
