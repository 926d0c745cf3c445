"""Compare the model of Kafka's authorizer with real brokers: ``python -m tests.campaigns.authorizer``."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.campaigns.authorizer.brokers import authorizing_broker
from tests.campaigns.authorizer.runner import Tally, compare
from tests.campaigns.versions.clusters import VERSIONS
from topicwarden.toolchain.prerequisites import require_java

_CLIENTS = 8


def main() -> int:
    """Run the requested comparisons; return 1 if any decision differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.authorizer", description=__doc__)
    parser.add_argument("--draws", type=int, default=20, help="random sets of ACLs for each broker and setting")
    parser.add_argument("--seed", default=str(int(time.time())), help="everything is drawn from it; default: the time")
    parser.add_argument("--only", default="", help="a part of the broker's version, such as 4.4 or ZooKeeper")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    print(f"seed {arguments.seed}", flush=True)
    java, total = require_java(), Tally()
    for version in VERSIONS:
        if arguments.only not in str(version):
            continue
        for open_without_acl in (False, True):
            tally, begun = Tally(), time.monotonic()
            with (
                tempfile.TemporaryDirectory() as folder,
                authorizing_broker(version, java, Path(folder), open_without_acl=open_without_acl) as broker,
            ):
                compare(broker, arguments.seed, arguments.draws, _CLIENTS, tally)
            print(
                f"{broker.name}: {tally.decisions:,} decisions, {tally.allowed:,} of them allowed, "
                f"{tally.rules:,} logged rules, {len(tally.differences)} differences, "
                f"{time.monotonic() - begun:.0f} s",
                flush=True,
            )
            for difference in tally.differences[:5]:
                print(f"  {difference}", flush=True)
            total.decisions += tally.decisions
            total.rules += tally.rules
            total.differences += tally.differences
    print(f"{total.decisions:,} decisions and {total.rules:,} logged rules, {len(total.differences)} differences")
    return 1 if total.differences else 0


if __name__ == "__main__":
    sys.exit(main())
