"""Test that an import of many topics prints a screen, counts the others, and prints all on request."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.importing.large_import import MANY
from topicwarden.cli.import_ import show
from topicwarden.extensions.interchange.import_files import ImportReport
from topicwarden.report import terminal_output
from topicwarden.report.terminal_output import VERBOSITY


def test_the_others_are_counted_by_rule_and_folder_or_by_reason(capsys: pytest.CaptureFixture[str]) -> None:
    show(MANY, Path(), dry_run=True)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 30 + 1 + 30 + 1 + 1  # the last one has the number of new topics
    assert "970 more: 870 left-out in a, 100 left-out in b; `topicwarden --verbose import` prints all" in lines
    assert "70 more: 70 it has a replication throttle; `topicwarden --verbose import` prints all" in lines


def test_verbose_prints_all(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VERBOSITY, "verbose", True)
    show(MANY, Path(), dry_run=True)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1_101
    assert "not imported: topic.0099: it has a replication throttle" in lines


@pytest.mark.parametrize(("columns", "printed"), [(80, 30), (None, 1_000)], ids=["terminal", "pipe"])
def test_a_terminal_shows_a_screen_of_what_cannot_be_imported(
    columns: int | None, printed: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal_output, "width", lambda: columns)
    show(ImportReport("prod", rejected=MANY.notes), Path(), dry_run=True)
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == printed
    assert ("970 more: 870 left-out in a, 100 left-out in b" in err) == (columns is not None)
    assert err.splitlines()[-1] == "nothing was imported: 1,000 errors"
