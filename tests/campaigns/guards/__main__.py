"""Run random changes on real brokers and report unpredicted losses: ``python -m tests.campaigns.guards``."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from confluent_kafka import KafkaException
from kafka.errors import KafkaError

from tests.campaigns.guards.cluster import HurriedCluster, hurried_cluster
from tests.campaigns.guards.draw import TOPICS, Chance
from tests.campaigns.guards.runner import Run, Tally, Violation
from tests.campaigns.guards.scenario import Scenario
from tests.campaigns.guards.shrink import shrink
from topicwarden.model.problem import Refusal

_TROUBLE = (OSError, AssertionError, KafkaError, KafkaException, subprocess.TimeoutExpired, Refusal)
"""Errors that end only one scenario. They are counted, and the run fails."""


def main() -> int:
    """Run the requested sequences; return 1 if any sequence broke the invariant."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.guards", description=__doc__)
    parser.add_argument("--sequences", type=int, default=300, help=f"how many; a project has {TOPICS}")
    parser.add_argument("--seed", type=int, default=None, help="everything is drawn from it; default: the time")
    parser.add_argument("--first", type=int, default=0, help="the first project's number")
    parser.add_argument("--shrink", type=int, default=0, help="runs to cut each new kind of violation down with")
    parser.add_argument("--show", action="store_true", help="print each scenario")
    arguments = parser.parse_args()
    seed = int(time.time()) if arguments.seed is None else arguments.seed
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    print(f"seed {seed}", flush=True)
    tally = Tally()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, hurried_cluster(Path(folder)) as cluster:
        print(f"brokers started after {time.monotonic() - begun:.0f} s", flush=True)
        for number in range(arguments.first, arguments.first - (-arguments.sequences // TOPICS)):
            scenario = Chance(f"g{number}", f"{seed}/{number}").scenario()
            if arguments.show:
                print("\n".join(scenario.lines()), flush=True)
            before, seen = time.monotonic(), len(tally.violations)
            try:
                cluster.start_all()
                Run(cluster, scenario, Path(folder) / scenario.name, tally).run()
            except _TROUBLE as trouble:
                tally.interrupted.append(f"{scenario.name}: {type(trouble).__name__}: {trouble}")
                print(f"  interrupted: {trouble}", flush=True)
            took = time.monotonic() - before
            print(
                f"{tally.sequences} sequences; {scenario.name}: {len(scenario.steps)} steps, {took:.0f} s", flush=True
            )
            for violation in tally.violations[seen:]:
                print(f"  {violation}", flush=True)
            if arguments.shrink:
                _shrink(cluster, scenario, tally.violations, seen, arguments.shrink)
    print("\n".join(tally.lines()))
    print(f"{(time.monotonic() - begun) / max(1, tally.sequences):.1f} s a sequence")
    return 1 if tally.violations or tally.interrupted else 0


def _shrink(cluster: HurriedCluster, scenario: Scenario, violations: list[Violation], seen: int, attempts: int) -> None:
    """Print a smaller scenario for each kind of violation that earlier scenarios did not show."""
    kinds = {violation.fault.kind for violation in violations[:seen]}
    for violation in violations[seen:]:
        kind = violation.fault.kind
        if kind in kinds:
            continue
        kinds.add(kind)

        def fails(smaller: Scenario, kind: str = kind) -> bool:
            tally = Tally()
            with tempfile.TemporaryDirectory(dir=cluster.folder) as folder:
                Run(cluster, smaller, Path(folder), tally).run()
            return any(one.fault.kind == kind for one in tally.violations)

        print(f"  {kind}, cut down:", flush=True)
        for line in shrink(scenario, violation, fails, attempts).lines():
            print(f"    {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
