"""Write ``report.sarif`` for code scanning and editors: findings at the lines of YAML that declare the setting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Final

from topicwarden.model.finding import AuditReport, Finding
from topicwarden.model.problem import Location
from topicwarden.model.timestamps import utc
from topicwarden.model.verdict import Verdict
from topicwarden.report import sarif_log
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.digest import detail_lines, digest, message_line
from topicwarden.report.display import one_line
from topicwarden.report.problems.digest import ProblemDigest

LEVELS: Final = {Verdict.FAIL: "error", Verdict.SUSPECT: "warning", Verdict.UNDECIDABLE: "note"}
_UNDECLARED: Final = "topics"
"""The location of findings on topics that are not declared: the folder of declarations."""


def render(report: AuditReport, background: ReportBackground) -> str:
    """Return one run, with a description of every check that has results. Places are relative to the repository.

    The worst topic comes first, and passes are omitted. The fingerprint of a result consists of check, topic and
    partitions, so that a service recognises the finding in the next audit, with other numbers and another line.
    """
    view = digest(report)
    findings = [finding for topic in view.attention for finding in topic.findings]
    checks = sorted({finding.check for finding in findings})
    numbers = {check: number for number, check in enumerate(checks)}
    page = ProblemDigest(background.root, (), (), 0)
    invocation = {
        "executionSuccessful": True,
        "startTimeUtc": utc(report.started),
        "endTimeUtc": utc(report.finished),
        "toolExecutionNotifications": [
            {"level": "note", "message": {"text": one_line(limit)}} for limit in view.limits
        ],
    }
    return sarif_log.log(
        [_rule(check, background) for check in checks],
        _results(findings, numbers, page),
        automationDetails={"id": f"topicwarden-audit/{one_line(report.stack)}/"},
        invocations=[invocation],
    )


def _rule(check: str, background: ReportBackground) -> dict[str, Any]:
    text = background.checks.get(check) or f"{check}, a check of `topicwarden audit`"
    return sarif_log.rule(check, background.summary(check) or text, text)


def _results(findings: list[Finding], numbers: dict[str, int], page: ProblemDigest) -> Iterator[dict[str, Any]]:
    seen: Counter[tuple[str, str, tuple[int, ...]]] = Counter()
    for finding in findings:
        subject = (finding.check, finding.topic, tuple(finding.partitions))
        seen[subject] += 1
        fingerprint = "\0".join([finding.check, finding.topic, str(finding.partitions), str(seen[subject])])
        yield {
            "ruleId": finding.check,
            "ruleIndex": numbers[finding.check],
            "level": LEVELS[finding.verdict],
            "message": {"text": _message(finding)},
            "locations": [{"physicalLocation": _location(finding, page), "logicalLocations": _logical(finding)}],
            "partialFingerprints": {"topicwardenAudit/v1": sha256(fingerprint.encode()).hexdigest()},
            "properties": {
                "verdict": finding.verdict.value,
                "topic": one_line(finding.topic),
                "partitions": finding.partitions,
                "evidence": {
                    name: one_line(value) if isinstance(value, str) else value
                    for name, value in finding.evidence.items()
                },
            },
        }


def _message(finding: Finding) -> str:
    return "\n".join([f"{one_line(finding.topic)} {message_line(finding)}", *detail_lines(finding)])


def _location(finding: Finding, page: ProblemDigest) -> dict[str, Any]:
    if finding.location is None:
        return sarif_log.file(page.prefix + _UNDECLARED)
    location = Location(finding.location.file, finding.location.line, finding.location.column)
    return sarif_log.at(location, page.prefix, page.sources.line(location))


def _logical(finding: Finding) -> list[dict[str, Any]]:
    topic = one_line(finding.topic)
    return [
        {"fullyQualifiedName": f"{topic}-{partition}", "kind": "partition"} for partition in finding.partitions
    ] or [{"fullyQualifiedName": topic, "kind": "topic"}]
