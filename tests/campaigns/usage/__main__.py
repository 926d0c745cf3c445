"""Plant undeclared users, and run legitimate histories, on real brokers: ``python -m tests.campaigns.usage``."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.campaigns.usage.clients import streams_host
from tests.campaigns.usage.cluster import usage_cluster
from tests.campaigns.usage.histories import AT_ONCE, Tally, run_histories
from tests.campaigns.usage.planted import PLANTED, plant
from tests.campaigns.usage.traps import TRAPS, spring
from topicwarden.toolchain.prerequisites import require_java

_BROKERS = 3


def main() -> int:
    """Run what is requested; return 1 if a legitimate user was reported, or a planted one was not."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.usage", description=__doc__)
    parser.add_argument("--planted", type=int, default=20, help="undeclared users of each kind")
    parser.add_argument("--legitimate", dest="histories", type=int, default=100, help="random legitimate histories")
    parser.add_argument("--seed", default=str(int(time.time())), help="everything is drawn from it; default: the time")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    print(f"seed {arguments.seed}", flush=True)
    java, wrong = require_java(), 0
    with tempfile.TemporaryDirectory() as name, usage_cluster(java, Path(name), _BROKERS) as cluster:
        if arguments.planted:
            with streams_host(java, cluster.bootstrap, Path(name)) as streams:
                found = plant(cluster, streams, arguments.planted, arguments.seed, PLANTED)
            print(found.table(), flush=True)
            wrong += len(found.missed) + len(found.claimed)
        if arguments.histories:
            tally = Tally()
            for first in range(0, arguments.histories, AT_ONCE):
                begun = time.monotonic()
                numbers = range(first, min(first + AT_ONCE, arguments.histories))
                run_histories(cluster, numbers, arguments.seed, tally)
                print(f"{tally.histories} histories, {time.monotonic() - begun:.0f} s for the last", flush=True)
            print(tally.table(), flush=True)
            wrong += len(tally.wrong)
            for trap in TRAPS:
                for of, messages in spring(cluster, arguments.seed, (trap,)).items():
                    print(f"{of}: {len(messages)} false fail", *messages, sep="\n  WRONG ", flush=True)
                    wrong += len(messages)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
