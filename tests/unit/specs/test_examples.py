"""Trees of real files, good and bad: adding a case is adding a folder with its ``expected.txt``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.specs.lines import problem_lines, setting_lines

HERE = Path(__file__).parent


def _cases(kind: str) -> list[Path]:
    return sorted(path for path in (HERE / kind).iterdir() if path.is_dir())


def _expected(case: Path) -> list[str]:
    return (case / "expected.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("case", _cases("bad"), ids=lambda case: case.name)
def test_bad_tree_has_these_problems(case: Path) -> None:
    assert problem_lines(case) == _expected(case)


@pytest.mark.parametrize("case", _cases("good"), ids=lambda case: case.name)
def test_good_tree_declares_these_settings(case: Path) -> None:
    assert problem_lines(case) == []
    assert list(setting_lines(case)) == _expected(case)
