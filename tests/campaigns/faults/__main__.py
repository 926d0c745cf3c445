"""Provoke faults while commands run: `python -m tests.campaigns.faults --rounds 3 --seed 7 --faults broker network`."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from pathlib import Path

from tests.campaigns.faults.campaign import FAULTS, campaign, freeze_while_connecting, table
from tests.campaigns.faults.cluster import faulty_cluster
from tests.campaigns.faults.commands import COMMANDS, works


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1, help="how often each fault hits each command")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", nargs="*", default=[""], help="only faults whose name contains one of these")
    parser.add_argument(
        "--tenths", type=int, default=0, help="instead: freeze a broker at each tenth of a second of the connection"
    )
    parser.add_argument("--commands", nargs="*", default=list(COMMANDS), choices=list(COMMANDS))
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    faults = [fault for fault in FAULTS if any(part in fault for part in arguments.faults)]
    with tempfile.TemporaryDirectory() as folder, faulty_cluster(Path(folder)) as cluster:
        if not cluster.can_fill_disk and "disk: full" in faults:
            faults.remove("disk: full")
            print("disk: full is left out, because only root can mount a file system", file=sys.stderr)
        prepared = works(cluster, arguments.commands)
        if arguments.tenths:
            results = freeze_while_connecting(cluster, prepared, arguments.tenths, arguments.seed)
        else:
            results = campaign(cluster, prepared, faults, arguments.rounds, arguments.seed)
    print(table(results))
    bad = [result for result in results if result.trouble]
    for result in bad:
        print(f"\n{result.fault}, {result.command}, after {result.after_s:.1f} s: {'; '.join(result.trouble)}")
    raise SystemExit(bool(bad))


if __name__ == "__main__":
    main()
