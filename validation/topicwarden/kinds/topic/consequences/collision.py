"""A topic that the deploy would create has the same name in Kafka's metrics as a topic of the cluster.

Kafka's metrics cannot distinguish ``.`` and ``_``, so the controller refuses the second topic
(``ReplicationControlManager.validateNewTopicNames``), and the deploy would fail halfway.
"""

from collections.abc import Iterable

from topicwarden.kafka_facts.topic_names import metric_name
from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence
from topicwarden.model.planned_change import Action, Consequence, Severity

AVOIDABLE = False


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    return RequiredEvidence() if change.action is Action.CREATE else None


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    existing = evidence.snapshot.by_metric_name.get(metric_name(change.name), change.name)
    if existing != change.name:
        yield Consequence(
            kind="topic-collision",
            severity=Severity.REFUSED,
            message=f"it and the existing topic {existing} have the same name in Kafka's metrics, so Kafka refuses it",
            remedy=f"give it another name, or delete {existing} in an earlier deploy",
            location=change.at(),
        )
