"""Run every check on one topic, and convert the results into findings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from topicwarden.audit.checks import CHECKS
from topicwarden.audit.collect.changes_during_audit import ChangeDuringAudit
from topicwarden.audit.collect.internal_topics import fits_connect_name
from topicwarden.audit.compare_audits import ResultsByCheck
from topicwarden.audit.subject import AuditedTopic, Check, CheckResult
from topicwarden.kafka.read.effective_defaults import differing_defaults
from topicwarden.kafka_facts.services.profile import Fact, ServiceProfile
from topicwarden.model.finding import Finding, FindingLocation
from topicwarden.model.verdict import Verdict
from topicwarden.plan.consequence_text import by_broker
from topicwarden.specs.resolve import Declaration


def judge(subject: AuditedTopic) -> ResultsByCheck:
    """Return the results of each check that applies to the topic, or that may apply. No result is a pass.

    If this user may not read the topic, checks that read records are undecidable. For Kafka's own topics, which few
    users may read, these checks are omitted.
    """
    if subject.change and not subject.change.grown:
        return {check_id: (_changed(subject.change),) for check_id, check in CHECKS.items() if check.applies(subject)}
    results = {
        check_id: _results(check_id, check, subject)
        for check_id, check in CHECKS.items()
        if check.applies(subject) and (subject.readable or not check.TRAITS.reads_records or not _internal(subject))
    }
    undecided = dict.fromkeys(_perhaps_internal(subject), _read_denied()) | dict.fromkeys(
        _perhaps_applicable(subject), _describe_denied()
    )
    if subject.change:
        placed = [check_id for check_id, check in CHECKS.items() if check.TRAITS.judges_placement]
        results |= {check_id: (_changed(subject.change),) for check_id in placed if check_id in results}
    missing = undecided.keys() - results.keys()
    return results | {check_id: (undecided[check_id],) for check_id in CHECKS if check_id in missing}


def _results(check_id: str, check: Check, subject: AuditedTopic) -> tuple[CheckResult, ...]:
    if check.TRAITS.reads_records and not subject.readable:
        return (_read_denied(),)
    if check.TRAITS.rests_on_apache_log and subject.other_log:
        return (_other_log(subject.snapshot.service, subject.other_log.fact),)
    unread = list(_unread(check_id, subject))
    judged = () if unread and check.TRAITS.compares_partitions else check.judge(subject)
    results = _limit_by_coverage(check_id, subject, [*judged, *unread])
    return tuple(_limit_by_defaults(subject, result) for result in results)


def _other_log(service: ServiceProfile, fact: Fact) -> CheckResult:
    """Return the result of a check whose proof only holds for the log of Apache Kafka."""
    return CheckResult(
        Verdict.UNDECIDABLE,
        f"{service.title} does not store records as Apache Kafka does, and the proof rests on Apache Kafka's segments, "
        "retention and log cleaner",
        because=(fact.text,),
        remedy=f"see {fact.source}",
    )


def _perhaps_applicable(subject: AuditedTopic) -> frozenset[str]:
    """Return the checks that depend on the topic's configuration, if this user may not see the configuration."""
    if subject.live is None or subject.settings_known or _internal(subject):
        return frozenset()
    return frozenset(
        check_id
        for check_id, check in CHECKS.items()
        if check.TRAITS.needs_settings or (check.TRAITS.needs_previous_audit and subject.past.state)
    )


def _perhaps_internal(subject: AuditedTopic) -> frozenset[str]:
    """Return the checks of internal topics, if only unreadable records can show whether the topic is internal."""
    if subject.live is None or subject.readable or subject.internal or not fits_connect_name(subject.live.topic.name):
        return frozenset()
    return frozenset(check_id for check_id, check in CHECKS.items() if check.TRAITS.judges_internal_topics)


def _describe_denied() -> CheckResult:
    return CheckResult(
        Verdict.UNDECIDABLE,
        "the brokers did not return the topic's configuration",
        remedy="grant DescribeConfigs on the topic",
    )


