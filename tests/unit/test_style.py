"""Test the wording rules that a program can check: ``python -m tests.style`` lists the violations."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import style

SAMPLE = '''"""What stands here is of the house."""

first_place = 1


def told(weight: int) -> str:
    # The consequence is foretold.
    return f"expected 1, seen {weight}"
'''


def test_the_package_and_the_tests_follow_the_rules() -> None:
    files = [*style.files(style.PACKAGE), *style.files(style.TESTS)]
    assert [problem for file in files for problem in style.problems(file)] == []
    assert style.duplicate_names(style.files(style.PACKAGE)) == []


@pytest.mark.parametrize(
    "part",
    ["'first_place'", "'told'", "'weight'", "'stands'", "'foretold'", "'expected 1, seen '", "not with 'What'"],
)
def test_each_kind_of_violation_is_found(tmp_path: Path, part: str) -> None:
    file = tmp_path / "sample.py"
    file.write_text(SAMPLE, encoding="utf-8")
    assert any(part in problem for problem in style.problems(file))


def test_the_terms_of_the_twins_are_in_the_glossary() -> None:
    glossary = (style.PACKAGE.parents[1] / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")
    rows = [line.split(" | ")[0].removeprefix("| ") for line in glossary.splitlines() if line.startswith("| ")]
    assert len(rows) <= 41
    assert len(set(rows)) == len(rows)
    for term in ("location", "severity", "allow", "permission", "predict", "offset range", "expected …, got …"):
        assert term in rows


def test_two_classes_with_one_name_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(style, "PACKAGE", tmp_path)
    files = [tmp_path / "first.py", tmp_path / "second.py"]
    for file in files:
        file.write_text("class Report:\n    pass\n", encoding="utf-8")
    assert style.duplicate_names(files) == ["the class Report has several meanings: first.py, second.py"]


def test_each_folder_with_a_fixture_of_its_package_is_a_package() -> None:
    """Without an ``__init__.py``, pytest ends such a fixture, and its cluster, only with the session."""
    folders = {file.parent for file in style.TESTS.rglob("conftest.py") if 'scope="package"' in file.read_text()}
    assert folders
    missing = {folder for folder in folders for each in (folder, folder.parent) if not (each / "__init__.py").exists()}
    assert missing == set()
