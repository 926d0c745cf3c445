"""A broker is killed: the audit names the partitions that refuse writes, and still reads all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from topicwarden.cli.demo.demo_run import DemoResult, DemoRun, findings, say
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios import broker_loss
from topicwarden.model.verdict import Verdict
from topicwarden.report import terminal
from topicwarden.report.audit.document import document as audit_document
from topicwarden.report.document import Medium

_LOST_BROKER: Final = 3


def run(demo: DemoRun) -> Iterator[DemoResult]:
    demo.heading(f"The partitions: broker {_LOST_BROKER} is killed")
    audit = demo.audit  # a Spark session starts before the broker is lost
    with _lost_broker(demo.sandbox):
        refused = broker_loss.refused_writes(demo.servers)
        lost = audit((broker_loss.TOPIC,))
    terminal.write(audit_document(lost, Medium.TERMINAL), demo.console)
    print(f"Writes with acks=all: refused in {len(refused)} of {broker_loss.PARTITIONS} partitions, {refused}.")
    failed = sorted(check for _, check in findings(lost, Verdict.FAIL))
    yield "a lost broker", ["min-insync-replicas", "under-replicated"], failed
    read = sum(bool(partition.records) for partition in lost.topics[0].partitions)
    yield "partitions read without that broker", broker_loss.PARTITIONS, read
    min_insync = [finding for finding in lost.findings if finding.check == "min-insync-replicas"]
    yield "partitions that refuse writes", min_insync[0].partitions if min_insync else None, refused


@contextmanager
def _lost_broker(sandbox: Sandbox) -> Iterator[None]:
    """Kill a broker, wait until the controller has noticed, and start the broker again after the block."""
    sandbox.kill(_LOST_BROKER)
    try:
        broker_loss.wait_until_noticed(sandbox.bootstrap_servers, _LOST_BROKER)
        yield
    finally:
        sandbox.start(_LOST_BROKER, say)
