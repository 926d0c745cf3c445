"""Test that an audit prints its report if the folder for the files fails after the scan."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.projects import project_of
from tests.support.reports import rich
from topicwarden.cli.audit import audit
from topicwarden.model.finding import AuditReport
from topicwarden.model.problem import Refusal
from topicwarden.operations import audit as module


def test_the_report_is_printed_although_its_files_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project, out = project_of(tmp_path / "project", {}), tmp_path / "reports"

    @contextmanager
    def auditing(*_: object, **__: object) -> Iterator[module.AuditFunction]:
        def audit_once(_: tuple[str, ...]) -> AuditReport:
            out.write_text("a file in place of the folder")
            return rich()

        yield audit_once

    monkeypatch.setattr(module, "auditing", auditing)
    with pytest.raises(Refusal, match="is not a folder"):
        audit("dev", (), str(out), None, project_folder=project.root, form="junit")
    assert capsys.readouterr().out.endswith("</testsuites>\n")
