"""A pytest plugin for tests that run every night, and not in each run of the suite.

``@pytest.mark.nightly("what the suite keeps instead")`` marks a test. ``stays=("id", …)`` names the cases of a
parametrised test that stay in the suite. ``pytest --nightly`` runs the others, ``pytest --campaign`` runs all tests,
and ``pytest file.py::test`` runs the test that it names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from _pytest.terminal import TerminalReporter

MARKER: Final = "nightly"
_LEFT_OUT: Final = "nightly_tests_left_out"
"""The key under which a worker of pytest-xdist reports its number of tests that were left out."""


class NightlyTests:
    """Leaves the marked tests out of a run, and counts them, in the workers too."""

    def __init__(self) -> None:
        self.left_out = 0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out the marked tests that the command does not name; with ``--nightly``, leave out all others."""
        only = config.getoption("--nightly")
        if only or not config.getoption("--campaign"):
            named = _named(config)
            left_out = [item for item in items if is_nightly(item) != only and not _is_named(item, named)]
            if left_out:
                config.hook.pytest_deselected(items=left_out)
                gone = set(left_out)
                items[:] = [item for item in items if item not in gone]
            self.left_out = 0 if only else len(left_out)
        if hasattr(config, "workeroutput"):
            config.workeroutput[_LEFT_OUT] = self.left_out

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take the number of a worker: each worker collects the same tests."""
        self.left_out = max(self.left_out, getattr(node, "workeroutput", {}).get(_LEFT_OUT, 0))

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        """Say how many tests were left out, and which commands run them."""
        if self.left_out:
            tests = "1 test runs" if self.left_out == 1 else f"{self.left_out} tests run"
            terminalreporter.write_line(
                f"{tests} only at night and did not run: make campaigns ONLY=nightly, or pytest --nightly"
            )


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("topicwarden")
    group.addoption("--nightly", action="store_true", help="run only the tests that other runs leave to the night")
    group.addoption("--campaign", action="store_true", help="run all tests, those of campaigns at full length")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "nightly(reason, stays=()): runs only with --nightly or --campaign, or by its name; the reason says what the "
        "suite keeps instead, and stays has the ids of the cases that the suite keeps",
    )
    config.pluginmanager.register(NightlyTests(), "nightly tests")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse a mark without a reason, and one that keeps a case which does not exist.

    :raises pytest.UsageError: with the name of the test
    """
    cases: dict[tuple[Path, str], set[str]] = defaultdict(set)
    kept: dict[tuple[Path, str], set[str]] = defaultdict(set)
    for item in items:
        test = item.path, item.nodeid.partition("[")[0]
        cases[test].add(_case(item))
        for mark in item.iter_markers(MARKER):
            if not (mark.args and isinstance(mark.args[0], str) and mark.args[0].strip()):
                raise pytest.UsageError(f"{item.nodeid} is marked nightly without a reason")
            kept[test].update(mark.kwargs.get("stays", ()))
    if _named(config):
        return  # other cases of a test may not have been collected
    for test, stays in kept.items():
        if stays - cases[test]:
            raise pytest.UsageError(f"{test[1]} keeps cases that do not exist: {sorted(stays - cases[test])}")


def is_nightly(item: pytest.Item) -> bool:
    """Return whether the test is marked, and not one of the cases that stay in the suite."""
    return any(_case(item) not in mark.kwargs.get("stays", ()) for mark in item.iter_markers(MARKER))


def _case(item: pytest.Item) -> str:
    return item.callspec.id if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ""


def _named(config: pytest.Config) -> Sequence[tuple[Path, str]]:
    """Return the tests that the command names, each as its file and the rest of its id."""
    split = (argument.partition("::") for argument in config.args if "::" in argument)
    return [((config.invocation_params.dir / file).resolve(), name) for file, _, name in split]


def _is_named(item: pytest.Item, named: Sequence[tuple[Path, str]]) -> bool:
    own = item.nodeid.partition("::")[2]
    return any(
        item.path.resolve() == file and (own == name or own.startswith((f"{name}[", f"{name}::")))
        for file, name in named
    )
