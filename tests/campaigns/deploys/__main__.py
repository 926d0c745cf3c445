"""Kill deploys at random moments, and repeat them: ``python -m tests.campaigns.deploys --kills 50``."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.support.killed_deploys import (
    CHANGES,
    PROCESSES,
    KilledDeploy,
    kill_one_deploy,
    killable_cluster,
    killable_stack,
)


def campaign(folder: Path, kills: int, seed: int) -> Mapping[str, list[KilledDeploy]]:
    """Kill this many deploys of each change."""
    chosen = random.Random(seed)
    results: dict[str, list[KilledDeploy]] = {change: [] for change in CHANGES}
    for number in range(kills):
        for change in CHANGES:
            stack = killable_stack(folder, f"k{number}{change}")
            process = chosen.choice(sorted(PROCESSES))
            result = kill_one_deploy(stack, change, process, chosen.uniform(0.5, 3.0))
            results[change].append(result)
            print(result, file=sys.stderr, flush=True)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, killable_cluster(Path(folder)) as cluster:
        results = campaign(cluster, arguments.kills, arguments.seed)
    for change, kills in results.items():
        during = [kill for kill in kills if kill.killed]
        bad = [kill for kill in kills if not kill.converged]
        print(f"{change}: {len(kills)} deploys, {len(during)} killed while they ran, {len(bad)} did not converge")
    raise SystemExit(any(not kill.converged for kills in results.values() for kill in kills))


if __name__ == "__main__":
    main()
