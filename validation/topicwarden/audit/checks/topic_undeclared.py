"""Every topic on the cluster is declared.

**fail**: the topic is not declared. Topics that Kafka, Kafka Connect and Kafka Streams create for themselves need no
declaration. **undecidable**: only the name, or the name and the records, indicate such a topic; or the records that
would show whether a topic is Kafka Connect's are not readable (Read on the topic). Topics outside of the stack's scope
(``topicwarden:scope``), and those of a cluster that no project declares (``--bootstrap-server``), are not judged.

Example: a topic created by hand, or by a producer because of a typing error.

Confirm: ``kafka-topics --describe --topic T`` and ``kafka-consumer-groups --describe --all-groups`` show whether it is
used.

Remedy: declare the topic (`topicwarden import` writes the YAML), or delete it. If it belongs to another team,
exclude it with ``topicwarden:scope``.

Prevent: set ``auto.create.topics.enable=false`` on the brokers, and grant Create to nobody but the user of deploys.

Source: ``DefaultAutoTopicCreationManager.createTopics``; see ``internal-policy`` for how internal topics are
recognised.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.collect.internal_topics import fits_connect_name
from topicwarden.audit.evidence import Live
from topicwarden.model.verdict import Verdict


class Required(Live): ...


def applies(subject: Required) -> bool:
    return not subject.live.topic.internal and not subject.may_be_undeclared


def judge(subject: Required) -> Iterable[CheckResult]:
    if subject.declared is not None:
        return
    if subject.internal is not None and not subject.internal.certain:
        yield CheckResult(
            Verdict.UNDECIDABLE,
            f"is on the cluster, but not declared; perhaps {subject.internal.description}",
            remedy="declare it (`topicwarden import` writes the YAML), or delete it if nobody needs it",
        )
        return
    if subject.internal is not None:
        yield CheckResult(Verdict.PASS, f"needs no declaration: {subject.internal.description}")
        return
    if not subject.readable and fits_connect_name(subject.live.topic.name):
        yield CheckResult(
            Verdict.UNDECIDABLE,
            "is on the cluster, but not declared; its name fits Kafka Connect, but this user may not read the records "
            "that would show whether it belongs to it",
            remedy="grant Read on the topic, or declare it",
        )
        return
    yield CheckResult(
        Verdict.FAIL,
        "is on the cluster, but not declared",
        remedy="declare it (`topicwarden import` writes the YAML), or delete it if it is not needed; if it belongs to "
        "another team, exclude it with topicwarden:scope in the stack's settings",
    )
