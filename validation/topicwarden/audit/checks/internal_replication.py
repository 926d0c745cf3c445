"""Each internal topic of Kafka, Kafka Connect or Kafka Streams has enough replicas.

The first client or broker that needs such a topic creates it. If only one broker is up then, or an application requests
one replica, the topic keeps one replica. If its broker is lost, the offsets of all groups, or a state, are lost too.

**fail**: a partition of one of Kafka's own topics has fewer replicas than the brokers' own setting for the topic
(``offsets.topic.replication.factor`` and similar), and the cluster has enough brokers. **undecidable**: a partition has
fewer than three replicas, or fewer than ``default.replication.factor``, and there are enough brokers, because an
application may have requested the number. Also **undecidable**: ``min.insync.replicas`` is not below the number of
replicas, so one lost broker stops all writes; it is below the brokers' own setting for the topic
(``transaction.state.log.min.isr``); or the brokers' settings are not visible (DescribeConfigs on the Cluster resource).

Example: one broker of a new cluster was a minute ahead of the others, and ``__consumer_offsets`` has one replica.

Confirm: ``kafka-topics --describe --topic T`` prints the replicas of each partition.

Remedy: reassign the partitions with `kafka-reassign-partitions`; raise the application's ``replication.factor``.

Prevent: start all brokers before the first client; set ``offsets.topic.replication.factor`` and
``transaction.state.log.replication.factor`` to 3.

Source: KIP-115, KIP-733; ``AutoTopicCreationManager``.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.evidence import KnownRole
from topicwarden.model.message_text import counted, share
from topicwarden.model.verdict import Verdict


class Required(KnownRole): ...


_RECOMMENDED_REPLICAS = 3


def applies(subject: Required) -> bool:
    return True


def judge(subject: Required) -> Iterable[CheckResult]:
    brokers, setting = len(subject.snapshot.racks), subject.internal.policy.replication_factor_setting
    broker_value = subject.snapshot.broker_number(setting, 1, min)
    if broker_value is None:
        yield CheckResult(
            Verdict.UNDECIDABLE,
            f"the brokers' {setting} is not visible",
            path=("replication_factor",),
            remedy="grant DescribeConfigs on the Cluster resource",
        )
    configured = broker_value or 1
    expected = min(brokers, max(_RECOMMENDED_REPLICAS, configured))
    short = [state for state in subject.live.replicas if len(state.replicas) < expected]
    if short:
        least = min(len(state.replicas) for state in short)
        proven = subject.live.topic.internal and least < min(configured, brokers)
        yield CheckResult(
            Verdict.FAIL if proven else Verdict.UNDECIDABLE,
            f"{share(len(short), len(subject.live.replicas), 'partition', 'have')} as few as {least} of "
            f"{counted(expected, 'replica')}",
            path=("replication_factor",),
            partitions=tuple(state.partition for state in short),
            because=(
                f"the brokers' {setting} is {'not known' if broker_value is None else broker_value}, "
                f"and the cluster has {counted(brokers, 'broker')}",
                f"the data may be lost with one broker: {subject.internal.description}",
            ),
            remedy="reassign its partitions to more brokers",
            evidence={"least": least, "wanted": expected, setting: broker_value, "brokers": brokers},
        )
    yield from _in_sync(subject)


def _in_sync(subject: Required) -> Iterable[CheckResult]:
    least, setting = subject.number("min.insync.replicas"), subject.internal.policy.min_isr_setting
    copies = subject.live.topic.replication_factor
    if least is None:
        return
    expected = min((subject.snapshot.broker_number(setting, 1, min) if setting else None) or 1, copies)
    if least >= copies > 1:
        message = f"min.insync.replicas is {least} of {copies} replicas: one lost broker stops every write"
    elif least < expected:
        message = (
            f"min.insync.replicas is {least}, and the brokers' {setting} is {expected}: "
            "an acknowledged write may be on one broker only"
        )
    else:
        return
    yield CheckResult(
        Verdict.UNDECIDABLE,
        message,
        path=("config", "min.insync.replicas"),
        because=(subject.internal.description,),
        remedy=f"set min.insync.replicas={max(expected, 1) if least < expected else copies - 1}",
        evidence={"min.insync.replicas": least, "replication_factor": copies},
    )
