"""The operator's key, and how much may be asked in a second."""

import asyncio

import pytest

from service.api.gate import Gate
from service.store import keys
from tests.live import Table, in_process

pytestmark = pytest.mark.anyio

HIDDEN = [
    # method, path
    ("GET", "/v1/sixd6/roll?base=1"),
    ("POST", "/v1/sixd6/rolls"),
    ("GET", "/v1/burn2d6/reference"),
    ("GET", "/v1/systems"),
    ("POST", "/v1/sessions"),
    ("POST", "/v1/sessions/"),
]


@pytest.fixture(scope="module")
async def guarded(redis_url, anyio_backend):
    async with in_process(redis_url, api_key="open-sesame") as client:
        yield client


@pytest.mark.parametrize(("method", "path"), HIDDEN)
@pytest.mark.parametrize("key", [None, "", "open-sesam", "öpen"])
async def test_without_the_operators_key_nothing_is_rolled_or_opened(guarded, method, path, key):
    headers = {} if key is None else {"X-Api-Key": key.encode()}
    answer = await guarded.request(method, f"http://emberdice{path}", headers=headers, json={} if method == "POST" else None)
    assert answer.status_code == 401
    assert answer.json()["code"] == "api-key-required"
    assert answer.json()["errors"][0]["at"] == "header.X-Api-Key"
    assert answer.headers["WWW-Authenticate"] == "X-Api-Key"


@pytest.mark.parametrize("path", ["/v1//sixd6/roll?base=1", "//v1/sixd6/roll?base=1"])
async def test_a_path_written_otherwise_is_no_way_around(guarded, path):
    assert (await guarded.get(f"http://emberdice{path}")).status_code in (401, 404)


async def test_with_the_key_a_table_is_opened_and_its_tokens_are_enough(guarded):
    opened = await guarded.post("/v1/sessions", json={}, headers={"X-Api-Key": "open-sesame"})
    assert opened.status_code == 201
    own = {"Authorization": f"Bearer {opened.json()['tokens']['player']}"}
    assert (await guarded.get(f"/v1/sessions/{opened.json()['id']}/state", headers=own)).status_code == 200
    assert (await guarded.get("/v1/sixd6/roll?base=1", headers={"X-Api-Key": "open-sesame"})).status_code == 200


@pytest.mark.parametrize("path", ["/", "/docs", "/health/live", "/openapi.json", "/problems/unauthorized"])
async def test_what_is_read_about_the_service_needs_no_key(guarded, path):
    assert (await guarded.get(path)).status_code != 401


def test_a_workers_share_is_given_out_and_comes_back_with_time():
    now_s = 0.0
    gate = Gate("", 4, now_s=lambda: now_s)
    assert [gate.refusal("/v1/sixd6/rolls", {}, "") is None for _ in range(6)] == [True] * 4 + [False] * 2
    now_s = 0.5
    assert [gate.refusal("/v1/sixd6/rolls", {}, "") is None for _ in range(3)] == [True, True, False]
    now_s = 1_000.0
    assert [gate.refusal("/v1/sixd6/rolls", {}, "") is None for _ in range(5)] == [True] * 4 + [False]


def test_the_limit_is_not_for_tables():
    gate = Gate("", 1, now_s=lambda: 0.0)
    assert all(
        gate.refusal(path, {}, "") is None for path in ["/v1/sessions", "/v1/sessions/abc/state", "/v1/quick/abc/roll"] * 5
    )


def asked(gate, address, key=b""):
    refusal = gate.refusal("/v1/systems", {b"x-api-key": key}, address)
    return refusal and (refusal.code, refusal.headers.get("Retry-After"))


def test_wrong_keys_are_counted_by_caller_and_the_right_one_is_never_refused():
    now_s = 15.0
    gate = Gate("key", 0, 2, now_s=lambda: now_s)
    wrong, enough = ("api-key-required", None), ("too-many-requests", "45")
    assert [asked(gate, "203.0.113.9") for _ in range(3)] == [wrong, wrong, enough]
    assert asked(gate, "203.0.113.9", b"key") is None
    assert asked(gate, "203.0.113.10") == wrong
    assert [asked(gate, f"2001:db8::{each}") for each in range(1, 4)] == [wrong, wrong, enough]
    assert [asked(gate, "127.0.0.1") for _ in range(5)] == [wrong] * 5
    now_s = 60.0
    assert asked(gate, "203.0.113.9") == wrong


async def test_who_guesses_keys_is_told_to_wait(redis_url):
    async with in_process(redis_url, api_key="key", failures_per_minute=2, trusted_proxies="127.0.0.1") as client:
        told = {"X-Forwarded-For": "203.0.113.9"}
        answers = [await client.get("/v1/systems", headers=told) for _ in range(6)]  # in two minutes, if it must be
        right = await client.get("/v1/systems", headers={**told, "X-Api-Key": "key"})
    assert (answers[0].status_code, right.status_code) == (401, 200)
    assert 429 in [each.status_code for each in answers]


