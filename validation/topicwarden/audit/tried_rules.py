"""Try new rules on retained records before a deploy, by an audit of their topics that only has these rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from topicwarden.audit.audit_process import audit_in_process
from topicwarden.audit.request import AuditRequest
from topicwarden.audit.scan.read_limits import ReadLimits
from topicwarden.model.finding import Finding
from topicwarden.model.message_text import counted
from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.plan.changed_rules import RuleTrial
from topicwarden.specs.resolve import Declaration

KIND: Final = "broken-rule"
MOST_RECORDS: Final = 2_000_000
"""The most records that are read for one plan, the newest of each partition, over all topics."""
_READ_WITH: Final = "a plan reads them with Java 17 or later, `topicwarden[audit]` and Read on the topic"


def try_rules(
    project: Project,
    request: AuditRequest,
    trials: Iterable[RuleTrial],
    severity: Severity,
) -> dict[str, list[Consequence]]:
    """Return what the rules would find, by topic. Nothing is raised for records that cannot be read.

    ``request`` has all declarations of the stack. ``severity`` is that of a rule that records break.
    """
    tried = {trial.declaration.topic.name: trial for trial in trials}
    if not tried:
        return {}
    try:
        report = audit_in_process(project, _request(request, tried))
    except (Refusal, OSError) as error:
        reason = str(error) if isinstance(error, Refusal) else f"the scan failed: {error}"
        return {name: [_untried(trial, reason)] for name, trial in tried.items()}
    records = {each.name: each.records or 0 for each in report.topics}
    findings: dict[str | None, list[Finding]] = defaultdict(list)
    for finding in report.findings:
        findings[finding.topic].append(finding)
    consequences = {
        name: list(_consequences(trial, records.get(name, 0), findings[name], report.coverage, severity))
        for name, trial in tried.items()
    }
    return {name: found for name, found in consequences.items() if found}


def _request(request: AuditRequest, tried: Mapping[str, RuleTrial]) -> AuditRequest:
    """Return the request for an audit of the topics, and of those that they refer to, without a history."""
    referenced = {rule.topic for trial in tried.values() for rule in trial.declaration.topic.contents.references or ()}
    others = [each for each in request.declarations if each.topic.name in referenced - tried.keys()]
    declarations = [*(trial.declaration for trial in tried.values()), *map(_without_rules, others)]
    return replace(
        request,
        declarations=tuple(declarations),
        patterns=tuple(each.topic.name for each in declarations),
        bounds=ReadLimits(max_records=MOST_RECORDS),
    )


def _without_rules(declaration: Declaration) -> Declaration:
    none = {"ordered": (), "unique": (), "references": (), "expressions": ()}
    topic = declaration.topic
    return replace(declaration, topic=replace(topic, contents=topic.contents.model_copy(update=none)))


def _consequences(
    trial: RuleTrial, records: int, of_topic: Iterable[Finding], coverage: float, severity: Severity
) -> Iterable[Consequence]:
    findings = [each for each in of_topic if each.check in trial.checks]
    for finding in findings:
        if finding.verdict in (Verdict.FAIL, Verdict.SUSPECT):
            yield _consequence(finding, _would_fail(finding, records, coverage), severity)
        elif finding.verdict is Verdict.UNDECIDABLE and records:
            message = f"the new rule of {finding.check} was not tried on all retained records: {finding.message}"
            yield _consequence(finding, message, Severity.NOTE)
    if coverage < 1 and records and not any(each.verdict is Verdict.UNDECIDABLE for each in findings):
        yield Consequence(
            kind=KIND,
            severity=Severity.NOTE,
            message=f"new rules were tried on the newest {counted(records, 'record')} of the topic only",
            because=[f"a plan reads at most {counted(MOST_RECORDS, 'record')} of all topics with new rules"],
            measured="the newest records of each partition",
            remedy="audit the topic with the new rules to judge all records",
            location=trial.declaration.locations.at(("contents",)),
        )


def _would_fail(finding: Finding, records: int, coverage: float) -> str:
    broken = finding.evidence.get("records")
    if not isinstance(broken, int):
        return f"{finding.check} would fail: {finding.message}"
    read = f"{records:,} retained" if coverage >= 1 else f"the newest {records:,}"
    return f"{finding.check} would fail for {broken:,} of {read} records: {finding.message}"


def _consequence(finding: Finding, message: str, severity: Severity) -> Consequence:
    return Consequence(
        kind=KIND,
        severity=severity,
        message=message,
        because=finding.because,
        measured=f"an audit of at most {counted(MOST_RECORDS, 'record')}, with the new rules only",
        remedy=finding.remedy,
        evidence={"check": finding.check, **finding.evidence},
        location=finding.location,
    )


def _untried(trial: RuleTrial, reason: str) -> Consequence:
    checks = ", ".join(sorted(trial.checks))
    return Consequence(
        kind=KIND,
        severity=Severity.NOTE,
        message=f"new rules ({checks}) were not tried on the retained records: {reason}",
        measured="nothing",
        remedy=f"{_READ_WITH}: provide what is missing, and plan again",
        location=trial.declaration.locations.at(("contents",)),
    )
