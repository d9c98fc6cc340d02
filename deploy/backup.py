"""Copies the service's own store while it runs: `python deploy/backup.py DATA_DIR BACKUP`; BACKUP is a new folder.

The copy is a data folder: to restore it, put it where DATA_DIR points, with no service running on it, and start one.
A service that has stopped needs no script: copy its whole folder.
"""

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redis import Redis, RedisError

REWRITES = "auto-aof-rewrite-percentage"
POLL_S = 0.05


@contextmanager
def no_rewrite(redis: Redis) -> Iterator[None]:
    """The log's files are then only appended to, and none is replaced while it is copied."""
    before = redis.config_get(REWRITES)[REWRITES]
    redis.config_set(REWRITES, 0)
    try:
        while any(redis.info("persistence")[f"aof_rewrite_{state}"] for state in ("in_progress", "scheduled")):
            time.sleep(POLL_S)
        yield
    finally:
        redis.config_set(REWRITES, before or "100")


def back_up(data_dir: Path, backup: Path) -> None:
    """Raises OSError, RedisError. The backup is there when it is complete, or not at all."""
    unfinished = backup.with_name(f"{backup.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700, parents=True)
    with Redis(unix_socket_path=str(data_dir / "socket" / "redis.sock")) as redis, no_rewrite(redis):
        shutil.copytree(data_dir / "appendonlydir", unfinished / "appendonlydir")
    shutil.copy2(data_dir / "server-version", unfinished)
    unfinished.rename(backup)


if __name__ == "__main__":
    if len(sys.argv) != 3 or Path(sys.argv[2]).exists():
        sys.exit("usage: python deploy/backup.py DATA_DIR BACKUP, where BACKUP is not there yet")
    try:
        back_up(Path(sys.argv[1]), Path(sys.argv[2]))
    except (OSError, RedisError) as error:
        sys.exit(f"no backup: {error}")
