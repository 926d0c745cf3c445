"""``report.xml``: an audit as JUnit XML, which every build server shows: a suite a topic, a case a check."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from junitparser import Attr, Failure, JUnitXml, Skipped, TestCase, TestSuite

from topicwarden.model.finding import AuditReport, Finding
from topicwarden.model.timestamps import utc
from topicwarden.model.verdict import BY_WEIGHT, Verdict
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.digest import TopicDigest, digest, reasoning, said
from topicwarden.report.display import one_line
from topicwarden.report.junit_xml import text_of


class _PlacedCase(TestCase):
    file = Attr("file")
    line = Attr("line")


def render(report: AuditReport, background: ReportBackground) -> str:
    """What is as bad as ``background.fail_on`` fails its case; what is milder skips it, with its message."""
    view = digest(report)
    tree = JUnitXml(f"topicwarden audit {one_line(report.stack)}")
    for topic in view.topics:
        suite = TestSuite(one_line(topic.name))
        suite.timestamp = utc(report.started).removesuffix("Z")
        for limit in view.limits:
            suite.add_property("limit", one_line(limit))
        for case in _cases(topic, background.fail_on.verdicts):
            suite.add_testcase(case)
        tree.add_testsuite(suite)
    return text_of(tree)


def _cases(topic: TopicDigest, failing: tuple[Verdict, ...]) -> Iterator[TestCase]:
    spoken = sorted((*topic.findings, *topic.notes), key=lambda finding: finding.check)
    cases = {check: list(found) for check, found in groupby(spoken, lambda finding: finding.check)}
    for check in sorted({*cases, *topic.passed}):
        yield _case(topic.name, check, cases.get(check, []), failing)


def _case(topic: str, check: str, found: list[Finding], failing: tuple[Verdict, ...]) -> TestCase:
    case = _PlacedCase(check, one_line(topic), 0)
    worst = sorted(found, key=lambda finding: BY_WEIGHT.index(finding.verdict))
    placed = next((finding.place for finding in worst if finding.place), None)
    if placed:
        case.file, case.line = placed.file, str(placed.line)
    wrong = [finding for finding in worst if finding.verdict is not Verdict.PASS]
    # One element a case: the format's readers (Jenkins, GitLab) show only the first.
    if wrong:
        first = wrong[0]
        word = f"{first.verdict.value}: {said(first)}"
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        outcome = (
            Failure(word + more, first.verdict.value)
            if first.verdict in failing
            else Skipped(word + more, first.verdict.value)
        )
        outcome.text = "\n".join(map(_told, wrong))
        case.result = [outcome]
    if notes := [finding for finding in worst if finding.verdict is Verdict.PASS]:
        case.system_out = "\n".join(map(_told, notes))
    return case


def _told(finding: Finding) -> str:
    return "\n".join([f"{finding.verdict.value}: {said(finding)}", *(f"  {line}" for line in reasoning(finding))])
