"""Test that the work to write each format of an audit report grows linearly with the number of topics."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from tests.support import reports
from topicwarden.model.finding import AuditReport
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.formats import FORMATS

FEW, MANY = 20, 160


def first_topics(report: AuditReport, number: int) -> AuditReport:
    topics = report.topics[:number]
    names = {topic.name for topic in topics}
    findings = [finding for finding in report.findings if finding.topic in names]
    return report.model_copy(update={"topics": topics, "findings": findings})


@pytest.mark.parametrize("form", FORMATS)
def test_eight_times_the_topics_execute_less_than_ten_times_the_lines(form: str) -> None:
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
