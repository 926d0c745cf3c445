"""A fault is planted while `topicwarden watch` runs, and fires an alert within a minute."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import urllib3
import yaml

from topicwarden.child_processes import running
from topicwarden.cli.demo.demo_run import STACK, DemoResult, DemoRun, copy_of, finding_lines, print_lines
from topicwarden.cli.pages import alert_rules
from topicwarden.cli.terminal import waiting
from topicwarden.extensions.sandbox.scenarios import planted_faults
from topicwarden.extensions.sandbox.watch_servers import (
    LocalPrometheus,
    WebhookReceiver,
    find_prometheus,
    running_prometheus,
    webhook_receiver,
)
from topicwarden.model.finding import AuditReport, Finding
from topicwarden.model.problem import Refusal
from topicwarden.model.project import CACHE, Project
from topicwarden.model.timestamps import utc
from topicwarden.model.verdict import Verdict
from topicwarden.report.output_folder import write_files
from topicwarden.scratch_folder import scratch_folder
from topicwarden.specs.stacks.stack_settings import NOTIFICATIONS

ARGUMENTS: Final = ("watch", "--stack", STACK, "--every", "2s", "--listen", "127.0.0.1:0")
_TIMEOUT_S: Final = 10.0


@dataclass(frozen=True)
class WatchProcess:
    """A process of `topicwarden watch`; ``log`` has its output."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def address(self) -> str | None:
        """The host and the port of its server; None before it listens."""
        found = re.search(r"http://(\S+)", self._printed())
        return found[1] if found else None

    def get(self, path: str) -> str | None:
        """Return the text of a page; None if it is not served now. Raises Refusal if the process has ended."""
        if self.process.poll() is not None:
            lines = self._printed().splitlines()
            raise Refusal(f"`topicwarden watch` has ended: {lines[-1] if lines else self.process.returncode}")
        if self.address is None:
            return None
        try:
            answer = urllib3.request("GET", f"http://{self.address}{path}", timeout=_TIMEOUT_S, retries=False)
        except urllib3.exceptions.HTTPError:
            return None
        return answer.data.decode() if answer.status == 200 else None

    def failures_line(self, topic: str, check: str) -> str | None:
        """Return the line of `/metrics` that counts the failures of ``check`` on ``topic``; None if there is none."""
        labels = (f'topic="{topic}"', f'check="{check}"', 'verdict="fail"')
        lines = (self.get("/metrics") or "").splitlines()
        found = (each for each in lines if each.startswith("topicwarden_topic_findings{"))
        return next((each for each in found if all(label in each for label in labels)), None)

    def failure(self, topic: str, check: str) -> Finding | None:
        """Return the first failure of ``check`` on ``topic`` in the last report; None if there is none."""
        text = self.get("/report.json")
        findings = AuditReport.model_validate_json(text).findings if text else []
        failures = (each for each in findings if each.verdict is Verdict.FAIL)
        return next((each for each in failures if (each.topic, each.check) == (topic, check)), None)

    def _printed(self) -> str:
        return self.log.read_text("utf-8", errors="replace")


@contextmanager
def running_watch(project: Project, cache: Path, log: Path) -> Iterator[WatchProcess]:
    """Run `topicwarden watch` during the block, with the sandbox and the history in ``cache``."""
    command, variables = [sys.executable, "-m", "topicwarden", *ARGUMENTS], {**os.environ, CACHE: str(cache)}
    with running(command, project.root, variables, log) as process:
        yield WatchProcess(process, log)


def copy_with_receiver(project: Project, folder: Path, url: str) -> Project:
    """Return a copy of ``project`` in ``folder`` whose stack sends notifications to ``url``."""
    copied = copy_of(project, folder)
    file = copied.stacks / f"Pulumi.{STACK}.yaml"
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    content["config"][NOTIFICATIONS] = {"demo": {"url": url}}
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    return copied


T = TypeVar("T")

LIMIT_S: Final = 60.0
"""The time from the fault to the last of the metric, the alert and the report, in seconds."""
_TOPIC: Final = planted_faults.ORDERS
_CHECK: Final = planted_faults.PLANTED[_TOPIC]
_NOTIFICATION: Final = "Notification"
_READY_S: Final = 300.0
_POLL_S: Final = 0.2
_INDENT: Final = 9


@dataclass(frozen=True)
class WatchedFault:
    """The traces of the planted fault: its metric before and after it was planted, its alert, and its finding.

    ``alert_name`` is the name that the alert must have. ``seconds`` is the time from the fault to the last trace.
    """

    before: str | None
    metric: str | None
    alert: Mapping[str, Any] | None
    alert_name: str
    finding: Finding | None
    seconds: float

    def outcomes(self) -> Iterator[DemoResult]:
        """Yield each comparison: its subject, the expected result, the actual result."""
        complete = bool(self.metric and self.finding)
        yield "the metric before the fault", None, self.before
        yield "the alert of the fault", self.alert_name, self.alert and self.alert["labels"]["alertname"]
        yield f"all within {LIMIT_S:.0f} s of the fault", True, complete and self.seconds <= LIMIT_S


@dataclass(frozen=True)
class Alerting:
    """The alert of the fault, by its name, and the function that returns the firing alert with some labels."""

    name: str
    firing: Callable[[Mapping[str, str]], Mapping[str, Any] | None]

    def of_fault(self) -> Mapping[str, Any] | None:
        return self.firing({"alertname": self.name, "topic": _TOPIC, "check": _CHECK})


