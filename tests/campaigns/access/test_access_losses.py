"""Run a few of the random changes to access; ``python -m tests.campaigns.access`` runs more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.campaigns.access.sequences import Tally, run
from topicwarden.toolchain import Toolchain

SEED, SEQUENCES = "20261124", 1


@pytest.mark.nightly("The suite keeps brokers that deny by default.", stays=("False",))
@pytest.mark.parametrize("open_without_acl", [False, True])
def test_nobody_loses_access_that_the_plan_did_not_name(
    tools: Toolchain, tmp_path: Path, *, open_without_acl: bool
) -> None:
    tally = Tally()
    run(tools, tmp_path, SEED, range(SEQUENCES), tally, open_without_acl=open_without_acl)
    print("\n".join(tally.lines()))
    assert tally.violations == []
    assert tally.losses + tally.gains > 0
