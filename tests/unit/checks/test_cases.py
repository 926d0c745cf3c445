"""Test that every check reports its cases, and not one record, offset or millisecond too early."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from tests.support.subjects import ALL_CONTENTS, subject
from tests.unit.checks import (
    arrivals,
    compaction,
    compared,
    contents,
    groups,
    internal_topics,
    lag_in_time,
    placement,
    replicas,
    retention,
    schemas,
    tombstones,
    topics,
    transactions,
    usage,
)
from tests.unit.checks.cases import FAIL, PASS, SUSPECT, UNDECIDABLE, Case, absent, reported
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.judge import judge, results_of

CASES = (
    *(*topics.CASES, *replicas.CASES, *internal_topics.CASES, *groups.CASES),
    *(*compaction.CASES, *tombstones.CASES, *transactions.CASES, *retention.CASES),
    *(*usage.CASES, *schemas.CASES),
    *(*contents.CASES, *arrivals.CASES, *placement.CASES, *compared.CASES, *lag_in_time.CASES),
)
NEVER_FAILS = {"internal-size": UNDECIDABLE, "personal-fields": PASS}
"""The strongest verdict of each check that never returns ``fail``."""


@pytest.mark.parametrize("case", CASES, ids=[f"{case.check}: {case.name}" for case in CASES])
def test_each_case_has_the_expected_verdict(case: Case) -> None:
    results = results_of(CHECKS[case.check], case.of)
    assert (results is None) == (case.expected is None)
    if results is None or case.expected is None:
        return
    judgements = reported(results)
    assert tuple(one.verdict for one in judgements) == case.expected
    assert [bool(one.remedy) for one in judgements] == [one is not PASS for one in case.expected], "what to do"
    if not judgements:
        assert not case.evidence and case.partitions is None and not case.says, "nothing is reported"
        return
    last = judgements[-1]
    assert {name: last.evidence[name] for name in case.evidence} == case.evidence
    assert case.partitions in (None, last.partitions)
    assert case.says in " ".join((last.message, *last.because, last.remedy))


def test_only_topic_missing_judges_a_hidden_topic() -> None:
    hidden = absent(subject(contents=ALL_CONTENTS), "t")
    assert [*judge(hidden)] == ["topic-missing"]


def uncovered(cases: Collection[Case], checks: Collection[str]) -> dict[str, list[str]]:
    """Return the kinds of cases that each check lacks."""
    lacking = {
        check: [
            *([] if any(_strongest(case) for case in cases if case.check == check) else ["strongest verdict"]),
            *([] if any(case.passing for case in cases if case.check == check) else ["pass"]),
        ]
        for check in checks
    }
    return {check: kinds for check, kinds in lacking.items() if kinds}


def _strongest(case: Case) -> bool:
    return NEVER_FAILS.get(case.check, FAIL) in (case.expected or ())


def test_every_check_has_a_case_of_its_strongest_verdict_and_one_that_passes() -> None:
    assert uncovered(CASES, CHECKS) == {}


def test_a_check_without_cases_is_reported() -> None:
    passing = Case("new", "in order", subject(), ())
    assert uncovered([], ["new"]) == {"new": ["strongest verdict", "pass"]}
    assert uncovered([passing], ["new"]) == {"new": ["strongest verdict"]}
    assert uncovered([Case("new", "out of order", subject(), (FAIL,))], ["new"]) == {"new": ["pass"]}
    assert uncovered([Case("new", "not applicable", subject(), None)], ["new"]) == uncovered([], ["new"])


LEADS_TO: dict[str, tuple[str, ...]] = {
    "topic-missing": ("",),
    "topic-undeclared": ("",),
    "topic-recreated": ("", "allow"),
    "log-truncated": ("config/min.insync.replicas",),
    "config-drift": ("", "config", "config/retention.bytes", "config/retention.ms", "config/vendor.x"),
    "broker-defaults": ("config",),
    "partition-count": ("partitions",),
    "replication-factor": ("replication_factor",),
    "under-replicated": ("replication_factor",),
    "min-insync-replicas": ("config/min.insync.replicas",),
    "internal-policy": (*("", "config/cleanup.policy", "config/retention.bytes", "config/retention.ms", "partitions"),),
    "internal-replication": ("config/min.insync.replicas", "replication_factor"),
    "internal-size": ("",),
    "group-lag": ("", "config/retention.ms"),
    "lag-in-time": ("", "access/consume", "contents/consumers/max_lag"),
    "undeclared-consumer": ("", "access"),
    "undeclared-producer": ("", "access"),
    "unused-access": ("access",),
    "idle-topic": ("",),
    "null-key": ("config/cleanup.policy", "contents/key/required"),
    "empty-value": ("config/cleanup.policy",),
    "compaction-ratio": ("config/cleanup.policy",),
    "compaction-lag": ("config/max.compaction.lag.ms",),
    "compaction-gap": ("config/cleanup.policy",),
    "tombstone-retention": ("config/delete.retention.ms",),
    "resurrection": ("config/delete.retention.ms",),
    "hung-transaction": ("",),
    "retention-time": ("config/retention.ms",),
    "retention-blocked": ("config/retention.ms",),
    "retention-size": ("config/retention.bytes",),
    "key-schema": ("contents/key/format",),
    "value-schema": ("contents/value/format", "contents/value/schema"),
    "registered-schema": (
        *("contents/value/registry", "contents/value/registry/compatibility", "contents/value/schema"),
    ),
    "schema-version": ("", "contents/value/registry", "contents/value/schema"),
    "unused-schema-version": ("", "contents/value/registry"),
    "header": ("contents/headers/required",),
    "expression": ("contents/expressions",),
    "record-size": ("contents/records/max_bytes",),
    "personal-fields": ("contents/personal",),
    "arrival-silence": ("contents/arrival/max_silence",),
    "arrival-count": ("contents/arrival/max", "contents/arrival/min"),
    "timestamp-future": ("contents/timestamps/max_ahead",),
    "timestamp-late": ("contents/timestamps/max_late",),
    "timestamp-unit": ("contents/timestamps",),
    "timestamp-type": ("contents/timestamps/type",),
    "key-partition": (
        *("", "contents/key/partition_expression", "contents/key/partition_function", "contents/key/partitioner"),
    ),
    "key-in-several-partitions": ("", "config/cleanup.policy", "contents/key"),
    "partition-skew": ("contents/partitions/max_skew",),
    "hot-key": ("contents/key/max_share",),
    "ordered": ("contents/ordered",),
    "unique": ("contents/unique",),
    "references": ("contents/references",),
}
"""The keys of the topic's YAML to which the findings of a check lead; empty for the whole topic."""


