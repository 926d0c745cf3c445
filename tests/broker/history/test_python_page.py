"""Test that the audit task of the page on Python audits a real cluster, and only what is new the second time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.documents import block
from topicwarden.model.finding import AuditReport
from topicwarden.model.project import Project
from topicwarden.model.verdict import ReadScope, Verdict


def test_the_audit_task_of_the_page_returns_the_verdicts_and_writes_the_report(
    project: Project, servers: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    audit_records = block("kafka_tasks").audit_records
    capfd.readouterr()
    counts = [audit_records(str(project.root), "dev", str(tmp_path / name)) for name in ("first", "second")]
    assert capfd.readouterr() == ("", "")
    reports = [
        AuditReport.model_validate_json((tmp_path / name / "report.json").read_bytes()) for name in ("first", "second")
    ]
    assert counts == [{verdict.value: number for verdict, number in each.counts().items()} for each in reports]
    assert all(each.counts()[Verdict.FAIL] for each in reports), "the declared topic does not exist"
    assert {each.read for each in reports} == {ReadScope.LAST}
