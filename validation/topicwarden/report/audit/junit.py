"""Write ``report.xml``, JUnit XML for build servers: one test suite per topic, one test case per check."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from junitparser import Attr, Failure, JUnitXml, Skipped, TestCase, TestSuite

from topicwarden.model.finding import AuditReport, Finding
from topicwarden.model.message_text import and_others
from topicwarden.model.timestamps import utc
from topicwarden.model.verdict import WORST_FIRST, Verdict
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.digest import TopicDigest, detail_lines, digest, message_line
from topicwarden.report.display import one_line
from topicwarden.report.problems.junit import xml_text


class _PlacedCase(TestCase):
    file = Attr("file")
    line = Attr("line")


def render(report: AuditReport, background: ReportBackground) -> str:
    """Return the JUnit report.

    A test case fails if its worst verdict is in ``background.fail_on``; with a milder verdict it is skipped.
    """
    view = digest(report)
    limits = [one_line(limit) for limit in view.limits]
    tree = JUnitXml(f"topicwarden audit {one_line(report.stack)}")
    for topic in view.topics:
        suite = TestSuite(one_line(topic.name))
        suite.timestamp = utc(report.started).removesuffix("Z")
        for limit in limits:
            suite.add_property("limit", limit)
        suite.add_testcases(list(_cases(topic, background.fail_on.verdicts)))
        tree.append(suite)  # type: ignore[no-untyped-call]  # add_testsuite compares it with all earlier ones
    return xml_text(tree)


def _cases(topic: TopicDigest, failing: tuple[Verdict, ...]) -> Iterator[TestCase]:
    with_message = sorted((*topic.findings, *topic.notes), key=lambda finding: finding.check)
    cases = {check: list(group) for check, group in groupby(with_message, lambda finding: finding.check)}
    for check in sorted({*cases, *topic.passed}):
        yield _case(topic.name, check, cases.get(check, []), failing)


def _case(topic: str, check: str, findings: list[Finding], failing: tuple[Verdict, ...]) -> TestCase:
    case = _PlacedCase(check, one_line(topic), 0)
    worst_first = sorted(findings, key=lambda finding: WORST_FIRST.index(finding.verdict))
    location = next((finding.location for finding in worst_first if finding.location), None)
    if location:
        case.file, case.line = location.file, str(location.line)
    not_passed = [finding for finding in worst_first if finding.verdict is not Verdict.PASS]
    # Only one result per test case, because Jenkins and GitLab show only the first.
    if not_passed:
        worst = not_passed[0]
        message = f"{worst.verdict.value}: {message_line(worst)}{and_others(len(not_passed) - 1)}"
        outcome = (Failure if worst.verdict in failing else Skipped)(message, worst.verdict.value)
        outcome.text = "\n".join(map(_finding_text, not_passed))
        case.result = [outcome]
    if notes := [finding for finding in worst_first if finding.verdict is Verdict.PASS]:
        case.system_out = "\n".join(map(_finding_text, notes))
    return case


def _finding_text(finding: Finding) -> str:
    lines = [f"{finding.verdict.value}: {message_line(finding)}", *(f"  {line}" for line in detail_lines(finding))]
    return "\n".join(lines)
