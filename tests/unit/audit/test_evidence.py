"""Test that a check uses no evidence that it does not require, and that all checks report missing evidence alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import get_type_hints

import pytest

from tests.support.subjects import ALL_CONTENTS, subject, unreadable
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.collect.changes_during_audit import ChangeDuringAudit
from topicwarden.audit.evidence import Counts, EveryRecord, LiveSettings, Placement, PreviousState, view_of
from topicwarden.audit.judge import judge
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.subject import AuditedTopic
from topicwarden.model.verdict import Verdict

SETTINGS = {"cleanup.policy": "compact,delete", "retention.bytes": "1", "max.compaction.lag.ms": "1"}
TOPIC = subject(PartitionCounts(records=1), live=SETTINGS, contents=ALL_CONTENTS)
"""A topic to which all checks apply, except those of internal topics, consumer groups and the previous audit."""


def without_settings(of: AuditedTopic) -> AuditedTopic:
    assert of.live
    return replace(of, live=replace(of.live, sources={}, topic=replace(of.live.topic, config={})))


@pytest.mark.parametrize("check", CHECKS)
def test_a_check_uses_no_other_evidence_than_it_requires(check: str) -> None:
    required = CHECKS[check].Required
    judged, applied = (get_type_hints(function)["subject"] for function in (CHECKS[check].judge, CHECKS[check].applies))
    assert issubclass(required, judged)
    assert issubclass(required, applied)
    assert not issubclass(applied, Counts), "the records may be missing when `applies` is called"


@pytest.mark.parametrize(
    ("missing", "kind", "message"),
    [
        (without_settings, LiveSettings, "the brokers did not return the topic's configuration"),
        (unreadable, Counts, "this user may not read the records"),
        (
            lambda of: replace(of, coverage=0.5),
            EveryRecord,
            "needs every record, and only 50% of the offsets were read",
        ),
        (lambda of: replace(of, placement=None), Placement, "the records were not counted by key"),
        (lambda of: replace(of, change=ChangeDuringAudit("grew", grown=True)), Placement, "the topic grew"),
        (lambda of: replace(of, change=ChangeDuringAudit("was deleted")), AuditedTopic, "the topic was deleted"),
    ],
)
def test_all_checks_report_missing_evidence_with_the_same_reason(
    missing: Callable[[AuditedTopic], AuditedTopic], kind: type[AuditedTopic], message: str
) -> None:
    before, after = judge(TOPIC), judge(missing(TOPIC))
    assert after.keys() == before.keys()
    affected = {check for check in before if issubclass(CHECKS[check].Required, kind)}
    undecided = {
        check: [(result.verdict, result.message) for result in results]
        for check, results in after.items()
        if message in {result.message for result in results}
    }
    assert affected
    assert undecided == {check: [(Verdict.UNDECIDABLE, message)] for check in affected}
    assert all(result.remedy for check in affected for result in after[check])


def test_a_check_that_compares_audits_judges_nothing_in_the_first_one() -> None:
    assert view_of(PreviousState, TOPIC) is None
    assert not [check for check in judge(TOPIC) if issubclass(CHECKS[check].Required, PreviousState)]
