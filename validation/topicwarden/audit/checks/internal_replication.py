"""A topic that Kafka, Kafka Connect or Kafka Streams made for itself has as many replicas as the cluster gives.

Such topics are created once, by whoever comes first: with one broker up, or by an application that asks for one
replica, they stay as they are for ever. A lost broker then takes the offsets of all groups, or a state, with it.

**fail**: a partition of one of Kafka's own topics has fewer replicas than the brokers' own setting for it
(``offsets.topic.replication.factor`` and the like), and there are brokers enough. **undecidable**: fewer than three, or
than ``default.replication.factor``, where there are brokers enough, as an application may have asked for it; or
``min.insync.replicas`` is no less than the number of replicas, so that one lost broker stops all writes, or is below
the brokers' own setting for the topic (``transaction.state.log.min.isr``). **undecidable**: the brokers' settings may
not be seen (DescribeConfigs on the Cluster resource).

Example: one broker of a new cluster was a minute ahead of the others, and ``__consumer_offsets`` has one replica.

Remedy: reassign the partitions, as `kafka-reassign-partitions` does; raise the application's ``replication.factor``.

Source: KIP-115, KIP-733; ``AutoTopicCreationManager``.
"""

from collections.abc import Iterable

from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits
from topicwarden.model.verdict import Verdict

TRAITS = Traits(judges_internal_topics=True)
_ENOUGH = 3


def applies(subject: AuditedTopic) -> bool:
    return subject.internal is not None and subject.live is not None


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    assert subject.internal and subject.live
    brokers, setting = len(subject.snapshot.racks), subject.internal.policy.replication_factor_setting
    told = subject.snapshot.broker_number(setting, 1)
    if told is None:
        yield CheckResult(
            Verdict.UNDECIDABLE,
            f"the brokers do not tell their {setting}",
            path=("replication_factor",),
            remedy="grant DescribeConfigs on the Cluster resource",
        )
    asked = told or 1
    wanted = min(brokers, max(_ENOUGH, asked))
    few = [state for state in subject.live.replicas if len(state.replicas) < wanted]
    if few:
        least = min(len(state.replicas) for state in few)
        proven = subject.live.topic.internal and least < min(asked, brokers)
        yield CheckResult(
            Verdict.FAIL if proven else Verdict.UNDECIDABLE,
            f"{len(few)} of {len(subject.live.replicas)} partitions have as few as {least} of {wanted} replicas",
            path=("replication_factor",),
            partitions=tuple(state.partition for state in few),
            because=(
                f"the brokers' {setting} is {'not known' if told is None else told}, and there are {brokers} brokers",
                f"a lost broker takes it along: {subject.internal.description}",
            ),
            remedy="reassign its partitions to more brokers",
            evidence={"least": least, "wanted": wanted, setting: told, "brokers": brokers},
        )
    yield from _in_sync(subject)


def _in_sync(subject: AuditedTopic) -> Iterable[CheckResult]:
    assert subject.internal and subject.live
    least, setting = subject.number("min.insync.replicas"), subject.internal.policy.min_isr_setting
    copies = subject.live.topic.replication_factor
    if least is None:
        return
    wanted = min((subject.snapshot.broker_number(setting, 1) if setting else None) or 1, copies)
    if least >= copies > 1:
        message = f"min.insync.replicas is {least}, of {copies} replicas: one lost broker stops every write"
    elif least < wanted:
        message = (
            f"min.insync.replicas is {least}, and the brokers' {setting} is {wanted}: a write may be on one broker"
        )
    else:
        return
    yield CheckResult(
        Verdict.UNDECIDABLE,
        message,
        path=("config", "min.insync.replicas"),
        because=(subject.internal.description,),
        remedy=f"set min.insync.replicas={max(wanted, 1) if least < wanted else copies - 1}",
        evidence={"min.insync.replicas": least, "replication_factor": copies},
    )
