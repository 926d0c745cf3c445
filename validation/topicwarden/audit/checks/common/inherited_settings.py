"""Settings that a topic inherits from its brokers, which may have different values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.check import CheckResult
from topicwarden.kafka.read.effective_defaults import differing_defaults
from topicwarden.model.verdict import Verdict
from topicwarden.plan.consequence_text import by_broker


def differing_brokers(subject: AuditedTopic, setting: str) -> Mapping[str, list[int]]:
    """Return the brokers by their value of a setting that the topic inherits.

    Empty if the topic has its own value, or if all brokers have the same value.
    """
    inherited = subject.live is not None and setting not in subject.live.own_config
    return differing_defaults(subject.snapshot, setting) if inherited else {}


def limit_by_defaults(subject: AuditedTopic, result: CheckResult, settings: Iterable[str]) -> CheckResult:
    """Return ``result``; undecidable if it fails by one of the ``settings`` in which brokers differ.

    The value in the snapshot is of the broker that answered. The leader deletes and cleans by its own.
    """
    if result.verdict is not Verdict.FAIL:
        return result
    for name in settings:
        if brokers := differing_brokers(subject, name):
            reason = f"{name} is not set on the topic, and differs by broker: {by_broker(name, brokers)}"
            remedy = f"give all brokers the same value, or declare {name}"
            return replace(result, verdict=Verdict.UNDECIDABLE, because=(*result.because, reason), remedy=remedy)
    return result
