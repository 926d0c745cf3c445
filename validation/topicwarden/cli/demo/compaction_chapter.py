"""The cache: superseded records are gone after an append and a run of the log cleaner."""

from __future__ import annotations

from collections.abc import Iterator

from topicwarden.cli.demo.demo_run import DemoResult, DemoRun, findings
from topicwarden.extensions.sandbox.scenarios import compaction
from topicwarden.model.verdict import Verdict
from topicwarden.report import terminal
from topicwarden.report.audit.document import document as audit_document
from topicwarden.report.document import Medium


def run(demo: DemoRun) -> Iterator[DemoResult]:
    demo.heading("The cache: after an append and a log cleaner run, superseded records are gone")
    compaction.append(demo.servers)
    compaction.speed_up(demo.servers)
    try:
        compaction.wait_until_clean(demo.sandbox, compaction.TOPIC)
    finally:
        compaction.restore_default(demo.servers)
    cleaned = demo.audit((compaction.TOPIC,))
    terminal.write(audit_document(cleaned, Medium.TERMINAL), demo.console)
    found = findings(cleaned, Verdict.SUSPECT) + findings(cleaned, Verdict.FAIL)
    yield "problems of the cache after cleaning", [], found
