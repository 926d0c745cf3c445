"""Audit random histories and planted faults on a real broker, and count wrong results.

Run it with ``python -m tests.soundness``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.soundness.broker import end_in_order, room
from tests.soundness.planting import plant
from tests.soundness.rounds import AT_ONCE, Stage, Tally, run
from tests.soundness.suspects import LEAST_PRECISION
from tests.soundness.tables import table, table_of_faults
from topicwarden.audit.scan.spark_session import spark_session


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m tests.soundness", description=__doc__)
    arguments.add_argument("--histories", type=int, default=300, help="how many random histories")
    arguments.add_argument("--faults", type=int, default=20, help="how many variants of each fault")
    arguments.add_argument("--seed", type=int, default=None, help="of all that is drawn; another one each time")
    arguments.add_argument("--first", type=int, default=0, help="the first history's number")
    requested = arguments.parse_args()
    seed = int(time.time()) if requested.seed is None else requested.seed
    end_in_order()
    print(f"seed {seed}", flush=True)
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder, room(Path(folder)) as ours, spark_session(ours.project) as spark:
        stage = Stage(ours, spark)
        numbers = range(requested.first, requested.first + requested.histories)
        for begin in numbers[::AT_ONCE]:
            begun = time.monotonic()
            run(stage, range(begin, min(begin + AT_ONCE, numbers.stop)), seed, tally)
            seconds = time.monotonic() - begun
            print(f"{tally.histories} histories, {len(tally.denied)} denied, {seconds:.0f} s", flush=True)
        found = plant(stage, requested.faults, seed, tally)
    print(table(tally))
    print(table_of_faults(found))
    precise = tally.outcomes.precision >= LEAST_PRECISION
    return 1 if tally.denied or tally.inexact or found.missed or found.hostile.trouble or not precise else 0


if __name__ == "__main__":
    sys.exit(main())
