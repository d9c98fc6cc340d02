"""Does chaos see what it is for? Each fault is written into a copy of the service, whose trials must then be red.

`python -m tests.chaos.seeded`: about two minutes. The tree itself is not touched.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.live import ROOT


class Seed(NamedTuple):
    name: str
    file: str
    was: str
    fault: str
    trial: str


SEEDS = [
    Seed(
        "a commit without its version check",
        "service/store/commit.lua",
        "if (known[1] or '0') ~= ARGV[2] or (known[5] or '') ~= ARGV[3] or now < tonumber(ARGV[5]) then",
        "if now < tonumber(ARGV[5]) then",
        "alone/0",
    ),
    Seed(
        "a reply that is not kept",
        "service/store/commit.lua",
        "end\nredis.call('SET', KEYS[3], ARGV[8], 'PX', ARGV[9])",
        "end",
        "line/0",
    ),
    Seed(
        "a reply that is kept and not looked for",
        "service/store/commit.lua",
        "if reply then",
        "if false then",
        "line/0",
    ),
    Seed(
        "an event that is lost",
        "service/store/commit.lua",
        "for i = 0, events - 1 do",
        "for i = 0, version % 7 == 0 and -1 or events - 1 do",
        "line/7",
    ),
    Seed(
        "a change that is lost, not its event",
        "service/store/commit.lua",
        "for i = 1, sets do\n  redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1])",
        "for i = 1, sets do\n  if version % 7 ~= 0 then redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1]) end",
        "line/7",
    ),
    Seed(
        "followers who are not told of every fifth event",
        "service/store/live.py",
        "if entry.number > channel.last:",
        "if entry.number > channel.last and entry.number % 5:",
        "line/7",
    ),
    Seed(
        "a 503 that does not say when to come back",
        "service/api/failures.py",
        'Refusal(code, headers={"Retry-After": "1"})',
        "Refusal(code)",
        "line/4",
    ),
    Seed(
        "a refusal of Redis that nobody expects",
        "service/store/faults.py",
        "FAULTS = (RedisError, OSError, TimeoutError, TypeError)",
        "FAULTS = (OSError, TimeoutError, TypeError)",
        "line/4",
    ),
]


def red(seed: Seed) -> str:
    """What the trial says; empty where it is green."""
    with tempfile.TemporaryDirectory(prefix="seeded-") as folder:
        for part in ("service", "tests/chaos"):
            shutil.copytree(ROOT / part, Path(folder) / part, ignore=shutil.ignore_patterns("__pycache__"))
        for part in ("live.py", "servers.py"):
            shutil.copy(ROOT / "tests" / part, Path(folder) / "tests")
        file = Path(folder) / seed.file
        file.write_text(file.read_text().replace(seed.was, seed.fault))
        told = {**os.environ, "PYTHONPATH": folder}
        command = [sys.executable, "-m", "tests.chaos", seed.trial]
        ran = subprocess.run(command, cwd=folder, env=told, capture_output=True, text=True, timeout=300, check=False)
        found = [line for line in ran.stdout.splitlines() if "RED: " in line]
        return found[0].partition("RED: ")[2][:120] if found else ran.stderr[-300:] if ran.returncode else ""


def main() -> int:
    green = 0
    for seed in SEEDS:
        said = red(seed)
        green += not said
        print(f"{seed.name:<50}{'red: ' + said if said else 'GREEN: it was not seen'}", flush=True)
    return green


if __name__ == "__main__":
    sys.exit(main())
