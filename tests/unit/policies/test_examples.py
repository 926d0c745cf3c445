"""Check the projects of ``cases/``, good and bad."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cases import Case, cases
from tests.support.policy_cases import CASES, TODAY, project_of
from topicwarden.policies.check_specs import check


def checked_lines(case: Case, folder: Path) -> list[str]:
    """Return every problem of the case, one per line, and the number of waived problems if there are any."""
    project = project_of(case, folder)
    checked = check(project, project.stack_names(), TODAY)
    return [*map(str, checked.problems), *([f"{checked.waived} waived"] if checked.waived else [])]


@pytest.mark.parametrize("case", cases(CASES, "bad"), ids=lambda case: case.name)
def test_bad_project_has_these_problems(case: Case, tmp_path: Path) -> None:
    assert checked_lines(case, tmp_path) == case.expected.splitlines()


@pytest.mark.parametrize("case", cases(CASES, "good"), ids=lambda case: case.name)
def test_good_project_has_none(case: Case, tmp_path: Path) -> None:
    assert [line for line in checked_lines(case, tmp_path) if not line.endswith(" waived")] == []
