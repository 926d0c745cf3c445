"""Test what a report says of the previous audit: what is new, still open and resolved."""

from __future__ import annotations

from tests.support import reports
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.evidence import CommittedCounts
from topicwarden.audit.history.outcomes import with_changes
from topicwarden.model.finding import AuditReport, Finding, PastAudit, SeenFinding
from topicwarden.model.verdict import Verdict
from topicwarden.report.audit import html
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.digest import OF_CONTENTS, digest

FAIL = Verdict.FAIL
EARLIER = PastAudit(
    started=2_000,
    topics={FAIL: 2},
    seen=[
        SeenFinding(topic="a", check="config-drift", verdict=FAIL, since=1_000),
        SeenFinding(topic="b", check="value-schema", verdict=FAIL, since=2_000),
        SeenFinding(topic="not-audited", check="value-schema", verdict=FAIL, since=2_000),
    ],
)


def report(*findings: Finding) -> AuditReport:
    topics = [reports.topic(name, [1]) for name in ("a", "b")]
    return reports.report(topics, list(findings)).model_copy(update={"started": 9_000})


FOUND = report(
    Finding(check="value-schema", verdict=FAIL, topic="a", evidence={"partition": 3, "offset": 17}),
    Finding(check="config-drift", verdict=FAIL, topic="a"),
    Finding(check="value-schema", verdict=Verdict.PASS, topic="b"),
)


def test_a_finding_is_new_or_still_open_and_what_passes_now_is_resolved() -> None:
    changed = with_changes(FOUND, [EARLIER])
    assert [finding.since for finding in changed.findings] == [9_000, 1_000, None]
    assert [(each.topic, each.check) for each in changed.resolved] == [("b", "value-schema")]
    assert changed.trend == [EARLIER.model_copy(update={"seen": None})]


def test_without_an_earlier_audit_nothing_is_new() -> None:
    for earlier in ([], [EARLIER.model_copy(update={"seen": None})]):
        changed = with_changes(FOUND, earlier)
        assert [finding.since for finding in changed.findings] == [None, None, None]
        assert changed.resolved == []


def test_the_page_marks_them_and_shows_how_to_confirm_them() -> None:
    confirm = "Confirm: ``kafka-x --topic T --partition P --offset O --max-messages 1``\nprints it."
    docs = {"value-schema": f"Sentence.\n\n{confirm}"}
    page = html.render(with_changes(FOUND, [EARLIER]), ReportBackground(checks=docs))
    assert "open since 1970-01-01" in page
    assert ">new</span>" in page
    assert "Resolved since the last audit" in page
    assert "kafka-x --topic a --partition 3 --offset 17 --max-messages 1 prints it." in page


def test_records_that_are_lost_come_before_what_producers_write() -> None:
    assert [finding.check for finding in digest(FOUND).topics[0].findings] == ["config-drift", "value-schema"]
    only_contents = Finding(check="value-schema", verdict=FAIL, topic="a")
    drift = Finding(check="retention-blocked", verdict=FAIL, topic="b")
    assert [topic.name for topic in digest(report(only_contents, drift)).topics] == ["b", "a"]


def test_the_checks_of_contents_are_those_that_judge_committed_records() -> None:
    assert {name for name, check in CHECKS.items() if issubclass(check.Required, CommittedCounts)} == OF_CONTENTS
