"""Attacks a live service and says what it found: `python -m tests.attack [--quick] [address]`.

Without an address it starts a service of its own, with low limits, and reads its log. `--quick` leaves out what takes
half a minute. Attacking somebody else's service needs their leave; it opens some dozens of sessions there, which lapse.
"""

import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.attack import requests, tokens, weight  # noqa: F401  they register their attacks
from tests.attack.attacks import ATTACKS, Attack
from tests.attack.target import LOW_LIMITS, Target, own_service


@contextmanager
def target(address: str | None) -> Iterator[Target]:
    if address:
        with closing(Target(address.rstrip("/"))) as against:
            yield against
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        own_service(Path(folder)) as service,
        closing(Target(service.address, lambda: service.log, LOW_LIMITS)) as against,
    ):
        yield against


def found_by(each: Attack, against: Target) -> list[str]:
    """A fault of the attack itself counts as found: a service that hangs up in the middle is no good one."""
    try:
        return [*each.run(against)]
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]


def main(address: str | None, *, quick: bool) -> int:
    found = 0
    with target(address) as against:
        for each in ATTACKS:
            if quick and not each.quick:
                continue
            if each.own and against.log is None:
                print(f"left out   {each.what}: needs a service of our own")
                continue
            started_s = time.monotonic()
            findings = found_by(each, against)
            found += len(findings)
            print(
                f"{'FOUND' if findings else 'not found':<10} {each.what} ({time.monotonic() - started_s:.1f} s)", flush=True
            )
            for finding in findings:
                print(f"           - {finding}")
    print(f"{len(ATTACKS)} attacks, {found} findings")
    return 1 if found else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # its service goes with it
    told = sys.argv[1:]
    sys.exit(main(next((each for each in told if each != "--quick"), None), quick="--quick" in told))
