"""Every declared topic is on the cluster.

**fail**: it is not, at the moment of the snapshot. Producers that find no topic fail, or make one with the brokers'
defaults where ``auto.create.topics.enable`` lets them.

Example: ``orders.placed.v1: is declared, and not on the cluster``; the YAML was merged, and nobody deployed it.

Remedy: `pulumi up` creates it; if it was deleted by hand, `pulumi refresh` first.

Source: ``UNKNOWN_TOPIC_OR_PARTITION`` of Metadata, ``DefaultAutoTopicCreationManager.createTopics``.
"""

from collections.abc import Iterable

from topicwarden.audit.subject import Judgement, Subject
from topicwarden.verdict import Verdict


def applies(subject: Subject) -> bool:
    return subject.declared is not None


def judge(subject: Subject) -> Iterable[Judgement]:
    if subject.live is None:
        yield Judgement(
            Verdict.FAIL,
            "is declared, and not on the cluster",
            remedy="`pulumi up` creates it; if it was deleted by hand, `pulumi refresh` first",
        )
