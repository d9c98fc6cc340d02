"""Redis away, slow, full, read-only, forgetful: a clear 503, nothing half done, and back by itself."""

import asyncio
import os
import signal
import time
from contextlib import asynccontextmanager

import msgspec
import pytest
from redis.asyncio import Redis

from service.store import keys
from service.store.connection import Script
from service.store.embedded import EmbeddedServer
from tests.live import Proxy, Table, in_process

pytestmark = pytest.mark.anyio

COMMIT, READ = (Script(name).digest.encode() for name in ("commit.lua", "read.lua"))
BOUND_S = 8.0
"""A refusal comes within twice the deadline of a step, however slow this machine is."""


@pytest.fixture(scope="module")
def bad_redis(tmp_path_factory):
    """A server of our own, to be mistreated."""
    with EmbeddedServer(tmp_path_factory.mktemp("bad redis"), appendfsync="no", debug_command=True) as server:
        yield server


@pytest.fixture(scope="module")
async def admin(bad_redis, anyio_backend):
    async with Redis.from_url(bad_redis.url, decode_responses=True) as client:
        yield client


@pytest.fixture(scope="module")
async def line(bad_redis, anyio_backend):
    """The proxy between the service and the server, and the service's client."""
    proxy = Proxy(str(bad_redis._socket))
    async with proxy.listening() as url, in_process(url) as client:
        yield proxy, client


@pytest.fixture
def proxy(line):
    yield line[0]
    line[0].mend()


@pytest.fixture
async def table(line, proxy):
    await ready(line[1])
    table = await Table.open(line[1], characters=["Zoé"], settings={"tier_size": 3})
    await table.ask("PUT /characters/max", {"name": "Max"})  # now both scripts are known
    return table


async def ready(client):
    give_up_s = time.monotonic() + 20
    while (answer := await client.get("/health/ready")).status_code != 200:
        refused(answer, "store-unavailable")
        assert time.monotonic() < give_up_s
        await asyncio.sleep(0.02)


async def everything(admin, table):
    """All that the session is, but the count of its uses."""
    record = await admin.hgetall(keys.session(table.id))
    return {**record, "uses": ""}, await admin.xrange(keys.log(table.id))


def refused(answer, *codes):
    assert answer.status_code == 503, answer.text
    assert answer.json()["code"] in (codes or ("store-unavailable", "busy"))
    assert int(answer.headers["Retry-After"]) >= 1
    assert answer.json()["text"]


DRAW = "POST /decks/light/draws"


def each_kind(table):
    """A step, a look, and the opening of a session."""
    return table.ask(DRAW, {}), table.ask("GET /state"), table.client.post("/v1/sessions", json={})


async def pile_after_draw(table):
    return (await table.ask(DRAW, {})).json()["draw_pile"]


async def draws(table):
    events = (await table.get("/events"))["events"]
    return sum(event["type"] == "cards.drawn" for event in events)


@asynccontextmanager
async def bounded():
    started_s = time.monotonic()
    yield
    assert time.monotonic() - started_s < BOUND_S


# A reply that is lost between Redis and the service.


@pytest.mark.parametrize("closes", [True, False])
@pytest.mark.parametrize("script", [READ, COMMIT], ids=["read", "commit"])
async def test_a_lost_reply_is_one_effect_and_one_answer(table, proxy, script, closes):
    table = await Table.open(table.client)  # which the service has to read first
    proxy.lose(script, 1, closes=closes)
    answer = await table.ask(DRAW, {"count": 2})
    assert proxy.losses == 0
    assert (answer.status_code, answer.json()["draw_pile"]) == (200, 41)
    assert "Idempotency-Replayed" not in answer.headers
    assert await draws(table) == 1


async def test_a_reply_that_stays_lost_is_given_to_who_asks_again(table, proxy, admin):
    proxy.lose(COMMIT, 2, closes=True)
    refused(await table.ask(DRAW, {"count": 2}, key="again"), "store-unavailable")
    answer = await table.ask(DRAW, {"count": 2}, key="again")
    assert (answer.status_code, answer.json()["draw_pile"]) == (200, 41)
    assert answer.headers["Idempotency-Replayed"] == "true"
    assert await draws(table) == 1
    assert (await admin.hget(keys.session(table.id), "version")) == "3"


