"""Every check on one topic, and its judgements as findings."""

from __future__ import annotations

from collections.abc import Iterator

from topicwarden.audit.checks import CHECKS
from topicwarden.audit.collect.internal_topics import fits_connect_name
from topicwarden.audit.compare_audits import Judged
from topicwarden.audit.subject import AuditedTopic, CheckResult
from topicwarden.model.finding import Finding, FindingLocation
from topicwarden.model.verdict import Verdict
from topicwarden.specs.resolve import Declaration


def judge(subject: AuditedTopic) -> Judged:
    """What each check that applies says, or that may apply for all that is known; nothing said is a pass.

    Of a topic that this user may not read, checks that look at records are undecidable; of Kafka's own, which few may
    read, they are left out.
    """
    judged = {
        check_id: tuple(_weakened(check_id, subject, [*check.judge(subject), *_unread(check_id, subject)]))
        if subject.readable or not check.TRAITS.reads_records
        else (_denied(),)
        for check_id, check in CHECKS.items()
        if check.applies(subject) and (subject.readable or not check.TRAITS.reads_records or not _internal(subject))
    }
    hidden = dict.fromkeys(_unrecognised(subject), _denied()) | dict.fromkeys(_hidden(subject), _undescribed())
    return judged | {check_id: (hidden[check_id],) for check_id in CHECKS if check_id in hidden.keys() - judged.keys()}


def _hidden(subject: AuditedTopic) -> frozenset[str]:
    """Return the checks of which only the topic's configuration tells whether they apply, if it may not be seen."""
    if subject.live is None or subject.settings_known or _internal(subject):
        return frozenset()
    return frozenset(
        check_id
        for check_id, check in CHECKS.items()
        if check.TRAITS.needs_settings or (check.TRAITS.needs_previous_audit and subject.past.state)
    )


def _unrecognised(subject: AuditedTopic) -> frozenset[str]:
    """Return the checks of internal topics, if only records that may not be read tell whether the topic is one."""
    if subject.live is None or subject.readable or subject.internal or not fits_connect_name(subject.live.topic.name):
        return frozenset()
    return frozenset(check_id for check_id, check in CHECKS.items() if check.TRAITS.judges_internal_topics)


def _undescribed() -> CheckResult:
    return CheckResult(
        Verdict.UNDECIDABLE,
        "the brokers did not tell the topic's configuration",
        remedy="grant DescribeConfigs on the topic",
    )


def _internal(subject: AuditedTopic) -> bool:
    return subject.live is not None and subject.live.topic.internal


def _denied() -> CheckResult:
    return CheckResult(Verdict.UNDECIDABLE, "this user may not read the records", remedy="grant Read on the topic")


def findings(topic: str, judged: Judged, declaration: Declaration | None) -> Iterator[Finding]:
    """The findings that a report shows: one for each judgement that says something, else one plain pass a check."""
    for check_id, judgements in judged.items():
        said = [one for one in judgements if one.message or one.verdict is not Verdict.PASS]
        for judgement in said or [CheckResult(Verdict.PASS, "")]:
            yield _finding(check_id, topic, judgement, declaration)


def _unread(check_id: str, subject: AuditedTopic) -> Iterator[CheckResult]:
    unread = tuple(state.partition for state in subject.live.replicas if state.leader is None) if subject.live else ()
    if unread and CHECKS[check_id].TRAITS.reads_records:
        yield CheckResult(
            Verdict.UNDECIDABLE,
            "could not be read: no replica can lead",
            partitions=unread,
            remedy="bring back a broker that holds a replica",
        )


def _weakened(check_id: str, subject: AuditedTopic, judgements: list[CheckResult]) -> list[CheckResult]:
    """What may still be said where only a share of the records was read: a fault that was seen is there."""
    if subject.coverage >= 1 or not CHECKS[check_id].TRAITS.reads_records:
        return judgements
    share = f"{subject.coverage:.2%}".replace(".00%", "%")
    if CHECKS[check_id].TRAITS.needs_every_record:
        message = f"takes every record, and {share} of the offsets were read"
        return [CheckResult(Verdict.UNDECIDABLE, message, remedy="audit without --sample and --max-records")]
    if any(one.verdict is not Verdict.PASS for one in judgements):
        return judgements
    return [*judgements, CheckResult(Verdict.PASS, f"holds in what was read: {share} of the offsets, the newest")]


def _finding(check_id: str, topic: str, judgement: CheckResult, declaration: Declaration | None) -> Finding:
    place = declaration.places.at(judgement.path) if declaration else None
    return Finding(
        check=check_id,
        verdict=judgement.verdict,
        topic=topic,
        partitions=list(judgement.partitions),
        message=judgement.message,
        because=list(judgement.because),
        remedy=judgement.remedy,
        evidence=dict(judgement.evidence),
        place=FindingLocation(file=place.file, line=place.line, column=place.column) if place else None,
    )
