"""A store is copied while it is written to, and the copy is a table to play on."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from redis import Redis

from service.store.embedded import EmbeddedServer
from tests.live import ROOT, Service, Table

BACKUP = Path(__file__).parents[2] / "deploy/backup.py"


def backed_up(data_dir, backup):
    return subprocess.run(
        [sys.executable, BACKUP, data_dir, backup], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.anyio
async def test_what_was_acknowledged_before_the_backup_is_in_it(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    service = Service(first, workers=1).start()
    try:
        async with service.client() as client:
            table = await Table.open(client, characters=["Zoé"])
            drawn = [await _drawn(table) for _ in range(5)]
            writing = asyncio.create_task(_writing(table))
            ran = await asyncio.to_thread(backed_up, first / "data", second / "data")
            writing.cancel()
            assert (ran.returncode, ran.stderr) == (0, "")
    finally:
        service.kill()
    restored = Service(second, workers=1).start()
    try:
        async with restored.client() as client:
            table.client = client
            held = {card["id"] for card in (await table.get("/cards?character=zoe"))["cards"]}
            assert held >= set(drawn)
            assert await _drawn(table) not in held
    finally:
        restored.kill()


async def _drawn(table):
    answer = await table.ask("POST /decks/light/draws", {"character": "zoe"})
    return answer.json()["cards"][0]["id"]


async def _writing(table):
    while True:
        await table.ask("POST /clock", {"action": "advance", "seconds": 1})


def test_there_is_no_backup_of_a_store_that_does_not_run(tmp_path):
    ran = backed_up(tmp_path / "data", tmp_path / "backup")
    assert ran.returncode == 1
    assert ran.stderr.startswith("no backup: ")
    assert not (tmp_path / "backup").exists()


SLOW = """
import sys, time
from pathlib import Path
from deploy import backup

def copytree(*told):
    print("copying", flush=True)
    time.sleep(60)

backup.shutil.copytree = copytree
backup.main(Path(sys.argv[1]), Path(sys.argv[2]))
"""
REWRITES = "auto-aof-rewrite-percentage"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept") / "data"
    with EmbeddedServer(folder) as server, Redis.from_url(server.url, decode_responses=True) as redis:
        yield folder, lambda: redis.config_get(REWRITES)[REWRITES]


@pytest.fixture
def copying(store, tmp_path):
    """A backup in the midst of its work."""
    command = [sys.executable, "-c", SLOW, store[0], tmp_path / "first"]
    ran = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert ran.stdout.readline() == "copying\n"
    yield ran
    ran.kill()
    ran.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_backup_that_is_ended_lets_the_log_be_rewritten_again(store, copying, tmp_path, number):
    assert store[1]() == "0"
    copying.send_signal(number)
    assert copying.communicate(timeout=20)[1] == f"no backup: ended by {number.name}\n"
    assert copying.returncode == 1
    assert store[1]() == "100"
    assert list(tmp_path.iterdir()) == []


def test_two_at_once_are_one_and_a_refusal(store, copying, tmp_path):
    ran = backed_up(store[0], tmp_path / "second")
    assert (ran.returncode, ran.stderr) == (1, "no backup: another one of this store runs\n")
    assert not (tmp_path / "second").exists()
    assert store[1]() == "0"


def test_the_next_backup_mends_what_a_killed_one_left(store, copying, tmp_path):
    copying.kill()
    copying.wait(20)
    assert store[1]() == "0"
    ran = backed_up(store[0], tmp_path / "first")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert store[1]() == "100"
    assert [each.name for each in tmp_path.iterdir()] == ["first"]
