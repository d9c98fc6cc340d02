"""A store is copied while it is written to, and the copy is a table to play on."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live import Service, Table

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
