"""Test that cases are what their YAML says, that none is lost, and that tests share helpers only outside of tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.conftest import REPOSITORY
from tests.support.cases import cases, find_case

TEXT = """\
bad:
  all:
    files:
      a/b.yaml: "\\
        x: 1\\r\\n"
      c.yaml: |
        é
    links: {d.yaml: c.yaml}
    encodings: {c.yaml: latin-1}
    expected: |
      one
"""


def test_a_case_is_written_byte_for_byte(tmp_path: Path) -> None:
    (tmp_path / "cases.yaml").write_text(TEXT, encoding="utf-8")
    case = find_case(tmp_path, "bad", "all")
    tree = case.write(tmp_path / "tree")
    assert (tree / "a/b.yaml").read_bytes() == b"x: 1\r\n"
    assert (tree / "d.yaml").read_bytes() == b"\xe9\n"
    assert (tree / "d.yaml").readlink() == Path("c.yaml")
    assert case.expected == "one\n"


def test_a_name_that_is_used_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("good:\n  a: {files: {}}\n  a: {files: {}}\n")
    with pytest.raises(yaml.YAMLError, match="written twice"):
        cases(tmp_path, "good")
    (tmp_path / "one.yaml").write_text("good:\n  a: {files: {}}\n")
    (tmp_path / "two.yaml").write_text("good:\n  a: {files: {}}\n")
    with pytest.raises(AssertionError, match="a second good case with the name a"):
        cases(tmp_path, "good")


def test_no_module_imports_from_a_test_module() -> None:
    """Helpers that several modules use are in tests/support, in a conftest or in a module of their room."""
    imports = re.compile(r"^\s*(?:from|import) tests\.[\w.]*\btest_", re.MULTILINE)
    files = (REPOSITORY / "tests").rglob("*.py")
    assert [path for path in files if imports.search(path.read_text(encoding="utf-8"))] == []
