"""Gives a table a new game master's token: `REDIS_URL=… PYTHONPATH=. python deploy/gm_token.py SESSION`.

For the operator, when a group has lost its own. Lost tokens cannot be read back: the store has only their digests. Make
sure who asks; whoever holds the token has the table. REDIS_URL is the service's; of a store of its own it is
unix://DATA_DIR/socket/redis.sock, DATA_DIR from the root.
"""

import asyncio
import os
import secrets
import sys
import time

import msgspec

from service.api.sessions import new_secret
from service.settings import WrongSetting, read, without_password
from service.store import keys
from service.store.connection import WrongAddress, check, connect
from service.store.faults import FAULTS
from service.store.steps import token_digest
from service.table.audience import Role
from service.table.records import Token


async def minted(redis_url: str, session: str) -> str | None:
    """None where there is no such session."""
    redis = connect(redis_url)
    try:
        if not await redis.exists(keys.session(session)):
            return None
        secret = new_secret(Role.GM)
        token = Token(id=secrets.token_hex(6), role=Role.GM, label="from the operator", created_ms=int(time.time() * 1_000))
        await redis.hset(keys.session(session), f"k:{token_digest(secret)}", msgspec.json.encode(token))
    finally:
        await redis.aclose()
    return secret


def main(redis_url: str, session: str) -> None:
    try:
        check(read({"REDIS_URL": redis_url}).redis_url)
        print(asyncio.run(minted(redis_url, session)) or sys.exit("there is no such session"))
    except WrongSetting as error:
        sys.exit(str(error))
    except WrongAddress as error:
        sys.exit(f"REDIS_URL={without_password(redis_url)}: {error}")
    except FAULTS as error:
        sys.exit(f"no token: {error}")


if __name__ == "__main__":
    if len(sys.argv) != 2 or not os.environ.get("REDIS_URL"):
        sys.exit("usage: REDIS_URL=… python deploy/gm_token.py SESSION")
    main(os.environ["REDIS_URL"], sys.argv[1])
