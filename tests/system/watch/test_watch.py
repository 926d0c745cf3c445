"""Test `topicwarden watch` as a process, on a real broker: faults, broken YAML, signals, and a killed process."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from tests.support.clients import until
from tests.support.command import process
from tests.support.http_answers import Request, answering, http
from tests.support.projects import own_cache, project_of
from tests.support.sandboxes import running
from tests.support.watched import RunningWatch, watching
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.model.project import Project
from topicwarden.sandbox.local_cluster import Sandbox
from topicwarden.sandbox.scenarios.writer import writing
from topicwarden.toolchain import Toolchain

TOPIC = "orders.v1"
LARGE = "large.v1"
DECLARED = "partitions: 1\nreplication_factor: 1\ncontents: {key: {required: true}}\n"
PLAIN = "partitions: 4\nreplication_factor: 1\n"
END_S = 10.0
READY_S = 240.0
KILLS = 2
PAYLOAD = "secret-payload"


@pytest.fixture(scope="module")
def project(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with own_cache(tmp_path_factory.mktemp("watch")) as folder:
        yield project_of(folder / "project", {f"{TOPIC}.yaml": DECLARED, f"{LARGE}.yaml": PLAIN})


@pytest.fixture(scope="module")
def sandbox(project: Project) -> Iterator[Sandbox]:
    with running(sandbox_of(project), brokers=1) as sandbox:
        with KafkaAdminClient(bootstrap_servers=sandbox.bootstrap_servers) as admin:
            admin.create_topics([NewTopic(TOPIC, 1, 1), NewTopic(LARGE, 4, 1)])
        yield sandbox


def write(sandbox: Sandbox, topic: str, records: int, *, keys: bool = True, value: str = PAYLOAD) -> None:
    with writing(sandbox.bootstrap_servers) as writer:
        for number in range(records):
            writer.send(topic, f"key-{number}" if keys else None, value)


def wait_for_report(watch: RunningWatch) -> None:
    deadline = time.monotonic() + READY_S
    while watch.get("/readyz").status != 200:
        assert time.monotonic() < deadline, watch.printed + watch.get("/readyz").text
        time.sleep(0.1)


def audited(watch: RunningWatch) -> int:
    """Return the records of all topics in the last report."""
    topics = json.loads(watch.get("/report.json").text)["topics"]
    return sum(partition["records"] or 0 for topic in topics for partition in topic["partitions"])


def test_a_fault_and_a_broken_declaration_are_visible_while_it_runs(
    project: Project, sandbox: Sandbox, tmp_path: Path
) -> None:
    write(sandbox, TOPIC, 100)
    token = tmp_path / "token"
    token.write_text("a-token-of-this-test\n", encoding="utf-8")
    file = project.topics / f"{TOPIC}.yaml"
    with watching(project.root, "--every", "2s") as watch:
        wait_for_report(watch)
        assert audited(watch) == 100
        assert watch.metric("watch_declarations_valid") == 1
        write(sandbox, TOPIC, 7, keys=False)
        until(lambda: watch.metric("topic_findings", 'check="null-key",verdict="fail"') == 1, "the fault")
        assert audited(watch) == 107

        file.write_text("partitions: many\n", encoding="utf-8")
        until(lambda: watch.metric("watch_declarations_valid") == 0, "the broken file")
        last = watch.metric("watch_last_success_timestamp_seconds") or 0
        until(lambda: (watch.metric("watch_last_success_timestamp_seconds") or 0) > last, "an audit without it")
        assert watch.metric("topic_findings", 'check="null-key",verdict="fail"') == 1
        ready = watch.get("/readyz")
        assert ready.status == 200
        assert f"topics/{TOPIC}.yaml:1:13" in ready.text
        file.write_text(DECLARED, encoding="utf-8")
        until(lambda: watch.metric("watch_declarations_valid") == 1, "the repaired file")
        assert f"topics/{TOPIC}.yaml:1:13" in watch.printed
        assert "valid again" in watch.printed

        second = process("watch", "--stack", "dev", "--listen", "127.0.0.1:0", cwd=project.root)
        assert second.code == 2
        assert f"process {watch.process.pid} on host " in second.err
        assert second.err.count("\n") == 1
        report = watch.get("/report")
        assert "null-key" in report.text
        assert watch.end() < END_S
        assert watch.process.returncode == 0
        assert PAYLOAD not in watch.printed + report.text
    assert "Traceback" not in watch.printed


def test_a_receiver_and_a_catalogue_learn_of_a_fault_after_a_secret_is_rotated(
    project: Project, sandbox: Sandbox, tmp_path: Path
) -> None:
    settings = project.stacks / "Pulumi.dev.yaml"
    before = settings.read_text(encoding="utf-8")
    events = tmp_path / "events.ndjson"
    accepted: list[Request] = []

    def answer(request: Request) -> bytes:
        if request.headers["authorization"] != "Bearer new-token":
            return http(b"", "401 Unauthorized")
        accepted.append(request)
        return http(b"ok")

    def heard() -> list[dict[str, Any]]:
        return [change for each in accepted for change in each.json["changes"]]

    def declare(token: str) -> None:
        deliveries = {
            "topicwarden:cluster": "sandbox",
            "topicwarden:notifications": {"hook": {"format": "json", "url": receiver.url, "token": token}},
            "topicwarden:catalogues": {"file": {"openlineage": str(events)}},
        }
        settings.write_text(json.dumps({"config": deliveries}), encoding="utf-8")

    with answering(answer) as receiver:
        declare("old-token")
        try:
            with watching(project.root, "--every", "2s", "--url", "https://watch.example.com") as watch:
                wait_for_report(watch)
                write(sandbox, TOPIC, 3, keys=False)
                until(lambda: events.exists() and "null-key" in events.read_text(), "the event")
                until(lambda: watch.metric("watch_failed_delivery", 'receiver="hook"') == 1, "the refusal")
                declare("new-token")
                until(lambda: any(each["check"] == "null-key" for each in heard()), "the notification")
                until(lambda: watch.metric("watch_pending_deliveries") == 0, "the end of the deliveries")
                assert watch.metric("watch_failed_delivery", 'receiver="hook"') == 0
                assert watch.end() < END_S
        finally:
            settings.write_text(before, encoding="utf-8")
        assert {each.json["report_url"] for each in accepted} == {"https://watch.example.com/report"}
        assert len([each for each in heard() if each["check"] == "null-key"]) == 1
    assert PAYLOAD not in watch.printed + events.read_text() + str(heard())
    assert "-token" not in watch.printed


def test_a_running_audit_is_abandoned_in_time_and_nothing_is_lost_or_doubled(
    project: Project, sandbox: Sandbox
) -> None:
    with watching(project.root, "--every", "1s", "--rate", "1MiB") as watch:
        wait_for_report(watch)
        before = audited(watch)
        write(sandbox, LARGE, 40_000, value="x" * 1_000)
        until(lambda: (watch.metric("watch_last_audit_timestamp_seconds") or 0) < time.time() - 4, "a long audit")
        assert watch.end(limit_s=END_S) < END_S
        assert watch.process.returncode == 0
        abandoned = "did not finish in time" in watch.printed
    with watching(project.root, "--every", "1h") as watch:
        wait_for_report(watch)
        assert audited(watch) == before + 40_000
        if abandoned:
            assert watch.metric("audit_scanned_records") == 40_000
        assert watch.end(signal.SIGINT) < END_S
        assert watch.process.returncode == 0


def test_a_killed_watch_continues_with_its_history_and_survives_a_lost_broker(
    project: Project, sandbox: Sandbox
) -> None:
    written = 0
    with watching(project.root, "--every", "1s") as watch:
        wait_for_report(watch)
        before = audited(watch)
    for number in range(KILLS):  # `watching` kills the process
        with watching(project.root, "--every", "1s") as watch:
            wait_for_report(watch)
            write(sandbox, TOPIC, 50)
            written += 50
            time.sleep(number)
    with watching(project.root, "--every", "1s") as watch:
        wait_for_report(watch)
        assert audited(watch) == before + written
        assert not any("history" in note for note in json.loads(watch.get("/report.json").text)["notes"])
        sandbox.stop(1)
        until(lambda: (watch.metric("watch_failed_audits") or 0) >= 1, "a failed audit", READY_S)
        assert watch.get("/report").status == 200
        sandbox.start(1)
        until(lambda: watch.metric("watch_failed_audits") == 0, "an audit after the failure", READY_S)
        assert audited(watch) == before + written
        assert watch.end() < END_S
