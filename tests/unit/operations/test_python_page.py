"""Test the page of the Python API: its names, and the tasks for schedulers, without a cluster."""

from __future__ import annotations

import ast
import logging
import re
from pathlib import Path

import pytest

from tests.support.command import project
from tests.support.documents import BLOCKS, PAGE, block, scheduled
from tests.support.reports import empty, rich
from topicwarden import operations
from topicwarden.model.finding import AuditReport
from topicwarden.model.verdict import Verdict

GOOD = {"topics/a.yaml": "partitions: 1\nreplication_factor: 1\n"}
BAD = {"topics/a.yaml": "partitions: x\nreplication_factor: 1\n"}


def test_the_page_names_each_public_name_and_no_other() -> None:
    imported = {
        name.name
        for code in BLOCKS.values()
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.ImportFrom) and node.module == "topicwarden.operations"
        for name in node.names
    }
    assert imported <= set(operations.__all__)
    assert [name for name in operations.__all__ if not re.search(rf"`[^`\n]*\b{name}\b", PAGE)] == []
    assert all(getattr(operations, name) for name in operations.__all__)


def test_a_check_returns_the_number_of_topics_or_fails_with_the_problems(tmp_path: Path) -> None:
    check = block("kafka_tasks").check_declarations
    assert check(str(project(tmp_path / "good", GOOD)), "dev") == 1
    with pytest.raises(ValueError, match=r"topics/a\.yaml:1:13: partitions"):
        check(str(project(tmp_path / "bad", BAD)), "dev")


def test_the_check_of_airflow_is_the_task_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dag = scheduled("dags/kafka_topics", block("kafka_tasks"), monkeypatch)
    monkeypatch.setattr(dag, "PROJECT", str(project(tmp_path, GOOD)))
    monkeypatch.setattr(dag, "STACK", "dev")
    assert dag.check() == 1


@pytest.mark.parametrize(("report", "passed"), [(rich(), False), (empty(), True)], ids=["failures", "none"])
def test_an_audit_with_failures_fails_the_task_and_the_asset_check(
    report: AuditReport, passed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = block("kafka_tasks")
    monkeypatch.setattr(tasks, "audit_topics", lambda *_, **__: report)
    dag, assets = (scheduled(name, tasks, monkeypatch) for name in ("dags/kafka_topics", "kafka_checks"))
    for module in (dag, assets):
        monkeypatch.setattr(module, "PROJECT", str(project(tmp_path, GOOD)))
    result = assets.orders_records()
    assert (result.passed, result.metadata.get("fail", 0)) == (passed, report.counts()[Verdict.FAIL])
    if passed:
        assert dag.audit() == result.metadata
    else:
        with pytest.raises(RuntimeError, match=f"the audit found {report.counts()[Verdict.FAIL]} failures"):
            dag.audit()


def test_the_listener_of_the_page_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    listener = block("kafka_progress").LoggedProgress()
    with listener.stage("reading the topics") as report:
        report(0.5)
    listener.note("a note")
    listener.warn("a warning")
    assert caplog.messages == ["reading the topics", "reading the topics: 50 %", "a note", "a warning"]