def run(demo: DemoRun) -> Iterator[DemoResult]:
    demo.heading("topicwarden watch: a fault is planted while it runs")
    yield from plant_while_watching(demo.project, demo.servers, demo.out).outcomes()


def plant_while_watching(project: Project, servers: Sequence[str], out: Path) -> WatchedFault:
    """Watch the stack, plant a fault, and print its metric, its alert and its finding when they appear.

    The folder ``out`` gets the report of the watch. All processes have ended at the end.
    """
    planted_faults.repair_setting(servers)
    with ExitStack() as resources:
        folder = resources.enter_context(scratch_folder())
        try:
            program = find_prometheus([project.tools_cache, project.root / ".cache"])
        except Refusal as refusal:
            print_lines(f"{refusal}. Instead, a small receiver takes the notifications.")
            receiver = resources.enter_context(webhook_receiver())
            watched = copy_with_receiver(project, folder / "project", receiver.url)
            watch = _audited(resources.enter_context(running_watch(watched, project.cache, folder / "watch.log")))
            alerting = Alerting(_NOTIFICATION, partial(_notified, receiver))
        else:
            watch = _audited(resources.enter_context(running_watch(project, project.cache, folder / "watch.log")))
            prometheus = _scraping(resources, program, str(watch.address), folder)
            alerting = Alerting(alert_rules.alert_name(_CHECK), prometheus.firing)
        return show_fault(servers, watch, alerting, out)


def _notified(receiver: WebhookReceiver, of_fault: Mapping[str, str]) -> Mapping[str, Any] | None:
    """Return the change of a finding as an alert; None if the finding does not fail now."""
    change = receiver.failing(of_fault["topic"], of_fault["check"])
    if change is None:
        return None
    shown = {name: change[name] for name in ("stack", "topic", "check", "owner") if change[name]}
    annotations = {"summary": change["message"], "report": change["report_url"]}
    labels = {"alertname": _NOTIFICATION, **shown}
    return {"labels": labels, "annotations": annotations, "startsAt": utc(change["since"])}


def _audited(watch: WatchProcess) -> WatchProcess:
    """Return ``watch`` after its first audit."""
    with waiting("the first audit of `topicwarden watch`"):
        if _until(lambda: watch.get("/readyz"), _READY_S) is None:
            raise Refusal(f"the first audit of `topicwarden watch` has not finished within {_READY_S:.0f} s")
    print_lines(f"`topicwarden {' '.join(ARGUMENTS)}` serves its first report: http://{watch.address}/report")
    return watch


def _scraping(resources: ExitStack, program: str, target: str, folder: Path) -> LocalPrometheus:
    """Return a Prometheus after its first scrape of ``target``."""
    with waiting("starting Prometheus"):
        prometheus = resources.enter_context(running_prometheus(program, target, alert_rules.alerts(), folder))
        if not _until(lambda: prometheus.has("topicwarden_watch_audit_seconds") or None, _READY_S):
            raise Refusal(f"Prometheus has not scraped http://{target}/metrics within {_READY_S:.0f} s")
    print_lines(f"Prometheus scrapes it, and evaluates `topicwarden rules alerts`: {prometheus.url}/alerts")
    return prometheus


def show_fault(servers: Sequence[str], watch: WatchProcess, alerting: Alerting, out: Path) -> WatchedFault:
    before = watch.failures_line(_TOPIC, _CHECK)
    print_lines(f"Now someone reduces the retention of {_TOPIC} by hand. Nobody starts an audit.")
    started = time.monotonic()
    planted_faults.change_setting_by_hand(servers)

    def first(what: str, probe: Callable[[], T | None]) -> T | None:
        with waiting(f"waiting for {what}"):
            found = _until(probe, LIMIT_S - (time.monotonic() - started))
        elapsed = time.monotonic() - started
        print_lines(f"{elapsed:5.1f} s  {what}" if found else f"NOT SEEN within {LIMIT_S:.0f} s: {what}")
        return found

    metric = first("the metric", lambda: watch.failures_line(_TOPIC, _CHECK))
    print_lines(*([re.sub(r"([{,])", r"\1 ", metric)] if metric else []), indent=_INDENT)
    alert = first("the alert", alerting.of_fault)
    print_lines(*(_alert_lines(alert) if alert else ()), indent=_INDENT)
    finding = first("the report", lambda: watch.failure(_TOPIC, _CHECK))
    print_lines(*(finding_lines(finding) if finding else ()), indent=_INDENT)
    seconds = time.monotonic() - started
    if page := watch.get("/report"):
        print_lines(*map(str, write_files(out, {"watch.html": page})), indent=_INDENT)
    return WatchedFault(before, metric, alert, alerting.name, finding, seconds)


def _alert_lines(alert: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines about an alert, as Prometheus or a notification has it."""
    labels, annotations = alert["labels"], alert["annotations"]
    since = alert.get("activeAt") or alert["startsAt"]
    yield f"{labels['alertname']} fires since {since[:19]}Z"
    yield ", ".join(f"{key}: {labels[key]}" for key in sorted(labels) if key != "alertname")
    yield from (annotations[name] for name in ("summary", "runbook_url", "report") if name in annotations)


def _until(probe: Callable[[], T | None], seconds: float) -> T | None:
    """Return the first result of ``probe`` that is not None; None if there is none after ``seconds``."""
    deadline = time.monotonic() + seconds
    while (found := probe()) is None and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    return found
