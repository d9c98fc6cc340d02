"""The parts of `make chaos`, where nothing goes wrong: it takes minutes, and is not run with each change."""

import time

import pytest

from tests.chaos.load import Load
from tests.chaos.seeded import SEEDS
from tests.live import ROOT


@pytest.mark.anyio
async def test_a_quiet_evening_keeps_every_promise(service):
    async with service.client() as client:
        async with Load(client, may_refuse=False).running() as load:
            await load.back(time.monotonic())
        assert load.tally.wrong == []
        assert [await ledger.check(may_lose=False, hurt_s=0) for ledger in load.ledgers] == [0] * len(load.ledgers)


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.name)
def test_a_fault_finds_the_place_where_it_is_to_be_written(seed):
    assert (ROOT / seed.file).read_text().count(seed.was) == 1
