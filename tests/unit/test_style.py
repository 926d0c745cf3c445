"""Test the wording rules that a program can check: ``python -m tests.style`` lists the violations."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import style

SAMPLE = '''"""What stands here is of the house."""

held = 1


def told(one: int) -> int:
    # The record lies in the log.
    return one
'''


def test_the_package_follows_the_rules() -> None:
    files = sorted(style.PACKAGE.rglob("*.py"))
    assert [problem for file in files for problem in style.problems(file)] + style.duplicate_names(files) == []


@pytest.mark.parametrize("part", ["'held'", "'told'", "'lies'", "'stands'", "not with 'What'"])
def test_each_kind_of_breach_is_found(tmp_path: Path, part: str) -> None:
    file = tmp_path / "sample.py"
    file.write_text(SAMPLE, encoding="utf-8")
    assert any(part in problem for problem in style.problems(file))


def test_two_classes_of_one_name_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(style, "PACKAGE", tmp_path)
    files = [tmp_path / "first.py", tmp_path / "second.py"]
    for file in files:
        file.write_text("class Report:\n    pass\n", encoding="utf-8")
    assert style.duplicate_names(files) == ["the class Report has several meanings: first.py, second.py"]
