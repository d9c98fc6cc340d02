"""`make chaos`: things go wrong under load, and then every promise is checked. `python -m tests.chaos [setting[/trial] …]`.

On a machine that is busy with other things, CHAOS_PATIENCE=5 allows five times as long for all that is bounded.
"""

import asyncio
import logging
import os
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from tests.chaos.faults import SETTINGS, Setting, Trial
from tests.chaos.ledger import Violation, promised
from tests.chaos.load import Load

BEFORE_S, AFTER_S = 1.0, 0.5
PATIENCE = float(os.environ.get("CHAOS_PATIENCE", "1"))
SLOWEST_S = 8.0
"""Every answer comes within so long, whatever is broken."""
HEAD = f"{'what goes wrong':<44}{'steps':>7}{'503':>7}{'broken':>8}{'away s':>8}{'back s':>8}{'slowest':>9}{'lost':>6}"


async def tried(trial: Trial, setting: Setting) -> None:
    """Raises Violation."""
    async with setting.service.client() as client, Load(client, may_refuse=trial.may_lose).running() as load:
        await load.back(0)
        await asyncio.sleep(BEFORE_S)
        hurt_s = time.monotonic()
        await trial.hurt(load.ledgers[0].table.id)
        healed_s, load.mended = time.monotonic(), True
        try:
            async with asyncio.timeout(PATIENCE * trial.back_within_s):
                await load.back(healed_s)
        except TimeoutError:
            raise Violation(f"not back within {PATIENCE * trial.back_within_s:g} s") from None
        await asyncio.sleep(AFTER_S)
    async with setting.service.client() as client:
        load.client = client
        for ledger in load.ledgers:
            ledger.table.client = client
        if trial.may_lose:
            await load.ask_again()
        lost = sum([await each.check(may_lose=trial.may_lose, hurt_s=hurt_s) for each in load.ledgers])
    tally = load.tally
    promised(not tally.wrong, f"answers that must not be: {tally.wrong[:3]} ({len(tally.wrong)})")
    promised(tally.slowest_s <= PATIENCE * SLOWEST_S, f"an answer took {tally.slowest_s:.1f} s")
    felt = tally.statuses[503] + tally.broken
    promised(felt or not trial.is_felt, "nothing was felt: the trial tries nothing")
    steps = sum(len(each.wishes) for each in load.ledgers)
    away_s, back_s = longest_gap_s(load, hurt_s), load.back_after_s(healed_s)
    print(
        f"{trial.name:<44}{steps:>7}{tally.statuses[503]:>7}{tally.broken:>8}{away_s:>8.1f}{back_s:>8.2f}"
        f"{tally.slowest_s:>9.1f}{lost:>6}",
        flush=True,
    )


def longest_gap_s(load: Load, since_s: float) -> float:
    """The longest time in which no step of a table was acknowledged, over all tables."""
    gaps = [0.0]
    for each in load.ledgers:
        times = [at for at in each.acknowledged_s if since_s - 1 < at < load.stopped_s]
        gaps += [later - earlier for earlier, later in pairwise(times)]
    return max(gaps)


async def main(names: list[str]) -> int:
    print(HEAD, flush=True)
    red = 0
    for name, _, only in (each.partition("/") for each in names or SETTINGS):
        with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
            async with SETTINGS[name](Path(folder)) as setting:
                for trial in setting.trials if not only else [setting.trials[int(only)]]:
                    try:
                        await tried(trial, setting)
                    except (Violation, TimeoutError) as violation:
                        red += 1
                        print(f"{trial.name:<44}RED: {violation!r}", flush=True)
    return red


if __name__ == "__main__":
    logging.getLogger("httpx").setLevel(logging.WARNING)
    started_s = time.monotonic()
    broken = asyncio.run(main(sys.argv[1:]))
    print(
        f"{'all promises kept' if not broken else f'{broken} trials broke a promise'}; {time.monotonic() - started_s:.0f} s"
    )
    sys.exit(bool(broken))