async def test_a_session_whose_opening_lost_its_reply_is_open(line, proxy):
    proxy.lose(COMMIT, 1, closes=True)
    table = await Table.open(line[1], characters=["Zoé"])
    assert [each["id"] for each in (await table.get("/characters"))["characters"]] == ["zoe"]


async def test_a_token_whose_minting_lost_its_reply_opens_the_table(table, proxy):
    proxy.lose(COMMIT, 1, closes=True)
    await table.mint("watcher", "observer")
    assert (await table.get("/tokens/me", by="watcher"))["role"] == "observer"
    assert len((await table.get("/tokens"))["tokens"]) == 3


# The way to Redis.


async def test_a_silent_redis_is_503_within_the_deadline_and_back_by_itself(table, proxy, admin):
    before = await everything(admin, table)
    proxy.speaks.clear()
    async with bounded():
        asked = (table.ask(DRAW, {}), table.ask("GET /state"), table.ask(DRAW, {}), table.client.get("/health/ready"))
        for answer in await asyncio.gather(*asked):
            refused(answer)
    await proxy.hang_up()
    proxy.speaks.set()
    assert await everything(admin, table) == before
    assert await pile_after_draw(table) == 42


async def test_who_waits_for_a_silent_redis_waits_no_longer_in_a_crowd(table, proxy):
    proxy.speaks.clear()
    async with bounded():
        for answer in await asyncio.gather(*(table.ask(DRAW, {}) for _ in range(30))):
            refused(answer)
    await proxy.hang_up()
    proxy.speaks.set()
    piles = [answer.json()["draw_pile"] for answer in await asyncio.gather(*(table.ask(DRAW, {}) for _ in range(30)))]
    assert sorted(piles) == list(range(13, 43))


async def test_a_slow_redis_is_waited_for(table, proxy):
    proxy.delay_s = 0.1
    assert await pile_after_draw(table) == 42


async def test_a_redis_that_refuses_connections_is_503_and_back_by_itself(table, proxy, admin):
    before = await everything(admin, table)
    proxy.refuses = True
    await proxy.hang_up()
    async with bounded():
        for answer in await asyncio.gather(*each_kind(table)):
            refused(answer, "store-unavailable")
    assert await everything(admin, table) == before
    proxy.refuses = False
    assert await pile_after_draw(table) == 42


async def test_connections_that_were_closed_meanwhile_are_nobodys_concern(table, proxy):
    for pile in (42, 41):
        await proxy.hang_up()
        assert await pile_after_draw(table) == pile


async def test_the_rules_need_no_redis(line, proxy):
    proxy.refuses = True
    await proxy.hang_up()
    answer = await line[1].post("/v1/sixd6/rolls", json={"base": 3})
    assert answer.status_code == 200
    assert (await line[1].get("/health/live")).status_code == 200


async def test_a_redis_that_comes_after_the_service(tmp_path):
    url = f"unix://{tmp_path / 'socket' / 'redis.sock'}"
    async with in_process(url) as client:
        refused(await client.get("/health/ready"), "store-unavailable")
        refused(await client.post("/v1/sessions", json={}), "store-unavailable")
        assert (await client.get("/v1/sixd6/roll", params={"base": 2})).status_code == 200
        with EmbeddedServer(tmp_path, appendfsync="no"):
            assert (await client.get("/health/ready")).status_code == 200
            await Table.open(client)


# Redis itself.


async def test_a_paused_redis_is_503_within_the_deadline_and_answers_are_not_mixed_up(table, admin):
    await admin.client_pause(60_000, all=False)  # scripts that may write, and so all of ours
    async with bounded():
        for answer in await asyncio.gather(*(table.ask(DRAW, {}) for _ in range(8)), table.ask("GET /state")):
            refused(answer)
    await admin.client_unpause()
    made = await asyncio.gather(*(table.ask(DRAW, {"count": count}) for count in (1, 2, 3, 4)))
    assert [len(answer.json()["cards"]) for answer in made] == [1, 2, 3, 4]


