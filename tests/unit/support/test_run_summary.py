"""Test what a run of the suite says at its end, with runs of pytest on small folders of tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

FLAKY = """
from pathlib import Path

import pytest


@pytest.mark.flaky(reruns=1)
def test_repeated():
    marker = Path(__file__).with_name("ran")
    first = not marker.exists()
    marker.touch()
    assert not first, "the broker was busy"


def test_steady():
    pass
"""
ONCE_ONLY = """
import pytest

runs = []


@pytest.fixture(scope="session")
def cluster():
    yield set()
    runs.append("ended")


@pytest.mark.flaky(reruns=2)
def test_creates(cluster):
    runs.append("ran")
    assert "topic" not in cluster, "the topic exists"
    cluster.add("topic")
    assert len(runs) > 1, "the broker was busy"


def test_next(cluster):
    assert runs == ["ran", "ran", "ended", "ran"]
    assert "topic" in cluster
"""
MISSING = """
from tests.support.browser import BROWSER_REMEDY
from tests.support.conformance_data import suite
from tests.support.run_summary import skip_missing


def test_first():
    suite("unknown")


def test_second():
    suite("unknown")


def test_page():
    skip_missing("browser", f"no Chromium: {BROWSER_REMEDY}")
"""


def run(folder: Path, content: str, *options: str, path: str = "test_it.py", **variables: str) -> tuple[int, str]:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(content)
    (folder / "pytest.ini").write_text("[pytest]\n")
    plugins = ("tests.support.run_summary", "xdist.plugin", "pytest_rerunfailures", "tests.support.repetition")
    own = [*(part for name in plugins for part in ("-p", name)), "--rootdir", folder, "-c", folder / "pytest.ini"]
    unset = ("TOPICWARDEN_REQUIRED", "REPOSITORY_TESTS", "PYTEST_ADDOPTS")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *map(str, own), *options, str(folder)],
        cwd=REPOSITORY,
        env=environment | {"PYTHONPATH": str(REPOSITORY), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["one process", "a worker"])
@pytest.mark.parametrize(("options", "code"), [((), 0), (("--fail-on-flaky",), 7)])
def test_a_test_that_passed_only_when_repeated_is_listed_with_its_first_failure(
    tmp_path: Path, options: tuple[str, ...], code: int, workers: tuple[str, ...]
) -> None:
    returned, output = run(tmp_path, FLAKY, *options, *workers)
    _, found, listed = output.partition("passed only when repeated")
    assert (returned, bool(found)) == (code, True), output
    assert re.findall(r"^(\S+test_it.py::\S+|test_it.py::\S+): (.*)$", listed, re.MULTILINE) == [
        ("test_it.py::test_repeated", "AssertionError: the broker was busy")
    ]


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["one process", "a worker"])
def test_the_last_repetition_uses_new_fixtures(tmp_path: Path, workers: tuple[str, ...]) -> None:
    returned, output = run(tmp_path, ONCE_ONLY, *workers)
    assert (returned, "2 passed, 2 rerun in" in output) == (0, True), output


def test_a_run_without_repeated_tests_lists_none(tmp_path: Path) -> None:
    returned, output = run(tmp_path, FLAKY, "--fail-on-flaky", "-k", "steady")
    assert (returned, "passed only when repeated" in output) == (0, False), output


def test_tests_without_their_data_are_skipped_and_counted_with_the_remedy(tmp_path: Path) -> None:
    returned, output = run(tmp_path, MISSING)
    assert returned == 0, output
    assert "3 skipped" in output
    assert "2 tests were skipped without their conformance data: run tests/fetch-conformance\n" in output
    assert "1 test was skipped without a browser: run tests/install-browser, or set CHROMIUM to its path\n" in output


def test_a_required_part_that_is_missing_is_a_failure(tmp_path: Path) -> None:
    returned, output = run(tmp_path, MISSING, TOPICWARDEN_REQUIRED="browser unknown")
    assert returned == 1, output
    assert "3 failed" in output
    assert "the conformance suite unknown is missing" in output


ONE = "def test_one(): pass\n"


@pytest.mark.parametrize(("folder", "result"), [("workflows", "1 skipped"), ("report", "1 passed")])
def test_tests_of_the_repository_itself_are_skipped_by_name(tmp_path: Path, folder: str, result: str) -> None:
    _, output = run(tmp_path, ONE, "-rs", path=f"tests/system/{folder}/test_it.py", REPOSITORY_TESTS="no")
    assert f"= {result} in " in output
    assert ("a test of the repository itself: REPOSITORY_TESTS=no" in output) == ("skipped" in result)
