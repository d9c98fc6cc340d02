"""The service and its Redis are killed, stopped and started: what was acknowledged is still so."""

import asyncio
import os
import signal
import socket
import subprocess
import sys

import pytest
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.live import Service, Table, until

pytestmark = pytest.mark.anyio

DRAW = "POST /decks/light/draws"
HEAL = "POST /characters/zoe/sixd6/healing"
ROLL = "POST /characters/zoe/sixd6/rolls"
HEALING = {"care": "treat_damage", "base": 3, "damage": 9}


@pytest.fixture
def service(tmp_path):
    """A service that this test alone may kill."""
    service = Service(tmp_path, workers=2).start()
    yield service
    service.kill()


def kill_redis(service):
    with Redis.from_url(service.redis_url, retry=Retry(NoBackoff(), 0)) as redis:
        pid = redis.info("server")["process_id"]
    os.kill(pid, signal.SIGKILL)
    until(lambda: not runs(pid))
    until(service.is_ready)


def kill_service(service):
    service.kill()
    service.start()


def stop_service(service):
    assert service.stop() == 0
    service.start()


async def remembered(table):
    """What a table must still know after any end of anything."""
    refused = await table.ask(HEAL, HEALING)
    assert (refused.status_code, refused.json()["code"]) == (409, "healing-cooldown")
    state = await table.get("/state")
    for each in (*state["characters"], state["clock"]):
        each.pop("elapsed_seconds", None)
        each.pop("healing", None)
    next_roll = {name: value for name, value in refused.json()["next_roll"].items() if name != "remaining_seconds"}
    events = [
        {name: value for name, value in event.items() if name != "elapsed_seconds"}
        for event in (await table.get("/events"))["events"]
    ]
    return state, next_roll, events, await table.get("/tokens/me", by="observer")


async def test_what_was_acknowledged_outlives_every_end(service):
    """One service for all of it: its start takes longer than all else here."""
    async with service.client() as client:
        table = await Table.open(client, characters=["Zoé"], settings={"tier_size": 3})
        await table.mint("observer", "observer")
        assert (await table.ask(HEAL, HEALING)).status_code == 200
        same = {"base": 6, "red": 6, "label": "once"}
        at_once = await asyncio.gather(*(table.ask(ROLL, same, key="once") for _ in range(20)))
        assert {answer.status_code for answer in at_once} == {200}
        assert len({answer.content for answer in at_once}) == 1
        assert sum("Idempotency-Replayed" in answer.headers for answer in at_once) == 19
        pile = (await table.get("/decks/light"))["draw_pile"]
        before = await remembered(table)
    for end in (kill_redis, kill_service, stop_service):
        end(service)
        async with service.client() as client:
            table.client = client
            assert await remembered(table) == before, end
            again = await table.ask(ROLL, same, key="once")
            assert (again.status_code, again.content) == (200, at_once[0].content), end
            pile -= 1
            assert (await table.ask(DRAW, {})).json()["draw_pile"] == pile, end
            before = await remembered(table)
    await in_flight(table, service)


async def in_flight(table, service):
    """Killed in the middle of draws: each one that was acknowledged is logged, each one that is logged is whole."""
    async with service.client() as client:
        table.client = client
        await table.ask("PUT /decks/own", {"name": "Own", "cards": [{"card": "a", "name": "A", "copies": 60}]})
        drawing = "POST /decks/own/draws"
        asked = [asyncio.create_task(table.ask(drawing, {"table": True}, key=f"draw-{n}")) for n in range(60)]
        await asked[9]
        service.kill()
        answers = await asyncio.gather(*asked, return_exceptions=True)
    service.start()
    async with service.client() as client:
        table.client = client
        deck = await table.get("/decks/own")
        events = (await table.get("/events", limit=500))["events"]
    drawn = [answer.json() for answer in answers if not isinstance(answer, Exception) and answer.status_code == 200]
    acknowledged = {card["id"] for each in drawn for card in each["cards"]}
    logged = [card["id"] for event in events if event["type"] == "cards.drawn" for card in event["data"]["cards"]]
    logged = [card for card in logged if card.startswith("own-")]
    assert acknowledged
    assert acknowledged <= set(logged)
    assert sorted(logged) == sorted(card["id"] for card in deck["active_cards"])
    assert deck["draw_pile"] == 60 - len(logged)


def test_workers_end_with_a_main_process_that_is_killed_alone(tmp_path):
    service = Service(tmp_path, workers=1).start()
    try:
        workers = service.workers()
        assert workers
        os.kill(service.pid, signal.SIGKILL)
        until(lambda: not any(map(runs, workers)), within_s=5)
    finally:
        service.kill()


@pytest.mark.parametrize("who", ["another service", "another program"])
def test_a_port_that_is_taken_is_said(tmp_path, who):
    """Two services would share it, each with a part of the requests."""
    with socket.create_server(("127.0.0.1", 0), reuse_port=who == "another service") as listening:
        port = listening.getsockname()[1]
        told = {"PORT": str(port), "DATA_DIR": str(tmp_path), "REDIS_URL": "unix:///nowhere"}
        command = [sys.executable, "-m", "service"]
        ended = subprocess.run(command, env={**os.environ, **told}, capture_output=True, text=True, timeout=30, check=False)
    assert ended.returncode == 1
    assert ended.stderr == f"emberdice: HOST=127.0.0.1, PORT={port}: Address already in use\n"
    assert not ended.stdout


def runs(pid):
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state) and not state.startswith("Z")
