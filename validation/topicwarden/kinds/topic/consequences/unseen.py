"""This user may not see the topic, its settings or the brokers' defaults, so the change cannot be predicted.

Kafka returns TOPIC_AUTHORIZATION_FAILED both for a hidden topic and for a topic that does not exist. Without
DescribeConfigs, neither the effective settings nor the brokers' defaults are known. Such a change is refused.
"""

from collections.abc import Iterable

from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence
from topicwarden.kinds.topic.setting_effects import HARMFUL
from topicwarden.model.planned_change import Action, Consequence, Severity
from topicwarden.plan.consequence_text import shorten

AVOIDABLE = False
_WRITES = frozenset({Action.CREATE, Action.ADOPT, Action.UPDATE, Action.RECREATE, Action.DELETE})


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    return RequiredEvidence()


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    severity = Severity.REFUSED if change.action in _WRITES else Severity.DANGER
    if change.name in evidence.snapshot.hidden:
        yield Consequence(
            kind="unseen",
            severity=severity,
            message="the brokers do not report whether the topic exists, so its records are not known",
            because=["Kafka returns the same error for a hidden topic and for a topic that does not exist"],
            remedy="grant Describe on the topic (or on its name), and plan again",
            location=change.at(),
        )
    elif change.action is Action.DELETE:
        return
    elif change.live is not None and not change.live.sources:
        yield Consequence(
            kind="unseen",
            severity=severity,
            message="the topic's configuration may not be read, so the effect on its data is not known",
            remedy="grant DescribeConfigs on the topic, and plan again",
            location=change.at("config"),
        )
    elif names := _unknown_defaults(change):
        yield Consequence(
            kind="unseen",
            severity=severity,
            message=f"the deploy leaves {shorten(names)} to the brokers, whose settings may not be read: the effective "
            "values are not known",
            remedy="declare them, or grant DescribeConfigs on the Cluster resource, and plan again",
            location=change.at("config"),
        )


def _unknown_defaults(change: TopicChange) -> list[str]:
    """Return the settings that the deploy unsets, whose default is unknown, and whose change can cause a loss."""
    if change.live is None or change.after is None or change.declaration is None:
        return []
    unset = change.live.own_config.keys() - change.declaration.topic.config.keys() - change.after.config.keys()
    return sorted(name for name in unset if name in HARMFUL)
