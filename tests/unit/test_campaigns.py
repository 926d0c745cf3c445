"""Test that every campaign can be run: its row in the table, its commands, and its job in the nightly workflow."""

from __future__ import annotations

from importlib.util import find_spec

import yaml

from tests.campaigns.__main__ import CAMPAIGNS, ModuleRun, PytestRun
from tests.conftest import LONGEST, REPOSITORY

FOLDERS = {path.name for path in (REPOSITORY / "tests" / "campaigns").iterdir() if path.is_dir()}


def test_every_folder_of_a_campaign_is_in_the_table() -> None:
    folders = {name for name in FOLDERS if not name.startswith("__")}
    assert folders - CAMPAIGNS.keys() == set()
    assert CAMPAIGNS.keys() - folders == {"examples", "nightly", "records"}


def test_every_command_of_the_table_exists() -> None:
    for parts in CAMPAIGNS.values():
        for part in parts:
            if isinstance(part, PytestRun):
                assert [path for path in part.paths if not (REPOSITORY / path).exists()] == []
            if isinstance(part, ModuleRun):
                assert find_spec(f"{part.name}.__main__"), part.name


def test_the_nightly_workflow_runs_every_campaign() -> None:
    workflow = yaml.safe_load((REPOSITORY / ".github" / "workflows" / "campaigns.yml").read_text(encoding="utf-8"))
    (job,) = workflow["jobs"].values()
    assert job["strategy"]["matrix"]["campaign"] == sorted(CAMPAIGNS)
    assert any("make campaigns ONLY=" in step.get("run", "") for step in job["steps"])


def test_the_groups_that_workers_begin_with_exist() -> None:
    assert [group for group in LONGEST if not (REPOSITORY / "tests" / group).exists()] == []