async def test_a_full_redis_is_503_nothing_changed_and_back_by_itself(table, admin):
    before = await everything(admin, table)
    await admin.config_set("maxmemory", 1)
    try:
        for answer in await asyncio.gather(*each_kind(table)):
            refused(answer, "store-unavailable")
        assert await everything(admin, table) == before
    finally:
        await admin.config_set("maxmemory", 0)
    assert await pile_after_draw(table) == 42


async def test_a_full_redis_deletes_a_session_or_refuses_to(table, admin):
    await admin.config_set("maxmemory", 1)
    try:
        answer = await table.ask("DELETE ")
    finally:
        await admin.config_set("maxmemory", 0)
    assert answer.status_code in (200, 503)
    assert await admin.exists(keys.session(table.id)) == (answer.status_code == 503)


async def test_a_read_only_redis_is_503_nothing_changed_and_back_by_itself(table, admin):
    before = await everything(admin, table)
    await admin.execute_command("REPLICAOF", "127.0.0.1", "1")
    try:
        for answer in await asyncio.gather(*each_kind(table)):
            refused(answer, "store-unavailable")
        assert await everything(admin, table) == before
    finally:
        await admin.execute_command("REPLICAOF", "NO", "ONE")
    assert await pile_after_draw(table) == 42


async def test_a_redis_that_forgot_the_scripts_is_told_them_again(table, admin):
    for pile in (42, 41):
        await admin.script_flush()
        assert await pile_after_draw(table) == pile


async def test_a_killed_redis_comes_back_with_all_that_was_acknowledged(table, admin):
    pile = await pile_after_draw(table)
    os.kill((await admin.info("server"))["process_id"], signal.SIGKILL)
    await ready(table.client)
    assert await pile_after_draw(table) == pile - 1
    assert await draws(table) == 2


# What is stored.

BROKEN = ["", "{", "[]", '{"first": "many"}', '{"first": 1, "active": {"x": "zoe"}}']


@pytest.mark.parametrize("raw", BROKEN)
async def test_a_record_that_does_not_parse_is_500_and_left_as_it_is(line, proxy, admin, raw):
    table = await Table.open(line[1])
    good = await admin.hget(keys.session(table.id), "d:grave")
    await admin.hset(keys.session(table.id), "d:grave", raw)
    for asked in ("POST /decks/grave/draws", "GET /decks/grave", "GET /state"):
        answer = await table.ask(asked, {} if asked.startswith("POST") else None)
        assert (answer.status_code, answer.json()["code"]) == (500, "internal-error"), answer.text
        assert answer.json()["text"]
    assert await admin.hget(keys.session(table.id), "d:grave") == raw
    assert await pile_after_draw(table) == 42
    await admin.hset(keys.session(table.id), "d:grave", good)
    assert (await table.ask("POST /decks/grave/draws", {})).json()["draw_pile"] == 17


async def test_a_key_of_another_kind_is_503_and_left_as_it_is(line, proxy, admin):
    table = await Table.open(line[1])
    await admin.delete(keys.session(table.id))
    await admin.set(keys.session(table.id), "somebody else's")
    refused(await table.ask(DRAW, {}))
    assert await admin.get(keys.session(table.id)) == "somebody else's"


async def test_members_of_a_newer_version_are_tolerated_on_every_page(table, admin):
    await table.ask(DRAW, {"character": "zoe"})
    for name, raw in (await admin.hgetall(keys.session(table.id))).items():
        if raw.startswith("{"):
            newer = {**msgspec.json.decode(raw), "of_a_newer_version": 1}
            await admin.hset(keys.session(table.id), name, msgspec.json.encode(newer))
    for page in ("", "/state", "/characters", "/characters/zoe", "/decks", "/decks/light", "/cards", "/clock", "/tokens"):
        await table.get(page)
    assert await pile_after_draw(table) == 41


async def test_an_event_of_a_newer_version_does_not_hide_the_others(table, admin):
    await table.ask(DRAW, {})
    newer = {"type": "of.a.newer.version", "at_ms": 0, "elapsed_ms": 0, "actor": {"role": "gm", "token": "x"}, "data": {}}
    await admin.xadd(keys.log(table.id), {"event": msgspec.json.encode(newer), "before": "{}"}, id="99-0")
    assert "cards.drawn" in [event["type"] for event in (await table.get("/events"))["events"]]
