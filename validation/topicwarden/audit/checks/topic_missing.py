"""Every declared topic is on the cluster.

**fail**: the topic is missing at the time of the snapshot. Producers that do not find a topic fail, or create one with
the brokers' defaults if ``auto.create.topics.enable`` allows it. **undecidable**: this user may not describe a topic of
that name (Describe). Kafka then answers TOPIC_AUTHORIZATION_FAILED whether the topic exists or not.

Example: ``orders.placed.v1: is declared, but not on the cluster``; the YAML was merged, but not deployed.

Confirm: ``kafka-topics --list`` does not print the name.

Remedy: `topicwarden up` creates the topic; if it was deleted by hand, `topicwarden up --refresh`.

Prevent: grant Delete on topics to nobody but the user of deploys.

Source: ``UNKNOWN_TOPIC_OR_PARTITION`` of Metadata, ``DefaultAutoTopicCreationManager.createTopics``.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.evidence import Declared
from topicwarden.model.verdict import Verdict


class Required(Declared): ...


def applies(subject: Required) -> bool:
    return True


def judge(subject: Required) -> Iterable[CheckResult]:
    if subject.declared.name in subject.snapshot.hidden:
        yield CheckResult(
            Verdict.UNDECIDABLE,
            "is declared, but it is not known whether it exists, because this user may not describe it",
            remedy="grant Describe on the topic, then audit again; do not change the topic until then",
        )
    elif subject.live is None:
        yield CheckResult(
            Verdict.FAIL,
            "is declared, but not on the cluster",
            remedy="`topicwarden up` creates it; if it was deleted by hand, `topicwarden up --refresh`",
        )
