"""Test which declarations, settings and history an audit of a watch uses, and a watch as a process."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.clients import until
from tests.support.command import project
from tests.support.reports import empty
from tests.support.watched import watching
from topicwarden.audit.request import AuditRequest
from topicwarden.audit.scan import lasting_session
from topicwarden.audit.scan.lasting_session import LastingSession
from topicwarden.audit.scan.read_limits import ReadLimits
from topicwarden.extensions.watch import watched_stack as operation
from topicwarden.extensions.watch.history_lock import HistoryInUse, history_lock, lock_path
from topicwarden.extensions.watch.watched_stack import WatchedStack
from topicwarden.model.finding import AuditReport
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.model.verdict import ReadScope
from topicwarden.operations import report_deliveries

VALID = "partitions: 1\nreplication_factor: 1\n"
SETTINGS = "config: {{'kafka:bootstrapServers': ['127.0.0.1:1'], 'kafka:tlsEnabled': true, 'kafka:saslMechanism': plain, 'kafka:saslUsername': app, 'kafka:saslPassword': {}}}\n"  # noqa: E501


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return project(
        tmp_path, {"topics/a.v1.yaml": VALID, "stacks/Pulumi.dev.yaml": SETTINGS.format("first-secret-of-the-stack")}
    )


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[AuditRequest]:
    """The requests of all audits, which find nothing."""
    received: list[AuditRequest] = []

    def audited(_: Any, request: AuditRequest, __: Any) -> AuditReport:
        received.append(request)
        return empty()

    monkeypatch.setattr(operation, "audit", audited)
    return received


@pytest.fixture
def watched(folder: Path) -> Iterator[WatchedStack]:
    project = Project(folder)
    spark = LastingSession(project, None, lambda _: None)
    with closing(WatchedStack(project, "dev", str(folder / "history"), ReadLimits(), spark)) as watched:
        yield watched


def test_each_audit_has_the_declarations_and_the_secrets_of_now(
    folder: Path, watched: WatchedStack, requests: list[AuditRequest]
) -> None:
    assert watched.read_declarations() is None
    watched.audit()
    (folder / "topics" / "b.v1.yaml").write_text(VALID, encoding="utf-8")
    (folder / "stacks" / "Pulumi.dev.yaml").write_text(SETTINGS.format("second-secret-of-the-stack"), encoding="utf-8")
    assert watched.read_declarations() is None
    watched.audit()
    assert [len(each.declarations) for each in requests] == [1, 2]
    assert [each.connection.password for each in requests] == [
        "first-secret-of-the-stack",
        "second-secret-of-the-stack",
    ]
    assert {each.since for each in requests} == {ReadScope.LAST}


def test_each_audit_insists_on_the_cluster_of_the_last_one_unless_the_stack_moved(
    folder: Path, watched: WatchedStack, requests: list[AuditRequest]
) -> None:
    """Else an audit of another cluster, whose server one of the addresses is, resolves findings and makes new ones."""
    watched.read_declarations()
    watched.audit()
    watched.audit()
    settings = folder / "stacks" / "Pulumi.dev.yaml"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text.replace("config: {", "config: {'topicwarden:movedTo': new, "), encoding="utf-8")
    watched.read_declarations()
    watched.audit()
    assert empty().cluster_id
    assert [each.connection.cluster_id for each in requests] == [None, empty().cluster_id, "new"]


def test_broken_declarations_are_refused_and_the_last_valid_ones_are_used(
    folder: Path, watched: WatchedStack, requests: list[AuditRequest]
) -> None:
    assert watched.read_declarations() is None
    file = folder / "topics" / "a.v1.yaml"
    for broken in ("partitions: many\n", "partitions: [\n", "\x00", "unknown: 1\n"):
        file.write_text(broken, encoding="utf-8")
        assert "topics/a.v1.yaml" in (watched.read_declarations() or "")
        watched.audit()
    file.unlink()
    assert "declares no topic" in (watched.read_declarations() or "")
    watched.audit()
    file.write_text(VALID.replace("partitions: 1", "partitions: 6"), encoding="utf-8")
    assert watched.read_declarations() is None
    watched.audit()
    assert [each.declarations[0].topic.partitions for each in requests] == [1, 1, 1, 1, 1, 6]


def test_a_broken_stack_file_leaves_the_last_connection(
    folder: Path, watched: WatchedStack, requests: list[AuditRequest]
) -> None:
    watched.read_declarations()
    watched.audit()
    (folder / "stacks" / "Pulumi.dev.yaml").write_text("config: {'kafka:bootstrapServers': [\n", encoding="utf-8")
    assert "stacks/Pulumi.dev.yaml" in (watched.read_declarations() or "")
    watched.audit()
    assert replace(requests[1].connection, cluster_id=None) == requests[0].connection


def test_settings_of_receivers_that_cannot_be_used_leave_the_declarations_valid(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []
    spark = LastingSession(Project(folder), None, lambda _: None)
    watched = WatchedStack(Project(folder), "dev", str(folder / "history"), ReadLimits(), spark, note=notes.append)
    watched.report_url = "http://127.0.0.1/report"

    def refused(*_: object) -> None:
        raise Refusal("the secret cannot be decrypted")

    def failed() -> list[float | None]:
        return [
            value for labels, value in watched.families()["watch_failed_delivery"][1] if labels["kind"] == "settings"
        ]

    with closing(watched):
        watched.open()
        with monkeypatch.context() as patch:
            patch.setattr(report_deliveries, "receivers_of", refused)
            assert [watched.read_declarations() for _ in range(2)] == [None, None]
        assert failed() == [1]
        assert notes == [
            "dev: the settings of receivers and catalogues cannot be used, and the last usable ones are: the secret "
            "cannot be decrypted"
        ]
        assert watched.read_declarations() is None
        assert (failed(), notes[1:]) == ([0], ["dev: the settings of receivers and catalogues can be used again"])


def test_without_any_valid_declaration_an_audit_fails(
    folder: Path, watched: WatchedStack, requests: list[AuditRequest]
) -> None:
    (folder / "topics" / "a.v1.yaml").write_text("partitions: many\n", encoding="utf-8")
    watched.read_declarations()
    with pytest.raises(Refusal, match=r"no declarations have been valid yet: .*topics/a\.v1\.yaml:1:13"):
        watched.audit()
    assert (requests, watched.auditing) == ([], False)


class _Session:
    """A session whose JVM may have ended."""

    def __init__(self) -> None:
        self.ended = False

    @property
    def sparkContext(self) -> Any:  # noqa: N802 -- Spark's name
        if self.ended:
            raise ConnectionRefusedError
        return self

    @property
    def _jsc(self) -> Any:
        return self

    def sc(self) -> Any:
        return self

    def isStopped(self) -> bool:  # noqa: N802 -- Spark's name
        return False


def test_spark_starts_once_and_again_only_after_its_jvm_has_ended(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[_Session] = []

    def start() -> _Session:
        started.append(_Session())
        return started[-1]

    monkeypatch.setattr(lasting_session, "session_on_demand", lambda *_: start)
    session = LastingSession(Project(folder), None, lambda _: None)
    session.after_failure()
    first: Any = session()
    session.after_failure()
    assert session() is first
    started[0].ended = True
    session.after_failure()
    assert session() is not first
    assert len(started) == 2


def test_a_watch_without_valid_declarations_serves_the_reason_and_ends_on_a_signal(folder: Path) -> None:
    (folder / "topics" / "a.v1.yaml").write_text("partitions: many\n", encoding="utf-8")
    with watching(folder, "--every", "1s") as watch:
        until(lambda: (watch.metric("watch_failed_audits") or 0) >= 2, "two failed audits")
        ready = watch.get("/readyz")
        assert ready.status == 503
        assert "topics/a.v1.yaml:1:13" in ready.text
        assert watch.metric("watch_declarations_valid") == 0
        assert [watch.get(path).status for path in ("/healthz", "/report")] == [200, 503]
        assert watch.end() < 5
        assert watch.process.returncode == 0
    assert "secret-of-the-stack" not in watch.printed + ready.text
    assert "Traceback" not in watch.printed


HISTORY = "file:///history"
_HOLD = """
import sys, time
from pathlib import Path
from topicwarden.extensions.watch.watched_stack import history_lock
with history_lock(Path(sys.argv[1]), "file:///history"):
    print("locked", flush=True)
    time.sleep(60)
