"""`topicwarden demo`: the whole product on real parts, and a look at whether it found what was planted."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from topicwarden.cli.audit import auditing
from topicwarden.cli.check import check
from topicwarden.cli.rules import check_docs
from topicwarden.cli.sandbox import run_pulumi, sandbox_of, select_stack, show
from topicwarden.kafka.connection import on_sandbox
from topicwarden.model.finding import AuditReport
from topicwarden.model.problem import Refusal
from topicwarden.model.project import find_project
from topicwarden.model.verdict import Verdict
from topicwarden.report.audit import text
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.report_files import write
from topicwarden.sandbox.local_cluster import Sandbox
from topicwarden.sandbox.scenarios import broker_loss, compacted_cache, flights, log_cleaner, planted_faults
from topicwarden.sandbox.scenarios.cluster_settings import filled

STACK = "dev"
_LOST_BROKER = 3


def demo(out: Path) -> int:
    """Runs the stories, prints what the audit says of each; 1 where it did not say what was foreseen."""
    project, console = find_project(), Console()
    if not on_sandbox(project, STACK):
        raise Refusal(
            f"the demo deploys stack {STACK} to the sandbox, and stacks/Pulumi.{STACK}.yaml does not say "
            "topicwarden:cluster: sandbox; run it in a clone of topicwarden"
        )
    sandbox = sandbox_of(project)
    _heading(console, "A real Kafka cluster of three brokers, on this machine")
    show(sandbox.up(brokers=3, say=_say))
    _heading(console, "topicwarden check: what is declared")
    if check(STACK):
        return 1
    _heading(console, "pulumi up: what is declared, deployed by the real engine")
    select_stack(project, STACK)
    run_pulumi(
        project, STACK, "up", "--stack", STACK, "--yes", "--skip-preview", "--refresh", "--suppress-outputs", show=True
    )
    _heading(console, "Data: 336,776 real flights, a cache, and three planted faults")
    _fill(sandbox)
    with auditing(project, STACK) as look:
        _heading(console, "topicwarden audit: what the records say")
        report = look(())
        text.render(report, console)
        written = write(report, out, ReportBackground(project.root, check_docs()))
        _heading(console, "The cache: one more append and a cleaning, and what was superseded is gone")
        _clean(sandbox)
        cleaned = look((compacted_cache.TOPIC,))
        text.render(cleaned, console)
        _heading(console, f"The partitions: broker {_LOST_BROKER} is killed")
        with _lost_broker(sandbox):
            refused = broker_loss.refused_writes(sandbox.bootstrap_servers)
            lost = look((broker_loss.TOPIC,))
        text.render(lost, console)
        print(f"Writes with acks=all: refused in {len(refused)} of {broker_loss.PARTITIONS} partitions, {refused}.")
    _heading(console, "What was foreseen, and what was found")
    held = [_tell(*row) for row in _outcomes(report, cleaned, lost, refused)]
    print("\nThe report:", *written, sep="\n  ")
    print(
        'The cluster runs on: `eval "$(topicwarden sandbox env)"`, then `pulumi preview --stack dev`; '
        "`topicwarden sandbox down` ends it."
    )
    return 0 if all(held) else 1


def _fill(sandbox: Sandbox) -> None:
    servers = sandbox.bootstrap_servers
    if not filled(servers, flights.EVENTS):
        started = time.monotonic()
        _say(f"{flights.fill(servers):,} flights written to two topics in {time.monotonic() - started:.1f} s")
    log_cleaner.wake(servers)
    log_cleaner.wait_until_clean(sandbox, flights.AIRCRAFT)
    log_cleaner.hold(servers)
    compacted_cache.fill(servers)
    if not filled(servers, broker_loss.TOPIC):
        broker_loss.fill(servers)
    if not filled(servers, planted_faults.ORDERS):
        planted_faults.fill(servers)
    planted_faults.plant(servers)
    _say("the cache is filled, the faults are planted, and the cleaner is held while we look")


def _clean(sandbox: Sandbox) -> None:
    servers = sandbox.bootstrap_servers
    compacted_cache.append(servers)
    log_cleaner.wake(servers)
    log_cleaner.wait_until_clean(sandbox, compacted_cache.TOPIC)
    log_cleaner.release(servers)


@contextmanager
def _lost_broker(sandbox: Sandbox) -> Iterator[None]:
    """Kills one, waits until the controller took note, and starts it again in the end."""
    sandbox.kill(_LOST_BROKER)
    try:
        broker_loss.wait_until_noticed(sandbox.bootstrap_servers, _LOST_BROKER)
        yield
    finally:
        sandbox.start(_LOST_BROKER, _say)


def _outcomes(
    report: AuditReport, cleaned: AuditReport, lost: AuditReport, refused: list[int]
) -> Iterator[tuple[str, object, object]]:
    """What is compared: what it is about, what was foreseen, what was found."""
    yield "faults found, and nothing else", sorted(planted_faults.PLANTED.items()), sorted(_found(report, Verdict.FAIL))
    yield (
        "suspects: the cleaner is held",
        [(compacted_cache.TOPIC, "compaction-ratio")],
        sorted(_found(report, Verdict.SUSPECT)),
    )
    yield "records read", flights.RECORDS, _records(report, flights.EVENTS)
    yield "the cache after cleaning", [], sorted(_found(cleaned, Verdict.SUSPECT) + _found(cleaned, Verdict.FAIL))
    yield "a lost broker", ["min-insync-replicas", "under-replicated"], sorted(c for _, c in _found(lost, Verdict.FAIL))
    yield "partitions read without it", broker_loss.PARTITIONS, sum(bool(p.records) for p in lost.topics[0].partitions)
    short = [finding for finding in lost.findings if finding.check == "min-insync-replicas"]
    yield "writes refused where the audit says", short[0].partitions if short else None, refused


def _tell(what: str, foreseen: object, found: object) -> bool:
    print(f"{'as foreseen' if foreseen == found else 'NOT AS FORESEEN'}  {what}: {found}")
    if foreseen != found:
        print(f"                 expected {foreseen}")
    return foreseen == found


def _found(report: AuditReport, verdict: Verdict) -> list[tuple[str, str]]:
    return [(finding.topic, finding.check) for finding in report.findings if finding.verdict is verdict]


def _records(report: AuditReport, topic: str) -> int:
    return sum(facts.records or 0 for facts in report.topics if facts.name == topic)


def _heading(console: Console, title: str) -> None:
    console.print()
    console.rule(f"[bold]{title}", align="left")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