def _changed(change: ChangeDuringAudit) -> CheckResult:
    return CheckResult(Verdict.UNDECIDABLE, f"the topic {change.message}", remedy="audit the topic again")


def _internal(subject: AuditedTopic) -> bool:
    return subject.live is not None and subject.live.topic.internal


def _read_denied() -> CheckResult:
    return CheckResult(Verdict.UNDECIDABLE, "this user may not read the records", remedy="grant Read on the topic")


def findings(topic: str, results: ResultsByCheck, declaration: Declaration | None) -> Iterator[Finding]:
    """Yield the findings for the report: one per result to report, or a plain pass for a check without any."""
    for check_id, check_results in results.items():
        reported = [result for result in check_results if result.message or result.verdict is not Verdict.PASS]
        for result in reported or [CheckResult(Verdict.PASS, "")]:
            yield _finding(check_id, topic, result, declaration)


def _unread(check_id: str, subject: AuditedTopic) -> Iterator[CheckResult]:
    if not CHECKS[check_id].TRAITS.reads_records:
        return
    for reason in sorted(set(subject.unread.values())):
        yield CheckResult(
            Verdict.UNDECIDABLE,
            f"could not be read to the end: {reason}",
            partitions=tuple(sorted(partition for partition, why in subject.unread.items() if why == reason)),
            remedy="look at the partition and at the record at this offset, then audit again",
        )
    replicas = subject.live.replicas if subject.live else ()
    leaderless = tuple(state.partition for state in replicas if state.leader is None)
    if leaderless:
        yield CheckResult(
            Verdict.UNDECIDABLE,
            "could not be read: the partition has no leader",
            partitions=leaderless,
            remedy="bring back a broker that holds a replica",
        )


def _limit_by_coverage(check_id: str, subject: AuditedTopic, results: list[CheckResult]) -> list[CheckResult]:
    """Return the results that remain valid if only a share of the records was read.

    Faults that were found remain. A pass says which share of the offsets was read.
    """
    if subject.coverage >= 1 or not CHECKS[check_id].TRAITS.reads_records:
        return results
    share = f"{subject.coverage:.2%}".replace(".00%", "%")
    if CHECKS[check_id].TRAITS.needs_every_record:
        message = f"needs every record, and only {share} of the offsets were read"
        return [CheckResult(Verdict.UNDECIDABLE, message, remedy="audit without --sample and --max-records")]
    if any(result.verdict is not Verdict.PASS for result in results):
        return results
    message = f"no fault in the records that were read: the newest {share} of the offsets"
    return [*results, CheckResult(Verdict.PASS, message)]


def _limit_by_defaults(subject: AuditedTopic, result: CheckResult) -> CheckResult:
    """Return ``result``; undecidable if it fails by a setting that the topic inherits, and in which brokers differ.

    The value in the snapshot is of the broker that answered. The leader deletes and cleans by its own.
    """
    if result.verdict is not Verdict.FAIL or subject.live is None:
        return result
    for name in result.relevant_settings:
        brokers = {} if name in subject.live.own_config else differing_defaults(subject.snapshot, name)
        if brokers:
            reason = f"{name} is not set on the topic, and differs by broker: {by_broker(name, brokers)}"
            remedy = f"give all brokers the same value, or declare {name}"
            return replace(result, verdict=Verdict.UNDECIDABLE, because=(*result.because, reason), remedy=remedy)
    return result


def _finding(check_id: str, topic: str, result: CheckResult, declaration: Declaration | None) -> Finding:
    place = declaration.places.at(result.path) if declaration else None
    return Finding(
        check=check_id,
        verdict=result.verdict,
        topic=topic,
        partitions=list(result.partitions),
        message=result.message,
        because=list(result.because),
        remedy=result.remedy,
        evidence=dict(result.evidence),
        place=FindingLocation(file=place.file, line=place.line, column=place.column) if place else None,
    )
