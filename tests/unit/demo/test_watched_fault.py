"""Test the end of the demo without a cluster: what it prints about a fault, and where its alerts come from."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import urllib3

from topicwarden.child_processes import running
from topicwarden.cli.demo import watch_chapter
from topicwarden.cli.demo.demo_run import shared_cache
from topicwarden.cli.demo.watch_chapter import Alerting, WatchProcess, copy_with_receiver, running_watch, show_fault
from topicwarden.extensions.sandbox.scenarios import planted_faults
from topicwarden.extensions.sandbox.watch_servers import WebhookReceiver, find_prometheus, webhook_receiver
from topicwarden.kafka.connect.stack_connection import stack_settings
from topicwarden.model.finding import Finding
from topicwarden.model.problem import Location, Refusal
from topicwarden.model.project import CACHE, Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.report_deliveries import receivers_of

LABELS = {"alertname": "TopicwardenConfigDrift", "topic": "shop.orders", "check": "config-drift"}
METRIC = 'topicwarden_topic_findings{stack="dev",topic="shop.orders",check="config-drift",verdict="fail"} 1'
FINDING = Finding(
    check="config-drift",
    verdict=Verdict.FAIL,
    topic="shop.orders",
    message="`retention.ms` is 1 h on the cluster, declared is 7 days, so records expire earlier than readers expect",
    remedy="`topicwarden up --refresh` writes the declared value",
    location=Location(file="topics/shop/shop.orders.yaml", line=4, column=17),
)
ALERT = {
    "labels": {**LABELS, "severity": "warning"},
    "annotations": {"summary": "shop.orders (dev): config-drift fails. " * 3, "runbook_url": "https://example.com/#x"},
    "activeAt": "2026-11-25T08:00:00Z",
}


class PlantedWatch(WatchProcess):
    """Stands in for a watch that sees the fault once it is planted, or never."""

    sees = True
    planted = False

    def failures_line(self, topic: str, check: str) -> str | None:
        return METRIC if self.planted and self.sees else None

    def failure(self, topic: str, check: str) -> Finding | None:
        return FINDING if self.planted and self.sees else None

    def get(self, path: str) -> str | None:
        return f"<html>{path}</html>"


@pytest.fixture
def watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PlantedWatch:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()

    def plant(servers: list[str]) -> None:
        PlantedWatch.planted = True

    monkeypatch.setattr(PlantedWatch, "planted", False)
    monkeypatch.setattr(planted_faults, "change_setting_by_hand", plant)
    return PlantedWatch(process, tmp_path / "log")


def firing(labels: Mapping[str, str]) -> dict[str, Any]:
    assert labels == LABELS
    return ALERT


def test_the_metric_the_alert_and_the_finding_are_shown_in_80_columns(
    watch: PlantedWatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fault = show_fault([], watch, Alerting("TopicwardenConfigDrift", firing), tmp_path)
    assert [expected == actual for _, expected, actual in fault.outcomes()] == [True] * 3
    assert (tmp_path / "watch.html").read_text(encoding="utf-8") == "<html>/report</html>"
    printed = capsys.readouterr().out
    for part in (
        "  the metric\n",
        'check="config-drift"',
        "TopicwardenConfigDrift fires",
        "shop.orders.yaml:4",
        "remedy",
    ):
        assert part in printed
    too_long = [line for line in printed.splitlines() if len(line) > 80 and " " in line.strip()]
    assert too_long == []


def test_a_fault_that_is_not_seen_in_time_is_not_as_expected(
    watch: PlantedWatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(watch_chapter, "LIMIT_S", 0.0)
    monkeypatch.setattr(PlantedWatch, "sees", False)
    fault = show_fault([], watch, Alerting("TopicwardenConfigDrift", lambda labels: None), tmp_path)
    assert [expected == actual for _, expected, actual in fault.outcomes()] == [True, False, False]
    assert capsys.readouterr().out.count("NOT SEEN") == 3


def test_a_watch_that_has_ended_is_refused_with_its_last_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with running([sys.executable, "-c", "print('first'); print('the reason')"], tmp_path, os.environ, log) as process:
        process.wait()
    with pytest.raises(Refusal, match="has ended: the reason"):
        WatchProcess(process, log).get("/readyz")


def test_a_child_process_ends_with_its_block(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = [sys.executable, "-c", "import time; print('ready', flush=True); time.sleep(600)"]
    with pytest.raises(KeyboardInterrupt), running(command, tmp_path, os.environ, log) as process:
        while "ready" not in log.read_text(encoding="utf-8"):
            time.sleep(0.01)
        raise KeyboardInterrupt
    assert process.returncode is not None


def prometheus(folder: Path, version: str) -> Path:
    """Write a program that says that it is Prometheus of this version."""
    program = folder / "prometheus"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'prometheus, version {version} (branch: x)'\n", encoding="utf-8")
    program.chmod(0o755)
    return program


def test_the_first_prometheus_that_knows_the_rules_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bin"
    monkeypatch.setenv("PATH", str(path))
    with pytest.raises(Refusal, match=r"^there is no Prometheus 2\.42 or later$"):
        find_prometheus([tmp_path / "cache"])
    older = prometheus(tmp_path / "cache" / "prometheus" / "usr" / "bin", "2.31.2+ds1")
    with pytest.raises(Refusal, match=f"or later; {older} is 2.31"):
        find_prometheus([tmp_path / "cache"])
    recent = prometheus(path, "3.5.0")
    assert find_prometheus([tmp_path / "cache"]) == str(recent)


def test_the_receiver_knows_what_fails() -> None:
    def post(receiver: WebhookReceiver, change: str) -> None:
        changed = {"topic": "a", "check": "b", "change": change}
        body = json.dumps({"report_url": "https://r", "changes": [changed]})
        assert urllib3.request("POST", receiver.url, body=body, retries=False).status == 200

    with webhook_receiver() as receiver:
        assert receiver.failing("a", "b") is None
        post(receiver, "fail")
        assert receiver.failing("a", "b") == {"topic": "a", "check": "b", "change": "fail", "report_url": "https://r"}
        assert receiver.failing("a", "c") is None
        post(receiver, "resolved")
        assert receiver.failing("a", "b") is None


def test_a_copy_with_a_receiver_has_the_same_topics_and_is_watched_with_the_sandbox_of_the_original(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(CACHE, raising=False)
    original = Project(Path(__file__).parents[3])
    copied = copy_with_receiver(original, tmp_path / "copy", "http://127.0.0.1:1")
    receivers = receivers_of(copied, "dev", stack_settings(copied, "dev"))
    assert [(each.name, each.url) for each in receivers] == [("demo", "http://127.0.0.1:1")]
    assert len(list(copied.topics.rglob("*.yaml"))) == len(list(original.topics.rglob("*.yaml")))
    assert not (copied.root / ".cache").exists()  # no command uses a link to the cache of another project
    started: list[Mapping[str, str]] = []

    @contextmanager
    def running(command: list[str], folder: Path, variables: Mapping[str, str], output: Path) -> Iterator[None]:
        started.append(variables)
        yield

    monkeypatch.setattr(watch_chapter, "running", running)
    with running_watch(copied, original.cache, tmp_path / "log"):
        assert [each[CACHE] for each in started] == [str(original.cache)]
    with shared_cache(original):
        assert copied.cache == original.cache
    assert CACHE not in os.environ
