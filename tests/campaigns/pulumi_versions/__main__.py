"""Run the tests of the engine with the newest supported Pulumi: ``python -m tests.campaigns.pulumi_versions``.

`make test` runs them with the oldest one. The first run builds the newest one, which takes 5 minutes on two cores.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from typing import Final

from tests.campaigns.pulumi_versions import newest
from tests.conftest import REPOSITORY

_STATES: Final = "tests/campaigns/pulumi_versions"
_TESTS: Final = ("tests/engine", "tests/campaigns/subjects/test_kills.py")


def main() -> int:
    """Build the newest Pulumi, and run the tests. Return the first exit code that is not 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10, help="how many deploys of each kind are killed")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    newest.build(lambda line: print(line, file=sys.stderr, flush=True))
    kills = ["tests.campaigns.deploys", "--kills", str(arguments.kills), "--seed", str(arguments.seed)]
    variables = {**os.environ, "TOPICWARDEN_CACHE": str(newest.CACHE)}
    pytest = [sys.executable, "-m", "pytest", "--campaign", "--fail-on-flaky"]
    runs = [
        ([*pytest, _STATES], dict(os.environ)),
        ([*pytest, *_TESTS], variables),
        ([sys.executable, "-m", *kills], variables),
    ]
    codes = [subprocess.run(command, cwd=REPOSITORY, env=run, check=False).returncode for command, run in runs]
    return next((code for code in codes if code), 0)


if __name__ == "__main__":
    sys.exit(main())
