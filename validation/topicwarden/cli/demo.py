"""`topicwarden demo`: run the whole workflow on the sandbox, and verify that the audit finds the planted faults."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from topicwarden.audit.check_docs import check_docs
from topicwarden.cli import demo_schemas, demo_watch
from topicwarden.cli.check import check
from topicwarden.cli.sandbox import sandbox_of, show, start_registry
from topicwarden.cli.terminal import TERMINAL, engine_output
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.deploy.pulumi_stacks import select_stack
from topicwarden.kafka.connect.stack_connection import on_sandbox
from topicwarden.kafka.write.config_admin import has_records
from topicwarden.model.finding import AuditReport
from topicwarden.model.planned_change import PlanReport, Severity
from topicwarden.model.problem import Refusal
from topicwarden.model.project import find_project
from topicwarden.model.usage_report import UsageReport
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import auditing
from topicwarden.operations.declared_topics import checked_stack
from topicwarden.operations.deploy import deploy_topics
from topicwarden.operations.plan import planned
from topicwarden.operations.usage import usage_topics
from topicwarden.policies.check_specs import CheckedStacks
from topicwarden.report.audit import text
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.formats import write
from topicwarden.report.plan import text as plan_text
from topicwarden.report.usage import text as usage_text
from topicwarden.sandbox.local_cluster import Sandbox
from topicwarden.sandbox.scenarios import (
    active_group,
    broker_loss,
    compacted_cache,
    flights,
    log_cleaner,
    planted_faults,
)
from topicwarden.toolchain import environment

STACK = "dev"
_LOST_BROKER = 3
_USE_FINDINGS = ((planted_faults.ORDERS, "undeclared-consumer"), (flights.AIRCRAFT, "idle-topic"))


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
    show(sandbox.up(brokers=3, authorizer=True, say=_say))
    start_registry(project)
    _heading(console, "topicwarden check: the declared topics")
    if check(STACK):
        return 1
    _heading(console, "topicwarden up: deploy the declared topics")
    select_stack(project, STACK)
    engine = PulumiEngine(project, STACK, environment(project, STACK))  # whatever backend the user has chosen
    checked = checked_stack(project, STACK, "deployed")
    first = demo_schemas.register_first(project, checked)
    if not deploy_topics(engine, checked, engine_output(), refreshing=True, listener=TERMINAL):
        return 1
    _heading(console, "Data: 336,776 real flights, a cache, payments of two schemas, and three planted faults")
    _fill(sandbox)
    demo_schemas.fill(project, sandbox.bootstrap_servers, checked, first)
    observed = usage_topics(project, STACK)  # a topic is idle if it is the same in later observations
    plan, unreadable = _plans(engine, checked, sandbox, console)
    with auditing(project, STACK, listener=TERMINAL) as audit_topics:
        with active_group.reading_undeclared(sandbox.bootstrap_servers):
            _heading(
                console, f"topicwarden usage: {active_group.UNDECLARED} reads orders; nobody uses {flights.AIRCRAFT}"
            )
            _wait_until_idle(observed)
            used = usage_topics(project, STACK, (planted_faults.ORDERS, flights.AIRCRAFT), listener=TERMINAL)
            usage_text.render(used, console)
            _heading(console, "topicwarden audit: the records, and who uses the topics")
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
    _heading(console, "topicwarden watch: a fault is planted while it runs")
    watched = demo_watch.plant_while_watching(project, sandbox.bootstrap_servers, out)
    _heading(console, "Expected and actual results")
    rows = [*_access_outcomes(plan), *demo_schemas.outcomes(plan, unreadable), *_usage_outcomes(used)]
    as_expected = [_compare(*row) for row in (*rows, *_outcomes(report, cleaned, lost, refused), *watched.outcomes())]
    print("\nThe report:", *written, sep="\n  ")
    print(
        'The cluster is still running. Use it with `eval "$(topicwarden sandbox env)"`, then '
        "`pulumi preview --stack dev`. Stop it with `topicwarden sandbox down`."
    )
    return 0 if all(as_expected) else 1


def _plans(
    engine: PulumiEngine, checked: CheckedStacks, sandbox: Sandbox, console: Console
) -> tuple[PlanReport, PlanReport]:
    """Print the plans of two pull requests, and return them."""
    _heading(
        console,
        f"topicwarden plan: a pull request revokes the access of {active_group.USER}, which is reading, and adds a "
        "field to payments without a default",
    )
    with active_group.reading(sandbox.bootstrap_servers, sandbox.user_servers):
        incompatible = demo_schemas.with_required_field(_without_group(checked))
        plan = planned(engine, checked=incompatible, listener=TERMINAL)
    print(plan_text.render(plan, console), end="")
    _heading(console, "topicwarden plan: a schema that the registry accepts cannot read all records")
    unreadable = planned(engine, checked=demo_schemas.without_default(checked), listener=TERMINAL)
    print(plan_text.render(unreadable, console), end="")
    return plan, unreadable


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


def _without_group(checked: CheckedStacks) -> CheckedStacks:
    """Return the declarations as if the YAML no longer gave access to the user of the active group."""
    access, principal = checked.access[STACK], f"User:{active_group.USER}"
    acls = {acl: sources for acl, sources in access.acls.items() if acl.principal != principal}
    return replace(checked, access={STACK: replace(access, acls=acls)})


def _wait_until_idle(observed: UsageReport) -> None:
    """Wait until the first observation is older than ``idle_after`` of the policy, which is short for the demo."""
    time.sleep(max(0.0, (observed.taken_at + (observed.idle_after_ms or 0)) / 1000 - time.time()))


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


def _access_outcomes(plan: PlanReport) -> Iterator[tuple[str, object, object]]:
    """Yield the comparison of the plan that revokes access."""
    refused = (
        [each.kind for each in plan.access.consequences if each.severity is Severity.REFUSED] if plan.access else []
    )
    yield "a revoked access that is in use is refused", ["access-lost"], refused


def _outcomes(
    report: AuditReport, cleaned: AuditReport, lost: AuditReport, refused: list[int]
) -> Iterator[tuple[str, object, object]]:
    """Yield each comparison: its subject, the expected result, the actual result."""
    planted = [*planted_faults.PLANTED.items(), *_USE_FINDINGS]
    yield "exactly the planted faults", sorted(planted), sorted(_findings(report, Verdict.FAIL))
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


def _usage_outcomes(report: UsageReport) -> Iterator[tuple[str, object, object]]:
    """Yield each comparison of the usage report."""
    undeclared = [(use.topic, use.name) for use in report.undeclared]
    yield "the undeclared reader", [(planted_faults.ORDERS, active_group.UNDECLARED)], undeclared
    idle = [(each.name, each.saves_per_month is not None) for each in report.removable if each.kind == "topic"]
    yield "the idle topic, with its cost", [(flights.AIRCRAFT, True)], idle


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
