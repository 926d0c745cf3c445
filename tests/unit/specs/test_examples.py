"""Check the cases of ``cases/``: bad trees with their problems, and good trees with the settings that they declare."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cases import Case, cases
from tests.unit.specs.lines import CASES, problem_lines, setting_lines


@pytest.mark.parametrize("case", cases(CASES, "bad"), ids=lambda case: case.name)
def test_bad_tree_has_these_problems(case: Case, tmp_path: Path) -> None:
    assert problem_lines(case.write(tmp_path)) == case.expected.splitlines()


@pytest.mark.parametrize("case", cases(CASES, "good"), ids=lambda case: case.name)
def test_good_tree_declares_these_settings(case: Case, tmp_path: Path) -> None:
    tree = case.write(tmp_path)
    assert problem_lines(tree) == []
    assert list(setting_lines(tree)) == case.expected.splitlines()
