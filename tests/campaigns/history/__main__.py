"""Compare audits of new records with full audits in many random rounds: ``python -m tests.campaigns.history``."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.campaigns.history.rounds import BROKERS, FILES, OVERRIDES, Rounds
from tests.support.projects import own_cache, project_of
from tests.support.sandboxes import running
from topicwarden.audit.scan.spark_session import spark_session
from topicwarden.cli.sandbox import sandbox_of


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=200)
    arguments.add_argument("--seed", type=int, default=int(time.time()))
    requested = arguments.parse_args()
    print(f"seed {requested.seed}", flush=True)
    with tempfile.TemporaryDirectory() as name, own_cache(Path(name)) as folder:
        project = project_of(folder / "project", FILES)
        with running(sandbox_of(project), BROKERS, OVERRIDES) as sandbox, spark_session(project):
            rounds = Rounds(project, sandbox, str(folder / "history"), requested.seed)
            for number in range(requested.rounds):
                rounds.run()
                print(f"{number + 1} rounds, {rounds.tally.compared} compared", *rounds.tally.different, flush=True)
    print(rounds.tally)
    return 1 if rounds.tally.different else 0


if __name__ == "__main__":
    sys.exit(main())
