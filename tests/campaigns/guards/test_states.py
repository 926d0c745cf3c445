"""Run a small part of the random test of drawn states; ``python -m tests.campaigns.guards.states`` runs more.

``STATES_PROJECTS`` and ``STATES_SEED`` select other projects.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.campaigns.guards.states import Tally, run
from topicwarden.toolchain import Toolchain

SEED = os.environ.get("STATES_SEED", "20261127")
PROJECTS = int(os.environ.get("STATES_PROJECTS", "1"))


def test_nothing_is_gone_or_changed_that_neither_the_last_deploy_nor_a_file_allows(
    tools: Toolchain, tmp_path: Path
) -> None:
    print(f"STATES_SEED={SEED} STATES_PROJECTS={PROJECTS}")
    tally = Tally()
    run(tmp_path, SEED, range(PROJECTS), 4, tally)
    print("\n".join(tally.lines()))
    assert tally.violations == []
    assert tally.rounds == 4 * PROJECTS
