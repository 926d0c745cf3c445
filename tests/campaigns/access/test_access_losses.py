"""Run a few of the random changes to access; ``python -m tests.campaigns.access`` runs more.

``ACCESS_SEQUENCES`` and ``ACCESS_SEED`` select other sequences.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.campaigns.access.sequences import Tally, run
from topicwarden.toolchain import Toolchain

ACCESS_SEED = os.environ.get("ACCESS_SEED", "20261124")
ACCESS_SEQUENCES = int(os.environ.get("ACCESS_SEQUENCES", "1"))


@pytest.mark.parametrize("open_without_acl", [False, True])
def test_nobody_loses_access_that_the_plan_did_not_name(
    tools: Toolchain, tmp_path: Path, *, open_without_acl: bool
) -> None:
    print(f"ACCESS_SEED={ACCESS_SEED} ACCESS_SEQUENCES={ACCESS_SEQUENCES}")
    tally = Tally()
    run(tools, tmp_path, ACCESS_SEED, range(ACCESS_SEQUENCES), tally, open_without_acl=open_without_acl)
    print("\n".join(tally.lines()))
    assert tally.violations == []
    assert tally.losses + tally.gains > 0
