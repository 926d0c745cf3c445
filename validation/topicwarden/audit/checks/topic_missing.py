"""Every declared topic is on the cluster.

**fail**: it is not, at the moment of the snapshot. Producers that find no topic fail, or make one with the brokers'
defaults where ``auto.create.topics.enable`` lets them. **undecidable**: this user may not describe a topic of that name
(Describe); Kafka answers TOPIC_AUTHORIZATION_FAILED whether it exists or not.

Example: ``orders.placed.v1: is declared, and not on the cluster``; the YAML was merged, and nobody deployed it.

Remedy: `pulumi up` creates it; if it was deleted by hand, `pulumi refresh` first.

Source: ``UNKNOWN_TOPIC_OR_PARTITION`` of Metadata, ``DefaultAutoTopicCreationManager.createTopics``.
"""

from collections.abc import Iterable

from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits
from topicwarden.model.verdict import Verdict

TRAITS = Traits()


def applies(subject: AuditedTopic) -> bool:
    return subject.declared is not None


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    assert subject.declared
    if subject.declared.name in subject.snapshot.hidden:
        yield CheckResult(
            Verdict.UNDECIDABLE,
            "is declared; whether it exists is not known, as the brokers do not tell this user",
            remedy="grant Describe on the topic, then audit again; nothing is known of it, so change nothing",
        )
    elif subject.live is None:
        yield CheckResult(
            Verdict.FAIL,
            "is declared, and not on the cluster",
            remedy="`pulumi up` creates it; if it was deleted by hand, `pulumi refresh` first",
        )
