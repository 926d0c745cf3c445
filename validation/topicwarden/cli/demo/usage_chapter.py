"""Show who uses topics: an undeclared reader, and a topic that nobody uses, with its cost."""

from __future__ import annotations

import time
from collections.abc import Iterator

from topicwarden.cli.demo.demo_run import STACK, DemoResult, DemoRun, findings
from topicwarden.cli.terminal import TERMINAL
from topicwarden.extensions.sandbox.scenarios import active_group, flights, planted_faults
from topicwarden.model.usage_report import UsageReport
from topicwarden.model.verdict import Verdict
from topicwarden.operations.usage import usage_topics
from topicwarden.report import terminal
from topicwarden.report.audit.document import document as audit_document
from topicwarden.report.document import Medium
from topicwarden.report.usage.document import document as usage_document

_TOPICS = (planted_faults.ORDERS, flights.AIRCRAFT)
USE_FINDINGS = ((flights.AIRCRAFT, "idle-topic"), (planted_faults.ORDERS, "undeclared-consumer"))


def run(demo: DemoRun) -> Iterator[DemoResult]:
    demo.heading(f"topicwarden usage: {active_group.UNDECLARED} reads orders; nobody uses {flights.AIRCRAFT}")
    observed = usage_topics(demo.project, STACK)  # a topic is idle if it is the same in later observations
    with active_group.reading_undeclared(demo.servers):
        _wait_until_idle(observed)
        used = usage_topics(demo.project, STACK, _TOPICS, listener=TERMINAL)
        terminal.write(usage_document(used, Medium.TERMINAL), demo.console)
        demo.heading("topicwarden audit: the same in an audit")
        report = demo.audit(_TOPICS)
    terminal.write(audit_document(report, Medium.TERMINAL), demo.console)
    undeclared = [(use.topic, use.name) for use in used.undeclared]
    yield "the undeclared reader", [(planted_faults.ORDERS, active_group.UNDECLARED)], undeclared
    idle = [(each.name, each.saves_per_month is not None) for each in used.removable if each.kind == "topic"]
    yield "the idle topic, with its cost", [(flights.AIRCRAFT, True)], idle
    planted = (planted_faults.ORDERS, planted_faults.PLANTED[planted_faults.ORDERS])
    yield "the audit of both topics", sorted([planted, *USE_FINDINGS]), findings(report, Verdict.FAIL)


def _wait_until_idle(observed: UsageReport) -> None:
    """Wait until the first observation is older than ``idle_after`` of the policy, which is short for the demo."""
    time.sleep(max(0.0, (observed.taken_at + (observed.idle_after_ms or 0)) / 1000 - time.time()))
