"""Projects of real files, good and bad: adding a case is adding a folder with its ``expected.txt``.

A case without ``stacks/`` has the stacks dev and prod. The day is always the same.
"""

from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path

import pytest

from tests.unit.specs.lines import STACKS
from topicwarden.model.project import Project
from topicwarden.policies.check_specs import check

HERE = Path(__file__).parent
TODAY = date(2026, 6, 1)


def _cases(kind: str) -> list[Path]:
    return sorted(path for path in (HERE / kind).iterdir() if path.is_dir())


def checked_lines(case: Path, folder: Path) -> list[str]:
    """Every problem of the case, a line each, and how many are waived where some are."""
    tree = shutil.copytree(case, folder / case.name)
    if not (tree / "stacks").is_dir():
        (tree / "stacks").mkdir()
        for stack in STACKS:
            (tree / "stacks" / f"Pulumi.{stack}.yaml").touch()
    project = Project(tree)
    checked = check(project, project.stack_names(), TODAY)
    return [*map(str, checked.problems), *([f"{checked.waived} waived"] if checked.waived else [])]


@pytest.mark.parametrize("case", _cases("bad"), ids=lambda case: case.name)
def test_bad_project_has_these_problems(case: Path, tmp_path: Path) -> None:
    assert checked_lines(case, tmp_path) == (case / "expected.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("case", _cases("good"), ids=lambda case: case.name)
def test_good_project_has_none(case: Path, tmp_path: Path) -> None:
    assert [line for line in checked_lines(case, tmp_path) if not line.endswith(" waived")] == []
