"""The story of the demo: declare, deploy, fill, break, audit."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from topicwarden.audit.check_docs import check_docs
from topicwarden.cli.check import check
from topicwarden.cli.demo.demo_run import STACK, DemoResult, DemoRun, finding_lines, findings, heading, print_lines, say
from topicwarden.cli.demo.usage_chapter import USE_FINDINGS
from topicwarden.cli.sandbox import sandbox_of, show
from topicwarden.cli.terminal import TERMINAL, engine_output
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.deploy.pulumi_stacks import select_stack
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios import broker_loss, compaction, flights, planted_faults
from topicwarden.kafka.write.config_admin import delete_topic_records, has_records, offset_count
from topicwarden.model.finding import AuditReport
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.declared_topics import checked_stack
from topicwarden.operations.deploy import deploy_topics
from topicwarden.report import terminal
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.document import document as audit_document
from topicwarden.report.audit.formats import write
from topicwarden.report.document import Medium
from topicwarden.toolchain import environment

_SHOWN = (planted_faults.ORDERS, planted_faults.PLANTED[planted_faults.ORDERS])
_EXPIRED = "retention-time"
"""Suspected if records of an earlier demo expired while the brokers were stopped: they go 30 s after the start."""


def prepare(project: Project, console: Console, out: Path, resources: ExitStack) -> DemoRun:
    """Start the sandbox, deploy the example, and fill its topics; what is there already remains.

    The log cleaner is paused until ``resources`` are closed.
    """
    sandbox = sandbox_of(project)
    heading(console, "A Kafka cluster of three brokers on this machine")
    show(sandbox.up(brokers=3, authorizer=True, say=say))
    heading(console, "topicwarden check: the declared topics")
    if check(stack=[STACK]):
        raise Refusal("the declared topics have errors")
    heading(console, "topicwarden up: deploy the declared topics")
    select_stack(project, STACK)
    engine = PulumiEngine(project, STACK, environment(project, STACK))  # whatever backend the user has chosen
    checked = checked_stack(project, STACK, "deployed")
    if not deploy_topics(engine, checked, engine_output(), refreshing=True, listener=TERMINAL):
        raise Refusal("the topics were not deployed")
    heading(console, "Data: 336,776 real flights, a cache, and three planted faults")
    _fill(sandbox, resources)
    return DemoRun(project, sandbox, engine, checked, console, out, resources)


def run(demo: DemoRun) -> Iterator[DemoResult]:
    """Audit the topics, print one finding, then the whole report, and write it."""
    demo.heading("topicwarden audit: the records")
    report = demo.audit(())
    print_lines(f"Someone has reduced the retention of {_SHOWN[0]} by hand. The audit finds it:")
    for finding in report.findings:
        if (finding.topic, finding.check) == _SHOWN:
            print_lines(*finding_lines(finding), indent=2)
    demo.heading("The whole report")
    terminal.write(audit_document(report, Medium.TERMINAL), demo.console)
    written = write(report, demo.out, ReportBackground(demo.project.root, check_docs()))
    print("\nThe report:", *written, sep="\n  ")
    yield "exactly the planted faults", sorted(planted_faults.PLANTED.items()), _without_use(report, Verdict.FAIL)
    suspects = [(compaction.TOPIC, "compaction-ratio")]
    found = [each for each in _without_use(report, Verdict.SUSPECT) if each[1] != _EXPIRED]
    yield "suspects while the log cleaner is paused", suspects, found
    yield "records read", flights.RECORDS, _records(report, flights.EVENTS)


def _without_use(report: AuditReport, verdict: Verdict) -> list[tuple[str, str]]:
    """Return the findings without those about the use of topics, which an earlier chapter may have caused."""
    of_use = {check for _, check in USE_FINDINGS}
    return [found for found in findings(report, verdict) if found[1] not in of_use]


def _records(report: AuditReport, topic: str) -> int:
    return sum(facts.records or 0 for facts in report.topics if facts.name == topic)


def _fill(sandbox: Sandbox, resources: ExitStack) -> None:
    servers = sandbox.bootstrap_servers
    write_flights(servers)
    resources.callback(compaction.restore_default, servers)
    compaction.speed_up(servers)
    compaction.wait_until_clean(sandbox, flights.AIRCRAFT)
    compaction.pause(servers)
    compaction.fill(servers)
    if not has_records(servers, broker_loss.TOPIC):
        broker_loss.fill(servers)
    if not has_records(servers, planted_faults.ORDERS):
        planted_faults.fill(servers)
    planted_faults.plant(servers)
    say("the cache is filled, the faults are planted, and the log cleaner is paused during the audit")


def write_flights(servers: Sequence[str]) -> None:
    """Write all flights, unless an earlier demo has; what one that was stopped has left is deleted first."""
    if (written := offset_count(servers, flights.EVENTS)) != flights.RECORDS:
        if written:
            say(f"a demo that was stopped has left {written:,} flights: all are written again")
            delete_topic_records(servers, flights.EVENTS)
        started = time.monotonic()
        say(f"{flights.fill(servers):,} flights written to two topics in {time.monotonic() - started:.1f} s")
