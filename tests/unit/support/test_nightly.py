"""Test which tests a run leaves to the night, what it says about them, and which rules the marks of the suite keep."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.campaigns.__main__ import CAMPAIGNS, PytestRun
from tests.conftest import REPOSITORY

TESTS = """
import pytest


def test_plain(): pass


@pytest.mark.nightly("test_plain stays")
def test_story(): pass


@pytest.mark.nightly("one of each kind stays", stays=("b",))
@pytest.mark.parametrize("kind", ["a", "b", "c"])
def test_matrix(kind): pass
"""
PLUGINS = ("-p", "tests.support.nightly", "-p", "xdist.plugin")
"""All that these runs need: each installed plugin would take a fifth of a second to load."""
PLAIN, STORY, MATRIX = "test_plain", "test_story", {each: f"test_matrix[{each}]" for each in "abc"}
OWN_CAMPAIGNS = ("tests/campaigns/official_provider", "tests/campaigns/pulumi_versions")
"""Folders whose marked tests need another build with Go, which only the campaigns of these names make."""


def run(folder: Path, content: str, *options: str, path: str = "") -> tuple[int, set[str], str]:
    """Run pytest on a file with ``content``; return the exit code, the tests that passed, and the last line."""
    (folder / "test_it.py").write_text(content)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", *PLUGINS, *options, f"test_it.py{path}"],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
        | {"PYTHONPATH": str(REPOSITORY), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    output = done.stdout + done.stderr
    passed = re.findall(r"test_it\.py::(\S+) PASSED|PASSED test_it\.py::(\S+)", output)
    return done.returncode, {one or other for one, other in passed}, output


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "workers"])
def test_marked_tests_are_left_out_and_counted_with_the_command_that_runs_them(
    tmp_path: Path, workers: tuple[str, ...]
) -> None:
    code, passed, output = run(tmp_path, TESTS, *workers)
    assert (code, passed) == (0, {PLAIN, MATRIX["b"]}), output
    line = "3 tests run only at night and did not run: make campaigns ONLY=nightly, or pytest --nightly\n"
    assert line in output


def test_the_option_runs_exactly_what_other_runs_leave_out(tmp_path: Path) -> None:
    code, passed, output = run(tmp_path, TESTS, "--nightly")
    assert (code, passed) == (0, {STORY, MATRIX["a"], MATRIX["c"]}), output
    assert "only at night" not in output


def test_a_campaign_runs_all_tests(tmp_path: Path) -> None:
    _, passed, output = run(tmp_path, TESTS, "--campaign")
    assert passed == {PLAIN, STORY, *MATRIX.values()}, output


@pytest.mark.parametrize(
    ("name", "expected"),
    [("test_story", {STORY}), ("test_matrix[c]", {MATRIX["c"]}), ("test_matrix", set(MATRIX.values()))],
)
def test_a_test_that_the_command_names_runs(tmp_path: Path, name: str, expected: set[str]) -> None:
    _, passed, output = run(tmp_path, TESTS, path=f"::{name}")
    assert passed == expected, output


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"test_plain stays"', "", "test_it.py::test_story is marked nightly without a reason"),
        ('("b",)', '("b", "d")', "test_it.py::test_matrix keeps cases that do not exist: ['d']"),
    ],
)
def test_a_mark_needs_a_reason_and_cases_that_exist(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in TESTS
    code, _, output = run(tmp_path, TESTS.replace(old, new))
    assert (code, message in output) == (pytest.ExitCode.USAGE_ERROR, True), output


def test_the_nightly_campaign_runs_every_marked_test_and_fails_on_flaky_ones() -> None:
    (campaign,) = CAMPAIGNS["nightly"]
    assert isinstance(campaign, PytestRun)
    command = campaign.command(1)
    assert command[-1] == "tests"
    assert {"--nightly", "--fail-on-flaky"} <= set(command)
    ignored = [part.removeprefix("--ignore=") for part in command if part.startswith("--ignore=")]
    assert sorted(ignored) == sorted(OWN_CAMPAIGNS)
    for folder in OWN_CAMPAIGNS:
        assert Path(folder).name in CAMPAIGNS


def test_every_mark_of_the_suite_has_a_reason() -> None:
    reasons = [reason for path in _test_files() for _, mark in _marks(path) for reason in _reason(mark)]
    assert len(reasons) > 10
    assert [reason for reason in reasons if len(reason.split()) < 4] == []


@pytest.mark.parametrize("tier", ["broker", "campaigns", "engine", "spark", "system"])
def test_every_folder_keeps_a_test_in_the_suite(tier: str) -> None:
    kept: dict[str, int] = {}
    for path in _test_files():
        folder = path.parent.relative_to(REPOSITORY).as_posix()
        if folder.startswith(f"tests/{tier}") and not folder.startswith(OWN_CAMPAIGNS):
            kept[folder] = kept.get(folder, 0) + len(_tests(path)) - len(_whole(path))
    assert kept
    assert [folder for folder, number in kept.items() if number < 1] == []


def _test_files() -> list[Path]:
    return sorted((REPOSITORY / "tests").rglob("test_*.py"))


def _tests(path: Path) -> Mapping[str, ast.FunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name[:5] == "test_"}


def _marks(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """Yield each mark of a file with the name of its test; the name of a mark of the whole file is empty."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            yield from (("", call) for call in _calls(node))
    for name, test in _tests(path).items():
        yield from ((name, call) for decorator in test.decorator_list for call in _calls(decorator))


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and ast.unparse(each.func) == "pytest.mark.nightly":
            yield each


def _reason(mark: ast.Call) -> Iterator[str]:
    yield str(ast.literal_eval(mark.args[0])) if mark.args else ""


def _whole(path: Path) -> set[str]:
    """Return the tests of a file that leave no case in the suite."""
    marks = list(_marks(path))
    if any(not name for name, _ in marks):
        return set(_tests(path))
    return {name for name, mark in marks if not any(keyword.arg == "stays" for keyword in mark.keywords)}
