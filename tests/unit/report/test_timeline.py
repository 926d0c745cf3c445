"""Test the timelines of a report, and that the work to write a report grows linearly with the number of topics."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from tests.support import reports
from tests.support.reports import partition
from topicwarden.model.finding import AuditReport, Finding
from topicwarden.model.verdict import Verdict
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.formats import FORMATS
from topicwarden.report.audit.timeline import timeline


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({}, []),
        ({"rolled": 600}, [("rolled", 0, 600), ("open", 600, 1_000)]),
        ({"rolled": 600, "cleanable": 200}, [("cleanable", 0, 200), ("rolled", 200, 600), ("open", 600, 1_000)]),
        ({"rolled": 600, "overdue": 600}, [("overdue", 0, 600), ("open", 600, 1_000)]),
        ({"rolled": 0, "log_start": 400}, [("open", 400, 1_000)]),
        ({"last_stable": 700}, [("unstable", 700, 1_000)]),
        ({"rolled": 900, "last_stable": 700}, [("rolled", 0, 700), ("unstable", 700, 1_000)]),
        ({"rolled": 5_000, "last_stable": None}, [("rolled", 0, 1_000)]),
    ],
)
def test_offset_ranges_cover_only_known_offsets(known: dict[str, object], expected: list[tuple[str, int, int]]) -> None:
    line = timeline(partition(0, 1_000, **known))
    assert line is not None
    assert [(each.kind, each.start, each.end) for each in line.ranges] == expected


@pytest.mark.parametrize("known", [{"log_start": None}, {"log_end": None}, {"log_start": 1_000}])
def test_an_empty_or_unknown_log_has_no_line(known: dict[str, object]) -> None:
    assert timeline(partition(0, 1_000, **known)) is None


def test_findings_mark_their_offsets_on_their_own_partition_alone() -> None:
    def finding(partitions: list[int], **evidence: int | str) -> Finding:
        return Finding(check="c", verdict=Verdict.FAIL, topic="t", partitions=partitions, evidence=evidence)

    found = [
        finding([0], offset=10, superseded_by=250, records=300),
        finding([0, 1], offset=20, partition=0),
        finding([0, 1], offset=30, partition=1),
        finding([0, 1], offset=40),
        finding([0], blocking_offset=5_000, offset="none"),
        finding([0], found_offset=250),
    ]
    line = timeline(partition(0, 1_000), found)
    assert line is not None
    assert [(mark.offset, mark.names, mark.left) for mark in line.marks] == [
        (10, "c: offset", 1.0),
        (20, "c: offset", 2.0),
        (250, "c: superseded by, c: found offset", 25.0),
    ]


FEW, MANY = 20, 160


def first_topics(report: AuditReport, number: int) -> AuditReport:
    topics = report.topics[:number]
    names = {topic.name for topic in topics}
    findings = [finding for finding in report.findings if finding.topic in names]
    return report.model_copy(update={"topics": topics, "findings": findings})


@pytest.mark.parametrize("form", FORMATS)
def test_check_scales_linearly_with_topics(form: str) -> None:
    whole = reports.thousand()

    def executed_lines(report: AuditReport) -> int:
        lines = 0

        def trace(_frame: FrameType, event: str, _argument: object) -> Any:
            nonlocal lines
            lines += event == "line"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            FORMATS[form](report, ReportBackground())
        finally:
            sys.settrace(before)
        return lines

    executed_lines(first_topics(whole, FEW))  # imports and templates
    few, many = (executed_lines(first_topics(whole, number)) for number in (FEW, MANY))
    assert many < 10 * few
