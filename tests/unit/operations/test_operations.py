"""Test operations as a Python program calls them."""

from __future__ import annotations

import ast
import json
import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import bad_project, project
from tests.support.documents import BLOCKS, PAGE, block, scheduled
from tests.support.reports import empty, rich
from topicwarden import operations
from topicwarden.model.finding import AuditReport
from topicwarden.model.problem import Level, Refusal
from topicwarden.model.project import find_project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.check import check_topics
from topicwarden.operations.export import export_topics
from topicwarden.operations.fix import fixed_files, write_fixed
from topicwarden.operations.import_files import import_files

# Test that operations return values: they print nothing, import little, and leave errors to the caller.

_FOLDER = Path(operations.__file__).parent
_HEAVY = {"pulumi", "pyspark", "py4j", "kafka", "confluent_kafka", "typer", "rich", "jinja2", "vl_convert"}
_IMPORTED = """
import json, sys
from pathlib import Path
import topicwarden
only = sorted(name for name in sys.modules if name.startswith("topicwarden"))
from topicwarden.operations import CheckReport, Problem, Refusal, check_topics, find_project
check_topics(find_project(Path.cwd()))
print(json.dumps([only, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def test_a_check_returns_its_problems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = find_project(bad_project(tmp_path))
    report = check_topics(bad)
    assert report.errors == sum(problem.level is Level.ERROR for problem in report.problems) > 0
    file = next(each.location.file for each in report.problems if each.location.file.startswith("topics/orders/"))
    selected = check_topics(bad, paths=[bad.root / file])
    assert file in {problem.location.file for problem in selected.problems} <= {file, "topics/_defaults.yaml"}
    assert 0 < selected.errors < report.errors
    assert capsys.readouterr() == ("", "")


def test_what_cannot_run_is_a_refusal(tmp_path: Path) -> None:
    empty = find_project(project(tmp_path, {"topics/.keep": ""}))
    with pytest.raises(Refusal, match="declares no topic"):
        check_topics(empty)
    with pytest.raises(Refusal, match="no stack prod; stacks: "):
        check_topics(empty, "prod")


def test_corrections_are_returned_and_written_one_by_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "partitions: '1'\nreplication_factor: 1\n"
    opened = find_project(project(tmp_path, {"topics/a.yaml": text, "topics/b.yaml": text}))
    first, second = fixed_files(opened)
    assert (first.file, first.before) == ("topics/a.yaml", text.encode())
    write_fixed(opened, second)
    assert (opened.topics / "a.yaml").read_text() == text
    assert (opened.topics / "b.yaml").read_bytes() == second.after != text.encode()
    assert capsys.readouterr() == ("", "")


def test_an_import_and_an_export_return_what_a_command_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = find_project(project(tmp_path, {"topics/a.yaml": "partitions: 1\nreplication_factor: 1\n"}))
    source = tmp_path / "created.yaml"
    source.write_text("services: {kafka: {environment: {KAFKA_CREATE_TOPICS: 'a:2:1,new:1:1'}}}\n")
    dry = import_files(opened, "dev", [source], dry_run=True)
    assert [path.name for path in opened.topics.iterdir()] == ["a.yaml"]
    report = import_files(opened, "dev", [source])
    assert ([file.topic for file in report.files], report.skipped.declared, report.complete) == (["new"], 1, False)
    assert [problem.message.partition(";")[0] for problem in report.differences] == [
        "a: partitions is 1 in YAML, but 2 in the file"
    ]
    assert (dry.files, dry.differences) == (report.files, report.differences)
    exported = export_topics(opened, "odcs", "dev")
    assert (sorted(exported.documents), exported.topics) == (["a.odcs.yaml", "new.odcs.yaml"], 2)
    assert capsys.readouterr() == ("", "")


def test_the_package_is_cheap_and_a_check_imports_no_client(tmp_path: Path) -> None:
    root = project(tmp_path, {"topics/a.yaml": "partitions: 1\nreplication_factor: 1\n"})
    done = subprocess.run([sys.executable, "-c", _IMPORTED], cwd=root, capture_output=True, text=True, check=True)
    only, imported = json.loads(done.stdout)
    assert only == ["topicwarden"]
    assert _HEAVY & set(imported) == set()


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'deploy_everything'"):
        operations.deploy_everything  # noqa: B018


@pytest.mark.parametrize("module", sorted(_FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_no_operation_prints_or_exits_or_reads_arguments(module: Path) -> None:
    tree = ast.parse(module.read_text(encoding="utf-8"))
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert called & {"print", "input", "exit"} == set()
    assert {name.partition(".")[0] for name in imported} & {"sys", "typer", "rich"} == set()
    assert "topicwarden.report.terminal_output" not in imported


# The page of the Python API: its names, and the tasks for schedulers, without a cluster.

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
