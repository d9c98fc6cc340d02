"""Copies the service's own store while it runs: `python deploy/backup.py DATA_DIR BACKUP`; BACKUP is a new folder.

The copy is a data folder: to restore it, put it where DATA_DIR points, with no service running on it, and start one.
A service that has stopped needs no script: copy its whole folder.
"""

import fcntl
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from redis import Redis, RedisError

REWRITES = "auto-aof-rewrite-percentage"
USUAL = "100"
POLL_S = 0.05
ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


@contextmanager
def alone(data_dir: Path) -> Iterator[None]:
    """Raises BlockingIOError where another backup of this store runs. The lock goes with the process, however that ends."""
    folder = os.open(data_dir, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(folder)


@contextmanager
def no_rewrite(redis: Redis) -> Iterator[None]:
    """The log's files are then only appended to, and none is replaced while it is copied."""
    before = str(redis.config_get(REWRITES)[REWRITES])
    try:
        redis.config_set(REWRITES, 0)
        while any(redis.info("persistence")[f"aof_rewrite_{state}"] for state in ("in_progress", "scheduled")):
            time.sleep(POLL_S)
        yield
    finally:
        on_signals(signal.SIG_IGN)
        redis.config_set(REWRITES, USUAL if before in ("", "0") else before)  # 0 is what a killed backup has left


@contextmanager
def unfinished(backup: Path) -> Iterator[Path]:
    folder = backup.with_name(f"{backup.name}.unfinished")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def back_up(data_dir: Path, backup: Path) -> None:
    """Raises OSError, RedisError. The backup is there when it is complete, or not at all."""
    with alone(data_dir), unfinished(backup) as copy:
        with Redis(unix_socket_path=str(data_dir / "socket" / "redis.sock")) as redis, no_rewrite(redis):
            shutil.copytree(data_dir / "appendonlydir", copy / "appendonlydir")
        shutil.copy2(data_dir / "server-version", copy)
        copy.rename(backup)


def on_signals(action: Callable[[int, object], NoReturn] | signal.Handlers) -> None:
    for each in ENDING:
        signal.signal(each, action)


def give_up(number: int, _: object) -> NoReturn:
    on_signals(signal.SIG_IGN)
    sys.exit(f"no backup: ended by {signal.Signals(number).name}")


def main(data_dir: Path, backup: Path) -> None:
    on_signals(give_up)
    try:
        back_up(data_dir, backup)
    except BlockingIOError:
        sys.exit("no backup: another one of this store runs")
    except (OSError, RedisError) as error:
        sys.exit(f"no backup: {error}")


if __name__ == "__main__":
    if len(sys.argv) != 3 or Path(sys.argv[2]).exists():
        sys.exit("usage: python deploy/backup.py DATA_DIR BACKUP, where BACKUP is not there yet")
    main(Path(sys.argv[1]), Path(sys.argv[2]))
