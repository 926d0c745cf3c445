"""Every topic on the cluster is declared.

**fail**: it is not. Topics that Kafka, Kafka Connect and Kafka Streams make for themselves need no declaration; where
one is taken for such by its name alone, the ``pass`` says so. **undecidable**: its name may be one of Kafka Connect's,
and its records, which would tell, may not be read (Read on the topic).

Example: a topic that somebody created by hand, or that a producer's typing error created.

Remedy: declare it (`topicwarden import` writes the YAML), or delete it.

Source: ``DefaultAutoTopicCreationManager.createTopics``; ``internal-policy`` for how Kafka's own are told.
"""

from collections.abc import Iterable

from topicwarden.audit.collect.internal_topics import fits_connect_name
from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits
from topicwarden.model.verdict import Verdict

TRAITS = Traits()


def applies(subject: AuditedTopic) -> bool:
    return subject.live is not None and not subject.live.topic.internal


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    assert subject.live
    if subject.declared is not None:
        return
    if subject.internal is not None:
        yield CheckResult(Verdict.PASS, f"needs no declaration: {subject.internal.description}")
        return
    if not subject.readable and fits_connect_name(subject.live.topic.name):
        yield CheckResult(
            Verdict.UNDECIDABLE,
            "is on the cluster, and not declared; only its records tell whether it is one of Kafka Connect's, and they "
            "may not be read",
            remedy="grant Read on the topic, or declare it",
        )
        return
    yield CheckResult(
        Verdict.FAIL,
        "is on the cluster, and not declared",
        remedy="declare it in topics/, or delete it if nobody needs it",
    )
