"""Run every check on one topic, convert the results into findings, and advise on undeclared topics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.check import Check, CheckResult
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.checks.common.inherited_settings import limit_by_defaults
from topicwarden.audit.compare_audits import ResultsByCheck
from topicwarden.audit.evidence import (
    Counts,
    EveryPartition,
    evidence_to_apply,
    hidden_users,
    missing_evidence,
    missing_partitions,
    unknown_subjects,
    view_of,
)
from topicwarden.kafka.read.snapshot import LiveTopic, Snapshot
from topicwarden.model.finding import Finding
from topicwarden.model.message_text import first_of
from topicwarden.model.topic import Topic
from topicwarden.model.verdict import Verdict
from topicwarden.policies.judge_topics import judge_topics
from topicwarden.policies.policy import PlacedSettings, Policy
from topicwarden.policies.rule import RuleSettings
from topicwarden.policies.rules import RULES, min_insync_replicas, replication_factor
from topicwarden.policies.rules.min_insync_replicas import SETTING as MIN_INSYNC
from topicwarden.specs.resolve import Declaration


def judge(subject: AuditedTopic) -> ResultsByCheck:
    """Return the results of each check that applies to the topic, or that may apply. No result is a pass."""
    results = {check_id: results_of(check, subject) for check_id, check in CHECKS.items()}
    return {check_id: found for check_id, found in results.items() if found is not None}


def results_of(check: Check[Any], subject: AuditedTopic) -> tuple[CheckResult, ...] | None:
    """Return the results of one check; None if it does not apply.

    If this user may not read one of Kafka's own topics, which few users may, checks of its records are omitted.
    """
    required, view = check.Required, view_of(check.Required, subject)
    if view is None or not check.applies(view):
        unknown = evidence_to_apply(required, subject)
        return None if unknown is None else (unknown,)
    reads_records = issubclass(required, Counts)
    if reads_records and not subject.readable and view.live.topic.internal:
        return None
    if missing := missing_evidence(required, subject):
        return (missing,)
    unread = [*missing_partitions(required, subject), *hidden_users(required, subject)]
    judged = () if unread and issubclass(required, EveryPartition) else check.judge(view)
    unread += unknown_subjects(required, subject)
    results = [limit_by_defaults(subject, result, result.relevant_settings) for result in (*judged, *unread)]
    return tuple(_limit_by_coverage(subject, results) if reads_records else results)


def unsettled_checks(subject: AuditedTopic, results: ResultsByCheck) -> frozenset[str]:
    """Return the checks of records that did not judge all of them, or were omitted.

    If they find nothing, what an earlier audit found is not known to be resolved.
    """
    of_records = {check_id for check_id, check in CHECKS.items() if issubclass(check.Required, Counts)}
    if subject.live is not None and subject.live.topic.internal and not subject.readable:
        return frozenset(of_records)
    return frozenset(of_records & results.keys() if subject.coverage < 1 else ())


def findings(topic: str, results: ResultsByCheck, declaration: Declaration | None) -> Iterator[Finding]:
    """Yield the findings for the report: one per result to report, or a plain pass for a check without any."""
    for check_id, check_results in results.items():
        reported = [result for result in check_results if result.message or result.verdict is not Verdict.PASS]
        for result in reported or [CheckResult(Verdict.PASS, "")]:
            yield _finding(check_id, topic, result, declaration)


def _limit_by_coverage(subject: AuditedTopic, results: list[CheckResult]) -> list[CheckResult]:
    """Return the results that remain valid if only a share of the records was read.

    Faults that were found remain. A pass says which share of the offsets was read.
    """
    if subject.coverage >= 1 or any(result.verdict is not Verdict.PASS for result in results):
        return results
    message = f"no fault in the records that were read: the newest {subject.share_read} of the offsets"
    return [*results, CheckResult(Verdict.PASS, message)]


def _finding(check_id: str, topic: str, result: CheckResult, declaration: Declaration | None) -> Finding:
    location = declaration.locations.at(result.path) if declaration else None
    return Finding(
        check=check_id,
        verdict=result.verdict,
        topic=topic,
        partitions=list(result.partitions),
        message=result.message,
        because=list(result.because),
        remedy=result.remedy,
        evidence=dict(result.evidence),
        location=location,
    )


_MOST_LISTED: Final = 3


_OF_A_DECLARATION: Final = ("protected-names", "standing-allowance", "kafka-version", "service-limits")
"""Rules that are always on, but judge YAML, or its stack."""
_REPLICAS: Final = 3
_OF_REPLICAS: Final[dict[str, RuleSettings]] = {
    "replication-factor": replication_factor.Settings(min=_REPLICAS),
    "min-insync-replicas": min_insync_replicas.Settings(min=2),
}
"""Settings for clusters that have as many brokers."""


def _good_practice(topics: Sequence[Topic], brokers: int) -> dict[tuple[str, str], list[str]]:
    """Return the names of the topics that violate a rule, by rule and message, in the order of the rules.

    ``brokers`` is the number of brokers of the cluster.
    """
    always = {
        name: rule.ALWAYS for name, rule in RULES.items() if rule.ALWAYS is not None and name not in _OF_A_DECLARATION
    }
    settings = {**always, **(_OF_REPLICAS if brokers >= _REPLICAS else {})}
    policy = Policy({name: (PlacedSettings(each),) for name, each in settings.items()})
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for result in judge_topics(topics, policy, ""):
        if result.topic is not None:
            found[result.rule, result.message].append(result.topic)
    return dict(sorted(found.items(), key=lambda each: list(settings).index(each[0][0])))


def advice(snapshot: Snapshot) -> list[str]:
    """Return what the rules of good practice say of the topics, one line for each rule and message."""
    topics = [
        _with_effective_minimum(live)
        for name, live in snapshot.topics.items()
        if not (live.topic.internal or name.startswith("__"))
    ]
    found = _good_practice(topics, len(snapshot.racks))
    return [f"{message} ({rule}): {_listed(names)}" for (rule, message), names in found.items()]


def _with_effective_minimum(live: LiveTopic) -> Topic:
    """Return the topic with its own settings, and the ``min.insync.replicas`` that its brokers may give it."""
    effective = live.topic.config.get(MIN_INSYNC)
    return replace(live.topic, config={**live.own_config, **({MIN_INSYNC: effective} if effective else {})})


def _listed(names: list[str]) -> str:
    return first_of(names, _MOST_LISTED, "topic")
