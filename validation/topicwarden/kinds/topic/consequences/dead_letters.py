"""The topic is no longer a dead-letter queue: share groups lose the records that they could not process (KIP-1191).

Brokers write such a record to the topic that the group names (``errors.deadletterqueue.topic.name``) only if that topic
has ``errors.deadletterqueue.group.enable``. Else they archive the record, and nobody gets it again.
"""

from collections.abc import Iterable

from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence
from topicwarden.model.planned_change import Consequence, Severity

AVOIDABLE = True
SETTING = "errors.deadletterqueue.group.enable"


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    return RequiredEvidence() if change.lowered(SETTING) else None


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    yield Consequence(
        kind="dead-letters",
        severity=Severity.DANGER,
        message=f"{SETTING} becomes false: brokers refuse to write the dead letters of share groups to the topic, and "
        "these groups lose the records that they cannot process",
        because=["a share group names the topic in errors.deadletterqueue.topic.name, which is a setting of the group"],
        remedy="give these groups another topic first, with that setting: true",
        location=change.at("config", SETTING),
    )
