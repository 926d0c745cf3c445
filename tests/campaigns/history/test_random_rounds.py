"""Run a few of the random rounds; ``python -m tests.campaigns.history`` runs more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.campaigns.history.rounds import BROKERS, FILES, OVERRIDES, Rounds
from tests.support.projects import own_cache, project_of
from tests.support.sandboxes import running
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.toolchain import Toolchain

SEED, MOST_ROUNDS = 28, 4


@pytest.fixture
def rounds(tools: Toolchain, tmp_path: Path) -> Iterator[Rounds]:
    with own_cache(tmp_path) as folder:
        project = project_of(folder / "project", FILES)
        with running(sandbox_of(project), BROKERS, OVERRIDES) as sandbox:
            yield Rounds(project, sandbox, str(folder / "history"), SEED)


@pytest.mark.usefixtures("spark")
def test_audits_of_new_records_report_what_full_audits_report(rounds: Rounds) -> None:
    rounds.run("append", expiring=True)
    while not rounds.tally.without_spark and rounds.tally.rounds < MOST_ROUNDS:  # the cleaner may need some time
        rounds.run("nothing", expiring=False)
    rounds.run("delete", "append", "elect", "kill broker", "recreate", "grow", expiring=True)
    print(rounds.tally)
    assert rounds.tally.different == []
    assert rounds.tally.without_spark > 0
