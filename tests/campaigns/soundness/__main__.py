"""Audit random histories and planted faults on a real broker, and count wrong results.

Run it with ``python -m tests.campaigns.soundness``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.campaigns.soundness.broker import end_in_order, room
from tests.campaigns.soundness.planting import Found, plant
from tests.campaigns.soundness.rounds import AT_ONCE, LEAST_PRECISION, Stage, Tally, run
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.scan.spark_session import spark_session


def table(tally: Tally) -> str:
    return "\n".join(_lines(tally))


def table_of_faults(found: Found) -> str:
    """Return the table of faults: planted, found in time, and found at the first audit after planting."""
    lines = [f"{'fault':46}{'planted':>9}{'found':>7}{'at once':>9}"]
    for fault, planted in found.planted.items():
        lines.append(f"{fault:46}{planted:9}{found.found[fault]:7}{found.at_once[fault]:9}")
    lines.append(f"{'in all':46}{found.planted.total():9}{found.found.total():7}{found.at_once.total():9}")
    lines += [f"MISSED  {one}" for one in found.missed]
    lines.append(f"{'what must not stop an audit':58}{'planted':>9}{'survived':>10}")
    for kind, planted in found.hostile.planted.items():
        lines.append(f"{kind:58}{planted:9}{found.hostile.survived[kind]:10}")
    lines.append(f"{'in all':58}{found.hostile.planted.total():9}{found.hostile.survived.total():10}")
    return "\n".join([*lines, *(f"STOPPED {one}" for one in found.hostile.trouble)])


def _lines(tally: Tally) -> Iterator[str]:
    yield f"{tally.histories} histories, {tally.looks} audits"
    yield f"{'check':28}{'fail':>7}{'denied':>8}{'suspect':>9}{'→ fail':>8}{'→ pass':>8}"
    for check in CHECKS:
        wrong = sum(one.startswith(f"{check} on ") for one in tally.denied)
        numbers = (tally.fails[check], wrong, tally.suspects[check])
        became = tuple(tally.outcomes.counted[check, verdict] for verdict in ("fail", "pass"))
        if any((*numbers, *became)):
            yield f"{check:28}{numbers[0]:7}{numbers[1]:8}{numbers[2]:9}{became[0]:8}{became[1]:8}"
    yield f"{'in all':28}{tally.fails.total():7}{len(tally.denied):8}{tally.suspects.total():9}"
    yield (
        f"precision of suspects: {tally.outcomes.precision:.1%} of {tally.outcomes.judged} partitions "
        "were settled by the next audit"
    )
    for (check, why), number in sorted(tally.outcomes.reasons.items()):
        yield f"    {check} passed {number} times: {why}"
    yield from (f"OPEN    {one}" for one in tally.outcomes.unsettled)
    yield f"{tally.exact} partitions counted once more on the disk, {len(tally.inexact)} numbers not so"
    yield f"rules that compare records: {dict(tally.compared)}"
    yield from (f"MISSED  {one}" for one in tally.missed)
    yield from (f"DENIED  {one}" for one in tally.denied)
    yield from (f"INEXACT {one}" for one in tally.inexact)


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m tests.campaigns.soundness", description=__doc__)
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
    return (
        1
        if tally.denied or tally.inexact or tally.missed or found.missed or found.hostile.trouble or not precise
        else 0
    )


if __name__ == "__main__":
    sys.exit(main())
