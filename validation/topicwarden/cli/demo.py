"""`topicwarden demo`: run the whole workflow on the sandbox, and verify that the audit finds the planted faults."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from topicwarden.audit.checks import check_docs
from topicwarden.cli.check import check
from topicwarden.cli.sandbox import sandbox_of, show
from topicwarden.cli.terminal import TERMINAL, engine_output
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.deploy.pulumi_stacks import select_stack
from topicwarden.kafka.connect.stack_connection import on_sandbox
from topicwarden.kafka.write.config_admin import has_records
from topicwarden.model.finding import AuditReport
from topicwarden.model.problem import Refusal
from topicwarden.model.project import find_project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import auditing
from topicwarden.operations.declared_topics import checked_stack
from topicwarden.operations.deploy import deploy_topics
from topicwarden.report.audit import text
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.formats import write
from topicwarden.sandbox.local_cluster import Sandbox
from topicwarden.sandbox.scenarios import broker_loss, compacted_cache, flights, log_cleaner, planted_faults
from topicwarden.toolchain import environment

STACK = "dev"
_LOST_BROKER = 3


def demo(out: Path) -> int:
    """Run the scenarios, print the audit report of each, and return 1 if a result is not as expected.

    ``out`` is the folder for the report files.
    """
    project, console = find_project(), Console()
    if not on_sandbox(project, STACK):
        raise Refusal(
            f"the demo deploys stack {STACK} to the sandbox, but stacks/Pulumi.{STACK}.yaml does not have "
            "`topicwarden:cluster: sandbox`; run the demo in a clone of the topicwarden repository"
        )
    sandbox = sandbox_of(project)
    _heading(console, "A Kafka cluster of three brokers on this machine")
    show(sandbox.up(brokers=3, say=_say))
    _heading(console, "topicwarden check: the declared topics")
    if check(STACK):
        return 1
    _heading(console, "topicwarden up: deploy the declared topics")
    select_stack(project, STACK)
    engine = PulumiEngine(project, STACK, environment(project, STACK))  # whatever backend the user has chosen
    checked = checked_stack(project, STACK, "deployed")
    if not deploy_topics(engine, checked, engine_output(), refreshing=True, listener=TERMINAL):
        return 1
    _heading(console, "Data: 336,776 real flights, a cache, and three planted faults")
    _fill(sandbox)
    with auditing(project, STACK, listener=TERMINAL) as audit_topics:
        _heading(console, "topicwarden audit: the records")
        report = audit_topics(())
        text.render(report, console)
        written = write(report, out, ReportBackground(project.root, check_docs()))
        _heading(console, "The cache: after an append and a log cleaner run, superseded records are gone")
        _clean(sandbox)
        cleaned = audit_topics((compacted_cache.TOPIC,))
        text.render(cleaned, console)
        _heading(console, f"The partitions: broker {_LOST_BROKER} is killed")
        with _lost_broker(sandbox):
            refused = broker_loss.refused_writes(sandbox.bootstrap_servers)
            lost = audit_topics((broker_loss.TOPIC,))
        text.render(lost, console)
        print(f"Writes with acks=all: refused in {len(refused)} of {broker_loss.PARTITIONS} partitions, {refused}.")
    _heading(console, "Expected and actual results")
    as_expected = [_compare(*row) for row in _outcomes(report, cleaned, lost, refused)]
    print("\nThe report:", *written, sep="\n  ")
    print(
        'The cluster is still running. Use it with `eval "$(topicwarden sandbox env)"`, then '
        "`pulumi preview --stack dev`. Stop it with `topicwarden sandbox down`."
    )
    return 0 if all(as_expected) else 1


def _fill(sandbox: Sandbox) -> None:
    servers = sandbox.bootstrap_servers
    if not has_records(servers, flights.EVENTS):
        started = time.monotonic()
        _say(f"{flights.fill(servers):,} flights written to two topics in {time.monotonic() - started:.1f} s")
    log_cleaner.speed_up(servers)
    log_cleaner.wait_until_clean(sandbox, flights.AIRCRAFT)
    log_cleaner.pause(servers)
    compacted_cache.fill(servers)
    if not has_records(servers, broker_loss.TOPIC):
        broker_loss.fill(servers)
    if not has_records(servers, planted_faults.ORDERS):
        planted_faults.fill(servers)
    planted_faults.plant(servers)
    _say("the cache is filled, the faults are planted, and the log cleaner is paused during the audit")


def _clean(sandbox: Sandbox) -> None:
    servers = sandbox.bootstrap_servers
    compacted_cache.append(servers)
    log_cleaner.speed_up(servers)
    log_cleaner.wait_until_clean(sandbox, compacted_cache.TOPIC)
    log_cleaner.restore_default(servers)


@contextmanager
def _lost_broker(sandbox: Sandbox) -> Iterator[None]:
    """Kill a broker, wait until the controller has noticed, and start the broker again after the block."""
    sandbox.kill(_LOST_BROKER)
    try:
        broker_loss.wait_until_noticed(sandbox.bootstrap_servers, _LOST_BROKER)
        yield
    finally:
        sandbox.start(_LOST_BROKER, _say)


def _outcomes(
    report: AuditReport, cleaned: AuditReport, lost: AuditReport, refused: list[int]
) -> Iterator[tuple[str, object, object]]:
    """Yield each comparison: its subject, the expected result, the actual result."""
    yield "exactly the planted faults", sorted(planted_faults.PLANTED.items()), sorted(_findings(report, Verdict.FAIL))
    yield (
        "suspects while the log cleaner is paused",
        [(compacted_cache.TOPIC, "compaction-ratio")],
        sorted(_findings(report, Verdict.SUSPECT)),
    )
    yield "records read", flights.RECORDS, _records(report, flights.EVENTS)
    yield (
        "problems of the cache after cleaning",
        [],
        sorted(_findings(cleaned, Verdict.SUSPECT) + _findings(cleaned, Verdict.FAIL)),
    )
    yield (
        "a lost broker",
        ["min-insync-replicas", "under-replicated"],
        sorted(c for _, c in _findings(lost, Verdict.FAIL)),
    )
    yield (
        "partitions read without that broker",
        broker_loss.PARTITIONS,
        sum(bool(p.records) for p in lost.topics[0].partitions),
    )
    min_insync = [finding for finding in lost.findings if finding.check == "min-insync-replicas"]
    yield "partitions that refuse writes", min_insync[0].partitions if min_insync else None, refused


def _compare(subject: str, expected: object, actual: object) -> bool:
    """Print the comparison, and return True if ``actual`` is as expected."""
    print(f"{'as expected' if expected == actual else 'NOT AS EXPECTED'}  {subject}: {actual}")
    if expected != actual:
        print(f"                 expected {expected}")
    return expected == actual


def _findings(report: AuditReport, verdict: Verdict) -> list[tuple[str, str]]:
    return [(finding.topic, finding.check) for finding in report.findings if finding.verdict is verdict]


def _records(report: AuditReport, topic: str) -> int:
    return sum(facts.records or 0 for facts in report.topics if facts.name == topic)


def _heading(console: Console, title: str) -> None:
    console.print()
    console.rule(f"[bold]{title}", align="left")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
