"""`python -m openapi.generate`: plays every operation's example, and writes the contract with the real answers."""

import asyncio
import logging
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from redis.asyncio import Redis

from openapi import refusals
from openapi.evening import Evening, NoChance, known_secrets
from service.api import contract
from service.app import create_app
from service.settings import Settings
from service.store.embedded import EmbeddedServer

CONTRACT = Path(__file__).parent / "openapi.json"
EXAMPLES = Path(contract.__file__).parent / "examples.json"


@asynccontextmanager
async def service(settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the service in this process, from its start to its shutdown."""
    app: Any = create_app(settings, NoChance())
    logging.getLogger("httpx").setLevel(logging.WARNING)
    ends: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    ends.put_nowait({"type": "lifespan.startup"})
    said: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    life = asyncio.create_task(app({"type": "lifespan", "asgi": {"version": "3.0"}}, ends.get, said.put))
    await said.get()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://emberdice") as client:
        yield client
    ends.put_nowait({"type": "lifespan.shutdown"})
    await life


async def _written(redis_url: str) -> dict[Path, bytes]:
    settings = Settings(access_log=False, redis_url=redis_url)
    async with service(settings) as client, Redis.from_url(redis_url) as redis:
        document = (await client.get("/openapi.json")).json()
        recorded = {"answers": await Evening(client, redis, document).played(), "problems": refusals.worded(document)}
    return {EXAMPLES: contract.printed(recorded), CONTRACT: contract.printed(contract.illustrated(document, recorded))}


def generated() -> dict[Path, bytes]:
    """The committed files, as they should be."""
    with tempfile.TemporaryDirectory() as folder, EmbeddedServer(Path(folder), appendfsync="no") as server, known_secrets():
        return asyncio.run(_written(server.url))


if __name__ == "__main__":
    for path, content in generated().items():
        path.write_bytes(content)
