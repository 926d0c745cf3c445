"""Test operations as a Python program calls them."""

from __future__ import annotations

import ast
import inspect
import json
import logging
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from kafka import KafkaConsumer
from kafka.errors import KafkaTimeoutError

from tests.conftest import REPOSITORY
from tests.support.command import bad_project, project, topicwarden
from tests.support.documents import BLOCKS, PAGE, block, scheduled
from tests.support.reports import empty, rich
from topicwarden import operations
from topicwarden.audit.scan import spark_session as spark_session_module
from topicwarden.extensions.interchange.export_operation import export_topics
from topicwarden.extensions.interchange.import_files import import_files
from topicwarden.kafka.connect import clients
from topicwarden.kafka.connect.clients import client_settings
from topicwarden.kafka.connect.connection import Connection
from topicwarden.model.finding import AuditReport
from topicwarden.model.problem import Level, Refusal
from topicwarden.model.project import find_project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.check import check_topics
from topicwarden.operations.fix import fixed_files, write_fixed
from topicwarden.operations.usage import usage_topics

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


@pytest.mark.parametrize(
    "files",
    [
        {"access/a.yaml": "quotas: [{user: a, producer_byte_rate: 1MiB}]\n"},
        {"subjects/s.yaml": "subjects: {s: {format: json, schema: s.json}}\n", "subjects/s.json": "{}"},
        {"access/a.yaml": "quotas: 5\n"},
    ],
)
def test_a_project_without_topics_is_checked(files: dict[str, str], tmp_path: Path) -> None:
    stack = {"stacks/Pulumi.dev.yaml": "config: {'topicwarden:schemaRegistry': 'http://registry:8081'}\n"}
    report = check_topics(find_project(project(tmp_path, {"topics/.keep": ""} | stack | files)))
    assert [problem.location.file for problem in report.problems] == (["access/a.yaml"] if "5" in str(files) else [])


def test_what_errors_hide_is_named(tmp_path: Path) -> None:
    files = {
        "topics/a.yaml": "partitions: x\n",
        "topics/b.yaml": "partitions: 1\nreplication_factor: 1\n",
        "topics/c.yaml": "partitions: 1\n",
        "access/a.yaml": "quotas: 5\n",
        "subjects/s.yaml": "subjects: 5\n",
        "policies/topics.yaml": "rules: {partitions: {max: many}}\n",
        "policies/expressions.yaml": "expressions: [{id: b, level: error, message: b, require: '('}]\n",
    }
    root = project(tmp_path, files)
    report = check_topics(find_project(root))
    assert report.notes == (
        "not checked, because of errors in topics/a.yaml (and 1 more): policies for topics there",
        "not checked, because of errors in access/a.yaml: access there",
        "not checked, because of errors in subjects/s.yaml: subjects there, and references to them",
        "not checked, because of errors in policies/topics.yaml: rules, expressions and waivers there",
    )
    assert all(note in topicwarden("check", cwd=root).err for note in report.notes)


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


_TYPED = """
from pathlib import Path
from typing import assert_type

from topicwarden.operations import (
    AuditOptions, AuditReport, CheckReport, FailOn, InferOptions, MissingExtra, PlanReport, Problem, ProgressListener,
    Project, ReadLimits, ReadScope, RedriveOptions, RedriveReport, Refusal, UsageOptions, UsageReport, Verdict,
    WatchOptions, audit_topics, check_topics, find_project, infer_stack, plan_topics, redrive_finding, usage_topics,
    watch_stacks,
)

project = assert_type(find_project(Path.cwd()), Project)
checked = assert_type(check_topics(project, "dev"), CheckReport)
assert_type(checked.problems[0], Problem)
plan = assert_type(plan_topics(project, "dev", ["a*"], listener=ProgressListener()), PlanReport)
for answer in (plan.refused, plan.pending, plan.deployable):
    assert_type(answer, bool)
options = AuditOptions(since=ReadScope.LAST, bounds=ReadLimits(rate=10))
audit = assert_type(audit_topics(project, "dev", options=options, fail_on=FailOn.FAIL), AuditReport)
assert_type(audit.counts()[Verdict.FAIL], int)
assert_type(audit.fails(FailOn.FAIL), bool)
assert_type(infer_stack(project, "dev", ["a*"], InferOptions(most_records=5)).complete, bool)
assert_type(usage_topics(project, "dev", options=UsageOptions(history="none")), UsageReport)
assert_type(watch_stacks(project, options=WatchOptions(every=60.0), stopped=lambda: True), bool)
copied = redrive_finding(project, "dev", RedriveOptions("a:b", "c", Path("report.json")))
assert_type(copied, RedriveReport)
assert_type((copied.records, copied.deleted, copied.done, copied.remarks), tuple[int, int, bool, tuple[str, ...]])
try:
    audit_topics(project, "dev")
except MissingExtra as missing:
    assert_type(missing.extra, str)
except Refusal as refusal:
    assert_type(refusal.details, str)
"""
_EVERY_NAME = """
import json, sys
from topicwarden import operations
for name in operations.__all__:
    getattr(operations, name)
operations.AuditOptions(bounds=operations.ReadLimits(rate=1)), operations.UsageOptions(), operations.WatchOptions()
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""
_CALLS = {
    "plan_topics": ("pulumi", "deploy"),
    "audit_topics": ("pyspark", "audit"),
    "usage_topics": ("kafka", "cluster"),
    "watch_stacks": ("pyspark", "audit"),
    "redrive_finding": ("pyspark", "audit"),
    "infer_stack": ("pyspark", "audit"),
}
_ARGUMENTS = {
    "infer_stack": "project, 'dev', ['a*']",
    "watch_stacks": "project, stopped=lambda: True",
    "redrive_finding": "project, 'dev', operations.RedriveOptions('a', 'b', Path('report.json'))",
}
_BASE_INSTALL = """
import sys
from pathlib import Path
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
from topicwarden import operations
from topicwarden.operations import *
project = find_project(Path.cwd())
try:
    {call}
