"""The least that a Litestar service can do: what ours is measured beside, on the same server."""

import os

from litestar import Litestar, post
from msgspec import Struct
from redis import Redis

from service.store.connection import connect


class Asked(Struct, forbid_unknown_fields=True):
    base: int = 0
    red: int = 0
    difficulty: str | None = None


class Answer(Struct):
    base: int


# As large as a draw's commit, and one write that has to reach the disk like the commit's.
SCRIPT = "return redis.call('SET', KEYS[3], ARGV[1], 'PX', 60000)"
KEYS = ["{floor}", "{floor}:log", "{floor}:reply"]
ARGUMENTS = ["x" * 400, "y" * 400, *["z" * 40] * 12]


@post("/empty", status_code=200, sync_to_thread=False)
def empty(data: Asked) -> Answer:
    return Answer(data.base)


def application() -> Litestar:
    url = os.environ["REDIS_URL"]
    redis = connect(url)
    with Redis.from_url(url) as starting:
        digest = str(starting.script_load(SCRIPT))

    @post("/one-call", status_code=200)
    async def one_call(data: Asked) -> Answer:
        await redis.evalsha(digest, len(KEYS), *KEYS, *ARGUMENTS)
        return Answer(data.base)

    return Litestar([empty, one_call], openapi_config=None, logging_config=None)
