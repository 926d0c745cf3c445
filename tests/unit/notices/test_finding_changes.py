"""Test which changes a receiver learns of, and what it knows after them."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from tests.support.notices import EXCERPT, KnownFindings, audit, finding
from tests.support.reports import HOUR, NOW, rich
from topicwarden.model.finding import OF_CLUSTER, AuditReport, PastFinding
from topicwarden.model.problem import Location
from topicwarden.model.verdict import Verdict
from topicwarden.operations.notices.finding_changes import (
    MOST_TEXT,
    JudgedChecks,
    ReceiverMemory,
    compare_report,
    merge_changes,
)
from topicwarden.operations.notices.notification import FindingChange

A = ("orders", "null-key")
PASS, FAIL, SUSPECT, UNDECIDABLE = Verdict.PASS, Verdict.FAIL, Verdict.SUSPECT, Verdict.UNDECIDABLE


def changes_of(*reports: AuditReport) -> list[list[FindingChange]]:
    """Return the changes that each report brings."""
    memory, changes = ReceiverMemory(), []
    for report in reports:
        memory, found = compare_report(memory, JudgedChecks(report))
        changes.append(found)
    return changes


def kinds(*verdicts: tuple[float, Verdict | None]) -> list[str]:
    """Return the change that each audit of one check brings, by hour and verdict; `-` for none."""
    reports = [audit({A: verdict} if verdict else {}, hours, topics=["orders"]) for hours, verdict in verdicts]
    return [found[0].change if found else "-" for found in changes_of(*reports)]


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([(0, PASS), (1, FAIL), (2, FAIL), (3, PASS), (4, PASS)], ["-", "fail", "-", "resolved", "-"]),
        ([(0, FAIL), (1, None)], ["fail", "resolved"]),
        ([(0, FAIL), (1, SUSPECT), (2, UNDECIDABLE), (9, UNDECIDABLE), (10, FAIL)], ["fail", "-", "-", "-", "-"]),
        ([(0, FAIL), (1, SUSPECT), (2, PASS)], ["fail", "-", "resolved"]),
        ([(0, SUSPECT), (9, SUSPECT), (10, PASS)], ["-", "-", "-"]),
        ([(0, SUSPECT), (1, FAIL)], ["-", "fail"]),
        ([(0, UNDECIDABLE), (0.999, UNDECIDABLE), (1, UNDECIDABLE), (2, UNDECIDABLE)], ["-", "-", "undecidable", "-"]),
        ([(0, UNDECIDABLE), (0.5, PASS), (1, UNDECIDABLE), (2, UNDECIDABLE)], ["-", "-", "-", "undecidable"]),
        ([(0, UNDECIDABLE), (1, UNDECIDABLE), (2, SUSPECT)], ["-", "undecidable", "resolved"]),
        ([(0, UNDECIDABLE), (1, UNDECIDABLE), (2, PASS)], ["-", "undecidable", "resolved"]),
        ([(0, UNDECIDABLE), (1, UNDECIDABLE), (2, FAIL), (3, PASS)], ["-", "undecidable", "fail", "resolved"]),
    ],
)
def test_only_changes_are_announced(verdicts: list[tuple[float, Verdict | None]], expected: list[str]) -> None:
    assert kinds(*verdicts) == expected


def test_a_change_has_owner_line_message_remedy_and_since() -> None:
    failing = audit({A: FAIL}, 2)
    failing.findings[0] = finding(*A, FAIL, since=NOW)
    (change,) = changes_of(audit({A: SUSPECT}), failing)[1]
    assert change == FindingChange(
        change="fail",
        was=None,
        stack="prod",
        topic="orders",
        check="null-key",
        findings=1,
        partitions=[0, 2],
        owner="team-o",
        location=Location("topics/orders.yaml", 7, 3),
        message="null-key is fail",
        remedy="Correct the producer.",
        since=NOW,
        changed=NOW + 2 * HOUR,
    )


def test_a_resolved_finding_keeps_its_owner_line_and_start() -> None:
    fail, resolved = changes_of(audit({A: FAIL}), audit({A: PASS}, 1))
    same = {"owner", "location", "since", "partitions", "topic", "check", "stack"}
    assert fail[0].model_dump(include=same) == resolved[0].model_dump(include=same)
    assert (resolved[0].was, resolved[0].message, resolved[0].remedy) == ("fail", "the check passes", "")


def test_a_topic_that_is_not_audited_any_more_is_resolved_with_this_reason() -> None:
    resolved = changes_of(audit({A: FAIL}), audit({}, 1))[1]
    assert [change.message for change in resolved] == ["the audit no longer includes the topic"]


def test_findings_on_the_cluster_are_resolved_without_a_topic() -> None:
    key = (OF_CLUSTER, "unused-access")
    resolved = changes_of(audit({key: FAIL}), audit({}, 1))[1]
    assert [change.message for change in resolved] == ["the check no longer applies to the topic"]


@pytest.mark.parametrize("now", [PASS, UNDECIDABLE])
def test_a_finding_that_its_check_no_longer_concludes_is_withdrawn(now: Verdict) -> None:
    past = PastFinding(topic=A[0], check=A[1], verdict=FAIL, since=NOW)
    later = audit({A: now}, 1).model_copy(update={"withdrawn": [past]})
    withdrawn, after = changes_of(audit({A: FAIL}), later, audit({A: now}, 1.5))[1:]
    assert [(change.change, change.was, change.verdict) for change in withdrawn] == [("withdrawn", "fail", None)]
    assert "nothing about the topic has changed" in withdrawn[0].message
    assert after == []


def test_several_findings_of_a_check_are_one_change() -> None:
    report = audit({A: FAIL})
    report.findings.append(finding(*A, FAIL, partitions=[5], message="a second finding", since=NOW - HOUR))
    report.findings.append(finding(*A, UNDECIDABLE, partitions=[6]))
    (change,) = changes_of(report)[0]
    assert (change.change, change.findings, change.partitions, change.since) == ("fail", 2, [0, 2, 5], NOW - HOUR)


def test_stacks_do_not_resolve_findings_of_each_other() -> None:
    found = changes_of(audit({A: FAIL}, stack="dev"), audit({A: PASS}, 1), audit({A: FAIL}, 2), audit({}, 3))
    assert [[(change.stack, change.change) for change in each] for each in found] == [
        [("dev", "fail")],
        [],
        [("prod", "fail")],
        [("prod", "resolved")],
    ]


def test_no_change_has_evidence_or_reasons() -> None:
    found = changes_of(audit({A: FAIL}), audit({A: PASS}, 1), rich())
    assert all(EXCERPT not in change.model_dump_json() for each in found for change in each)
    assert not {"because", "evidence"} & set(FindingChange.model_fields)


def test_texts_have_one_line_and_a_limit() -> None:
    report = audit({A: FAIL})
    report.findings[0] = finding(*A, FAIL, message="a\n\x1b[31m" + "x" * 5_000, remedy="y" * 5_000)
    (change,) = changes_of(report)[0]
    assert (len(change.message), len(change.remedy)) == (MOST_TEXT, MOST_TEXT)
    assert change.message.startswith("a \\u001b[31mx")


@pytest.mark.parametrize("seed", range(20))
def test_random_histories_agree_with_the_model_also_when_they_are_combined(seed: int) -> None:
    draw = random.Random(seed)
    keys = [(topic, check) for topic in "abc" for check in ("null-key", "retention")]
    memory, model, hours = ReceiverMemory(), KnownFindings(), 0.0
    known: dict[tuple[str, str], str | None] = {}
    combined: list[tuple[dict[tuple[str, str], str], list[FindingChange]]] = [({}, [])]
    for _ in range(200):
        hours += draw.choice((0.1, 0.5, 1, 3))
        verdicts = {key: draw.choice(list(Verdict)) for key in keys if draw.random() < 0.8}
        report = audit(verdicts, hours, topics=draw.sample("abc", 2))
        memory, changes = compare_report(memory, JudgedChecks(report))
        model.audited(report)
        for change in changes:
            assert change.was == known.get((change.topic, change.check))
            known[change.topic, change.check] = change.verdict
        assert {key: verdict for key, verdict in known.items() if verdict} == model.known
        assert {(change.topic, change.check): change.verdict for change in memory.open} == model.known
        combined.append((dict(model.known), changes))
    for (before, _), (after, _) in pairwise([combined[0], combined[50], combined[120], combined[-1]]):
        first = next(index for index, (state, _) in enumerate(combined) if state is before)
        last = next(index for index, (state, _) in enumerate(combined) if state is after)
        merged = merge_changes(change for _, changes in combined[first + 1 : last + 1] for change in changes)
        state: dict[tuple[str, str], str | None] = {**before}
        for change in merged:
            key = change.topic, change.check
            assert change.was == state.get(key) != change.verdict
            state[key] = change.verdict
        assert {key: verdict for key, verdict in state.items() if verdict} == after
