"""Test `topicwarden watch` as a process, on a real broker: faults, broken YAML, signals, and broken stacks."""

from __future__ import annotations

import json
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.clients import until
from tests.support.command import process
from tests.support.http_answers import Request, answering, http
from tests.support.watched import END_S, LARGE, ORDERS, PAYLOAD, READY_S, watching, write
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.model.project import Project

DECLARED = "partitions: 1\nreplication_factor: 1\ncontents: {key: {required: true}}\n"
NULL_KEYS = f'topic="{ORDERS}",check="null-key",verdict="fail"'
LONG_S = 16.0
"""Longer than any audit of a few records, which starts every eight seconds."""


def test_a_fault_a_broken_declaration_and_a_lost_broker_are_visible_while_it_runs(
    project: Project, sandbox: Sandbox, tmp_path: Path
) -> None:
    write(sandbox, ORDERS, 100)
    token = tmp_path / "token"
    token.write_text("a-token-of-this-test\n", encoding="utf-8")
    file = project.topics / f"{ORDERS}.yaml"
    with watching(project.root, "--every", "2s") as watch:
        watch.wait_for_report()
        before = watch.audited()
        assert watch.audited(ORDERS) >= 100
        assert watch.metric("watch_declarations_valid") == 1
        write(sandbox, ORDERS, 7, keys=False)
        until(lambda: watch.metric("topic_findings", NULL_KEYS) == 1, "the fault")
        assert watch.audited() == before + 7

        file.write_text("partitions: many\n", encoding="utf-8")
        until(lambda: watch.metric("watch_declarations_valid") == 0, "the broken file")
        last = watch.metric("watch_last_success_timestamp_seconds") or 0
        until(lambda: (watch.metric("watch_last_success_timestamp_seconds") or 0) > last, "an audit without it")
        assert watch.metric("topic_findings", NULL_KEYS) == 1
        ready = watch.get("/readyz")
        assert ready.status == 200
        assert f"topics/{ORDERS}.yaml:1:13" in ready.text
        file.write_text(DECLARED, encoding="utf-8")
        until(lambda: watch.metric("watch_declarations_valid") == 1, "the repaired file")
        assert f"topics/{ORDERS}.yaml:1:13" in watch.printed
        assert "valid again" in watch.printed

        second = process("watch", "--stack", "dev", "--listen", "127.0.0.1:0", cwd=project.root)
        assert second.code == 2
        assert f"process {watch.process.pid} on host " in second.err
        assert second.err.count("\n") == 1
        report = watch.get("/report")
        assert "null-key" in report.text

        known = watch.audited()
        sandbox.stop(1)
        until(lambda: (watch.metric("watch_failed_audits") or 0) >= 1, "a failed audit", READY_S)
        assert watch.get("/report").status == 200
        sandbox.start(1)
        until(lambda: watch.metric("watch_failed_audits") == 0, "an audit after the failure", READY_S)
        assert watch.audited() == known
        assert watch.end() < END_S
        assert watch.process.returncode == 0
        assert PAYLOAD not in watch.printed + report.text
    assert "Traceback" not in watch.printed


@pytest.mark.nightly("A fault that is visible while a watch runs stays, and campaigns/notices keeps deliveries.")
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
        changes = [change for each in accepted for change in each.json["changes"]]
        return [each for each in changes if (each["topic"], each["check"]) == (ORDERS, "null-key")]

    def declare(token: str) -> None:
        deliveries = {
            "topicwarden:cluster": "sandbox",
            "topicwarden:notifications": {"hook": {"url": receiver.url, "token": token}},
            "topicwarden:catalogues": {"file": {"openlineage": str(events)}},
        }
        settings.write_text(json.dumps({"config": deliveries}), encoding="utf-8")

    with answering(answer) as receiver:
        declare("old-token")
        try:
            with watching(project.root, "--every", "2s", "--url", "https://watch.example.com") as watch:
                watch.wait_for_report()
                write(sandbox, ORDERS, 3, keys=False)
                until(lambda: events.exists() and "null-key" in events.read_text(), "the event")
                until(lambda: watch.metric("watch_failed_delivery", 'receiver="hook"') == 1, "the refusal")
                declare("new-token")
                until(lambda: bool(heard()), "the notification")
                until(lambda: watch.metric("watch_pending_deliveries") == 0, "the end of the deliveries")
                assert watch.metric("watch_failed_delivery", 'receiver="hook"') == 0
                assert watch.end() < END_S
        finally:
            settings.write_text(before, encoding="utf-8")
        assert {each.json["report_url"] for each in accepted} == {"https://watch.example.com/report"}
        assert len(heard()) == 1
    assert PAYLOAD not in watch.printed + events.read_text() + str(heard())
    assert "-token" not in watch.printed


@pytest.mark.nightly("campaigns/watch keeps watches that are killed.")
def test_a_running_audit_is_abandoned_in_time_and_nothing_is_lost_or_doubled(
    project: Project, sandbox: Sandbox
) -> None:
    with watching(project.root, "--every", "8s", "--rate", "512KiB") as watch:
        watch.wait_for_report()
        before = watch.audited()
        write(sandbox, LARGE, 40_000, value="x" * 1_000)  # they take more than a minute
        until(lambda: (watch.metric("watch_last_audit_timestamp_seconds") or 0) < time.time() - LONG_S, "a long audit")
        known = watch.audited()
        assert watch.end() < END_S
        assert watch.process.returncode == 0
        assert "did not finish in time; the history does not contain it" in watch.printed
    with watching(project.root, "--every", "1h") as watch:
        watch.wait_for_report()
        assert watch.audited() == before + 40_000
        assert watch.metric("audit_scanned_records") == before + 40_000 - known
        assert watch.end(signal.SIGINT) < END_S
        assert watch.process.returncode == 0


def test_a_stack_that_hangs_neither_stops_nor_hides_another(project: Project, sandbox: Sandbox) -> None:
    settings = project.stacks / "Pulumi.hung.yaml"
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it accepts connections, and never answers
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        settings.write_text(
            f"config: {{'kafka:bootstrapServers': ['{address}'], 'kafka:tlsEnabled': false}}\n", encoding="utf-8"
        )
        try:
            with watching(project.root, "--every", "1s", stacks=("--all-stacks",)) as watch:
                watch.wait_for_report("/stacks/dev/report.json")
                until(lambda: (watch.metric("watch_failed_audits", 'stack="hung"') or 0) > 0, "the failure")
                last = watch.metric("watch_last_success_timestamp_seconds", 'stack="dev"') or 0
                until(
                    lambda: (watch.metric("watch_last_success_timestamp_seconds", 'stack="dev"') or 0) > last,
                    "the next audit",
                )
                assert watch.metric("watch_failed_audits", 'stack="dev"') == 0
                ready = watch.get("/readyz")
                assert ready.status == 200
                assert f"no Kafka cluster answers at {address}" in ready.text
                assert 'href="stacks/dev/report"' in watch.get("/report").text
                assert watch.get("/stacks/hung/report").status == 503
                second = process("watch", "--stack", "hung", "--listen", "127.0.0.1:0", cwd=project.root)
                assert (second.code, f"process {watch.process.pid} on host " in second.err) == (2, True)
                assert watch.end() < END_S
                assert watch.process.returncode == 0
            assert PAYLOAD not in watch.printed
            assert "Traceback" not in watch.printed
        finally:
            settings.unlink()