except MissingExtra as error:
    assert isinstance(error, Refusal) and isinstance(error, ModuleNotFoundError)
    print(error.extra, error)
"""


def test_no_public_name_and_no_options_load_pulumi_spark_or_a_client() -> None:
    done = subprocess.run([sys.executable, "-c", _EVERY_NAME], capture_output=True, text=True, check=True)
    clients = {"pulumi_kafka", "grpc", "cryptography", "cramjam", "javaproperties", "urllib3", "botocore"}
    assert (_HEAVY | clients) & set(json.loads(done.stdout)) == set()


@pytest.mark.parametrize("function", _CALLS)
def test_a_call_in_a_base_install_names_the_extra_and_the_command_that_installs_it(
    function: str, tmp_path: Path
) -> None:
    module, extra = _CALLS[function]
    missing = ("pyspark", "py4j", "pulumi", "pulumi_kafka", "pulumi_policy", "grpc", "kafka", "cramjam", "cryptography")
    call = f"operations.{function}({_ARGUMENTS.get(function, 'project, chr(100)')})"
    code = _BASE_INSTALL.format(missing=set(missing), call=call)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project(tmp_path, GOOD), capture_output=True, text=True, check=False
    )
    message = f"{extra} the Python package {module} is not installed: `pip install 'topicwarden[{extra}]'`\n"
    assert (done.stdout, done.returncode) == (message, 0), done.stderr


def test_a_public_function_has_the_signature_and_docstring_of_its_operation() -> None:
    shown = inspect.signature(operations.usage_topics)
    assert shown == inspect.signature(usage_topics)
    assert operations.usage_topics.__doc__ == usage_topics.__doc__


def test_a_script_that_uses_every_public_name_passes_mypy_strict(tmp_path: Path) -> None:
    scripts = {"user.py": _TYPED, **{f"{name}.py": BLOCKS[name] for name in ("kafka_tasks", "kafka_progress")}}
    for name, text in scripts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    cache = REPOSITORY / ".cache" / "mypy-of-users"
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={cache}", *scripts]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("Success: no issues found in 3 source files\n", 0)
    assert [name for name in operations.__all__ if name not in _TYPED] == []


# Test that an operation changes no logger of the program that calls it.


def _log_of(open_client: Callable[[], object], caplog: pytest.LogCaptureFixture) -> list[str]:
    caplog.clear()
    with caplog.at_level(logging.DEBUG), pytest.raises(KafkaTimeoutError, match="bootstrap"):
        open_client()
    return [record.name for record in caplog.records if record.name.startswith("kafka")]


def test_own_kafka_clients_log_nothing_and_those_of_the_program_log_as_before(
    caplog: pytest.LogCaptureFixture,
) -> None:
    nobody = Connection(("localhost:1",))
    states = {name: _state(name) for name in (None, "kafka")}
    settings = {"bootstrap_timeout_ms": 300}
    with pytest.MonkeyPatch.context() as patch:
        own = client_settings(nobody, nobody.bootstrap_servers) | settings
        patch.setattr(clients, "client_settings", lambda *_: own)
        assert _log_of(lambda: clients.new_consumer(nobody), caplog) == []
    assert _log_of(lambda: KafkaConsumer(bootstrap_servers="localhost:1", **settings), caplog)
    assert {name: _state(name) for name in states} == states


def _state(name: str | None) -> tuple[object, ...]:
    logger = logging.getLogger(name)
    return logger.level, logger.propagate, logger.disabled, [*logger.handlers], [*logger.filters] if not name else []


def test_a_jvm_that_ended_leaves_no_handler_and_no_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    state = _state(None)
    py4j = compile("import logging\nlogging.exception('while sending')", "/lib/py4j/java_gateway.py", "exec")
    with spark_session_module._py4j_muted():
        exec(py4j)
        logging.warning("of the program")
    assert caplog.messages == ["of the program"]
    assert _state(None) == state


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