SELF_EVIDENT = {
    *("topic-missing", "topic-undeclared", "config-drift", "partition-count", "replication-factor"),
    *("partition-skew", "hot-key", "registered-schema"),
}
"""Checks whose message has the declared and the actual value, so that it needs no further reason."""

WHOLE_TOPIC = {
    *("topic-missing", "topic-undeclared", "topic-recreated", "hung-transaction", "idle-topic"),
    "config-drift",
}
"""Checks whose ``fail`` or ``suspect`` may lead to the topic, and not to a setting."""


@pytest.mark.parametrize("case", [case for case in CASES if case.check not in SELF_EVIDENT and case.expected])
def test_a_fail_or_suspect_has_reasons(case: Case) -> None:
    found = reported(results_of(CHECKS[case.check], case.of) or ())
    assert [one.message for one in found if one.verdict in (FAIL, SUSPECT) and not one.because] == []


@pytest.mark.parametrize("check", CHECKS)
def test_the_findings_of_a_check_lead_to_the_setting_that_they_are_about(check: str) -> None:
    cases = [case for case in CASES if case.check == check and case.expected]
    found = {"/".join(one.path) for case in cases for one in reported(results_of(CHECKS[check], case.of) or ())}
    assert tuple(sorted(found)) == LEADS_TO[check]
    if check not in WHOLE_TOPIC:
        proofs = [
            one for case in cases for one in results_of(CHECKS[check], case.of) or () if one.verdict in (FAIL, SUSPECT)
        ]
        assert [one.message for one in proofs if not one.path] == []


def test_checks_without_fail_have_no_failing_case() -> None:
    assert [case.name for case in CASES if case.check in NEVER_FAILS and FAIL in (case.expected or ())] == []
