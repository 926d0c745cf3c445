"""Change access at random under active clients on a real broker: ``python -m tests.campaigns.access``."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.campaigns.access.sequences import Tally, run
from topicwarden.model.project import find_project
from topicwarden.toolchain import toolchain


def main() -> int:
    """Run the sequences, half of them where resources without ACLs are open; return 1 if one breaks the invariant."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.access", description=__doc__)
    parser.add_argument("--sequences", type=int, default=100)
    parser.add_argument("--seed", default="20261124", help="everything is drawn from it")
    arguments = parser.parse_args()
    tools, tally, began = toolchain(find_project()), Tally(), time.monotonic()
    for open_without_acl in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            run(
                tools,
                Path(folder),
                arguments.seed,
                range(arguments.sequences)[open_without_acl::2],
                tally,
                open_without_acl=open_without_acl,
            )
    print("\n".join(tally.lines()))
    print(f"seed {arguments.seed}, {time.monotonic() - began:.0f} s")
    return 1 if tally.violations else 0


if __name__ == "__main__":
    sys.exit(main())