async def test_too_much_at_once_is_refused_in_words_and_with_a_time(redis_url):
    async with in_process(redis_url, stateless_per_second=1, workers=1) as client:
        answers = [await client.get("/v1/sixd6/roll?base=1") for _ in range(4)]
    refused = [each for each in answers if each.status_code == 429]
    assert answers[0].status_code == 200
    assert refused
    assert refused[0].headers["Retry-After"] == "1"
    assert refused[0].json()["code"] == "too-many-requests"


# Steps of a session, counted by Redis' own seconds.

STEP = ("POST /decks/light/draws", {})
LOOK = ("GET /decks/light", None)


@pytest.mark.parametrize("asked", [STEP, LOOK], ids=["step", "look"])
@pytest.mark.parametrize("limits", [{"steps_per_second": 1}, {"token_steps_per_second": 1}])
async def test_a_session_may_be_used_so_often_in_a_second(redis_url, redis, asked, limits):
    async with in_process(redis_url, **limits) as client:
        table = await Table.open(client)
        began_s, _ = await redis.time()
        answers = await asyncio.gather(*(table.ask(*asked, by="player") for _ in range(12)))
        ended_s, _ = await redis.time()
        statuses = [each.status_code for each in answers]
        assert set(statuses) == {200, 429}
        assert statuses.count(200) <= ended_s - began_s + 1
        assert next(each for each in answers if each.status_code == 429).headers["Retry-After"] == "1"
        if asked is STEP:  # what was refused was not done
            assert 43 - (await in_time(table, *LOOK)).json()["draw_pile"] == statuses.count(200)


async def test_a_change_that_is_made_is_answered_and_an_undo_is_one_use(redis_url):
    async with in_process(redis_url, token_steps_per_second=1) as client:
        table = await Table.open(client)
        changed = await in_time(table, "PATCH ", {"name": "Friday"})
        assert (changed.status_code, changed.json()["name"]) == (200, "Friday")
        event = (await in_time(table, "GET /state", None)).json()["last_event"]
        assert (await in_time(table, f"POST /events/{event}/undo", {})).status_code == 200


async def test_a_limit_speaks_the_table_s_language(redis_url):
    async with in_process(redis_url, token_steps_per_second=1) as client:
        table = await Table.open(client, lang="fr")
        answers = await asyncio.gather(*(table.ask(*LOOK, by="player") for _ in range(12)))
        refused = [each for each in answers if each.status_code == 429]
        assert {(each.json()["lang"], each.headers["Content-Language"]) for each in refused} == {("fr", "fr")}


async def in_time(table, line, body):
    """As a caller does who is told to wait."""
    while (answer := await table.ask(line, body)).status_code == 429:  # noqa: ASYNC110  it waits for a second of Redis
        await asyncio.sleep(int(answer.headers["Retry-After"]))
    return answer


async def test_a_gm_is_not_held_up_by_those_who_flood_the_table(redis_url):
    async with in_process(redis_url, steps_per_second=2) as client:
        table = await Table.open(client)
        flood = await asyncio.gather(*(table.ask(*LOOK, by="player") for _ in range(20)))
        assert {each.status_code for each in flood} == {200, 429}
        assert (await table.ask(*STEP)).status_code == 200


async def test_a_repetition_is_answered_whatever_the_limit(redis_url):
    async with in_process(redis_url, token_steps_per_second=1) as client:
        table = await Table.open(client)
        first = await table.ask(*STEP, key="k")
        again = await asyncio.gather(*(table.ask(*STEP, key="k") for _ in range(20)))
        assert {each.status_code for each in again} == {200}
        assert all(each.json() == first.json() for each in again)


async def test_another_session_and_another_token_are_not_held_up(redis_url):
    async with in_process(redis_url, token_steps_per_second=1) as client:
        table, other = await Table.open(client), await Table.open(client)
        await asyncio.gather(*(table.ask(*STEP) for _ in range(20)))
        assert (await table.ask(*STEP, by="player")).status_code == 200
        assert (await other.ask(*STEP)).status_code == 200


async def test_the_ceiling_of_sessions_holds_when_many_are_opened_at_once(redis_url, redis):
    there = await redis.zcard(keys.SESSIONS)
    async with in_process(redis_url, max_sessions=there + 3) as client:
        answers = await asyncio.gather(*(client.post("/v1/sessions", json={}) for _ in range(12)))
        statuses = [each.status_code for each in answers]
        assert (statuses.count(201) <= 3, set(statuses) <= {201, 429}) == (True, True)
        assert await redis.zcard(keys.SESSIONS) <= there + 3