"""


def holding(path: Path) -> subprocess.Popen[str]:
    """Start a process that locks ``path``; return once it does."""
    process = subprocess.Popen([sys.executable, "-c", _HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "locked\n"
    return process


def test_a_second_watch_tells_who_uses_the_history_and_a_killed_one_frees_it(tmp_path: Path) -> None:
    path = lock_path(HISTORY, tmp_path / "history", tmp_path)
    with holding(path) as process:
        try:
            with pytest.raises(Refusal) as refused, history_lock(path, HISTORY):
                pass
            assert f"process {process.pid} on host {socket.gethostname()}, since 20" in str(refused.value)
            assert HISTORY in str(refused.value)
        finally:
            process.send_signal(signal.SIGKILL)
    with history_lock(path, HISTORY):
        assert f'"pid": {os.getpid()}' in path.read_text(encoding="utf-8")
    assert path.read_text(encoding="utf-8") == ""


def test_a_lock_is_free_again_after_the_block_also_after_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with pytest.raises(ValueError, match="inside"), history_lock(path, HISTORY):
        raise ValueError("inside")
    with (
        history_lock(path, HISTORY),
        pytest.raises(HistoryInUse, match="two stacks of this watch"),
        history_lock(path, HISTORY),
    ):
        pass


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{}", b"[1]", b"[" * 4_000, b"\xff\x00" * 4_000),
        *(b'{"pid": "x", "host": 1, "since": 2}', b'{"pid": 1e999, "host": 1, "since": 2}'),
    ],
)
def test_an_unreadable_holder_is_no_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.lock"
    with history_lock(path, HISTORY):
        path.write_bytes(content)
        with pytest.raises(Refusal, match="another watch uses the history") as refused, history_lock(path, HISTORY):
            pass
    assert str(refused.value).isprintable()


def test_a_hostile_holder_cannot_forge_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with history_lock(path, HISTORY):
        path.write_text('{"pid": 1, "host": "a\\nb\\u001b[0m", "since": "x"}', encoding="utf-8")
        with pytest.raises(Refusal) as refused, history_lock(path, HISTORY):
            pass
    assert "\n" not in str(refused.value)
    assert "\x1b" not in str(refused.value)


def test_a_link_in_the_location_of_the_lock_is_refused_and_its_target_unchanged(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("kept", encoding="utf-8")
    (tmp_path / "a.lock").symlink_to(target)
    with pytest.raises(Refusal, match="cannot be locked"), history_lock(tmp_path / "a.lock", HISTORY):
        pass
    assert target.read_text(encoding="utf-8") == "kept"


def test_histories_on_other_machines_have_a_lock_each_in_the_cache(tmp_path: Path) -> None:
    paths = {lock_path(f"s3a://bucket/{name}", None, tmp_path) for name in ("a", "b")}
    assert len(paths) == 2
    assert all(path.parent == tmp_path / "watch" for path in paths)
