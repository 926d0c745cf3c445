"""The cache: superseded records are gone after an append and a run of the log cleaner."""

from __future__ import annotations

from collections.abc import Iterator

from topicwarden.cli.demo.demo_run import DemoResult, DemoRun, findings
from topicwarden.extensions.sandbox.scenarios import compacted_cache, log_cleaner
from topicwarden.model.verdict import Verdict
from topicwarden.report import terminal
from topicwarden.report.audit.document import document as audit_document
from topicwarden.report.document import Medium


def run(demo: DemoRun) -> Iterator[DemoResult]:
    demo.heading("The cache: after an append and a log cleaner run, superseded records are gone")
    compacted_cache.append(demo.servers)
    log_cleaner.speed_up(demo.servers)
    log_cleaner.wait_until_clean(demo.sandbox, compacted_cache.TOPIC)
    log_cleaner.restore_default(demo.servers)
    cleaned = demo.audit((compacted_cache.TOPIC,))
    terminal.write(audit_document(cleaned, Medium.TERMINAL), demo.console)
    found = findings(cleaned, Verdict.SUSPECT) + findings(cleaned, Verdict.FAIL)
    yield "problems of the cache after cleaning", [], found
