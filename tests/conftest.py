"""A real Redis, and the whole service over it: in this process, and as processes of its own."""

import pytest
from hypothesis import settings
from redis.asyncio import Redis

from service.store.embedded import EmbeddedServer
from tests.live import Service, Table, in_process

# A busy machine is slow now and then; no test is about time.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture(scope="session")
def anyio_backend():
    """One event loop for all tests: clients of Redis and HTTP live on it."""
    return "asyncio"


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory):
    with EmbeddedServer(tmp_path_factory.mktemp("redis"), appendfsync="no", debug_command=True) as server:
        yield server.url


@pytest.fixture(scope="session")
async def redis(redis_url, anyio_backend):
    async with Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture(scope="session")
async def client(redis_url, anyio_backend):
    async with in_process(redis_url) as client:
        yield client


@pytest.fixture
async def table(client):
    """A table with two characters whose tiers are 3 points."""
    return await Table.open(client, characters=["Zoé", "Max"], settings={"tier_size": 3})


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    """A service of four workers, shared by the tests of an xdist worker."""
    service = Service(tmp_path_factory.mktemp("service"), workers=4)
    try:
        yield service.start()
    finally:
        service.kill()
