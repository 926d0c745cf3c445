"""The service refuses to change the cleanup policy of an existing topic in this way.

Some services fix ``cleanup.policy`` when a topic is created, or refuse some changes (docs/services.md). Kafka would
refuse the change in the middle of a deploy.
"""

from collections.abc import Iterable

from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence
from topicwarden.model.planned_change import Action, Consequence, Severity
from topicwarden.model.topic import Topic

AVOIDABLE = True
SETTING = "cleanup.policy"


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    before, after = _policy(change.before), _policy(change.after)
    if change.action is Action.RECREATE or None in (before, after) or before == after:
        return None
    return RequiredEvidence()


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    service, before, after = evidence.snapshot.service, _policy(change.before), _policy(change.after)
    if service.fixed_policy is None or (before, after) not in service.fixed_policy.changes:
        return
    yield Consequence(
        kind="fixed-policy",
        severity=Severity.REFUSED,
        message=f"{SETTING} is {before} and will be {after}; {service.title} refuses this change of an existing topic",
        because=[f"see {service.fixed_policy.source}"],
        remedy=f"keep {SETTING}: {before}, or declare a topic with another name and copy the records",
        location=change.at("config", SETTING),
    )


def _policy(topic: Topic | None) -> str | None:
    policies = topic.cleanup_policies if topic else None
    return None if policies is None else ",".join(sorted(policies))
