"""Test that the time to write each format of an audit report grows linearly with the number of topics."""

from __future__ import annotations

import time

import pytest

from tests.support import reports
from topicwarden.model.finding import AuditReport
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.formats import FORMATS


def first_topics(report: AuditReport, number: int) -> AuditReport:
    topics = report.topics[:number]
    names = {topic.name for topic in topics}
    findings = [finding for finding in report.findings if finding.topic in names]
    return report.model_copy(update={"topics": topics, "findings": findings})


@pytest.mark.parametrize("form", FORMATS)
def test_eight_times_the_topics_take_less_than_sixteen_times_the_time(form: str) -> None:
    whole = reports.thousand()
    few = first_topics(whole, len(whole.topics) // 8)

    def cpu_seconds(report: AuditReport) -> float:
        began = time.process_time()
        FORMATS[form](report, ReportBackground())
        return time.process_time() - began

    cpu_seconds(few)  # imports and templates
    fastest_few, fastest_whole = (min(cpu_seconds(report) for _ in range(3)) for report in (few, whole))
    assert fastest_whole < 16 * fastest_few + 0.05
