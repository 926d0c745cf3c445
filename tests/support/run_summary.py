"""A pytest plugin: what a run may skip, and what it says at its end about skipped and repeated tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final, NoReturn

import pytest
from _pytest.terminal import TerminalReporter

REQUIRED: Final = "TOPICWARDEN_REQUIRED"
"""The variable with the names of parts, separated by spaces, without which tests fail instead of being skipped."""
REPOSITORY_TESTS: Final = "REPOSITORY_TESTS"
"""The variable whose value ``no`` skips the tests of the repository itself. CI runs them with one version of Python."""
CONFORMANCE_REMEDY: Final = "run tests/fetch-conformance"
BROWSER_REMEDY: Final = "run tests/install-browser, or set CHROMIUM to its path"
FLAKY: Final = 7
"""The exit code of ``--fail-on-flaky``, as in pytest-rerunfailures."""
_REMEDIES: Final = {CONFORMANCE_REMEDY: "without their conformance data", BROWSER_REMEDY: "without a browser"}
_OF_THE_REPOSITORY: Final = tuple(
    f"tests/{folder}/" for folder in ("unit/site", "system/image", "system/install", "system/workflows")
)


def skip_missing(name: str, reason: str) -> NoReturn:
    """Skip the test, whose part ``name`` is not installed. Fail if the part is required."""
    if name in os.environ.get(REQUIRED, "").split():
        pytest.fail(f"{reason} ({REQUIRED} has {name})", pytrace=False)
    pytest.skip(reason)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests of the repository itself where they run elsewhere."""
    if os.environ.get(REPOSITORY_TESTS) == "no":
        for item in items:
            if item.nodeid.startswith(_OF_THE_REPOSITORY):
                item.add_marker(pytest.mark.skip(reason=f"a test of the repository itself: {REPOSITORY_TESTS}=no"))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Make ``--fail-on-flaky`` work with workers, too: pytest-rerunfailures sees only the tests of its own process."""
    reporter: TerminalReporter | None = session.config.pluginmanager.get_plugin("terminalreporter")
    fails = session.config.getoption("fail_on_flaky", False) and session.exitstatus == pytest.ExitCode.OK
    if fails and reporter and any(repeated(reporter)):
        session.exitstatus = FLAKY


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """List the tests that passed only when they were repeated, and count those that lack a part."""
    flaky = dict(repeated(terminalreporter))
    if flaky:
        terminalreporter.section("passed only when repeated")
        for test, cause in flaky.items():
            terminalreporter.write_line(f"{test}: {cause}")
    for remedy, why in _REMEDIES.items():
        skipped = [report for report in terminalreporter.stats.get("skipped", ()) if remedy in str(report.longrepr)]
        if skipped:
            tests = "test was" if len(skipped) == 1 else "tests were"
            terminalreporter.write_line(f"{len(skipped)} {tests} skipped {why}: {remedy}")


def repeated(reporter: TerminalReporter) -> Iterator[tuple[str, str]]:
    """Yield each test that failed first and passed then, with the cause of its first failure."""
    passed = {report.nodeid for report in reporter.stats.get("passed", ())}
    first: dict[str, str] = {}
    for report in reporter.stats.get("rerun", ()):
        first.setdefault(report.nodeid, _cause(report))
    yield from ((test, cause) for test, cause in first.items() if test in passed)


def _cause(report: pytest.TestReport) -> str:
    """Return the first line of the error, and otherwise the last line of what the report says."""
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = (crash.message if crash else report.longreprtext).strip().splitlines() or ["no cause was reported"]
    return lines[0] if crash else lines[-1]
