"""Brokers accept writes with ``acks=all``.

**fail**: a partition has fewer in-sync replicas than ``min.insync.replicas``. If the partition has fewer replicas than
that, the number of replicas is the bound (since Kafka 3.7). At the time of the snapshot, the leader refuses such writes
with ``NOT_ENOUGH_REPLICAS``.

Example: ``writes with acks=all are refused now in 2 of 6 partitions: 1, 4``, because ``min.insync.replicas is 2, and as
few as 1 are in sync``.

Confirm: ``kafka-topics --describe --under-min-isr-partitions`` lists them now.

Remedy: bring the lost brokers back. Lowering ``min.insync.replicas`` risks losing acknowledged records.

Prevent: one replica more than ``min.insync.replicas``, on different racks, and restart one broker at a time.

Source: ``Partition.effectiveMinIsr``, ``Partition.appendRecordsToLeader``.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.evidence import LiveSettings
from topicwarden.model.verdict import Verdict


class Required(LiveSettings): ...


def applies(subject: Required) -> bool:
    return subject.number("min.insync.replicas") is not None


def judge(subject: Required) -> Iterable[CheckResult]:
    least = subject.number("min.insync.replicas") or 1
    short = [state for state in subject.live.replicas if len(state.in_sync) < min(least, len(state.replicas))]
    if short:
        numbers = ", ".join(str(state.partition) for state in short)
        yield CheckResult(
            Verdict.FAIL,
            f"writes with acks=all are refused now in {len(short)} of {len(subject.live.replicas)} partitions: "
            f"{numbers}",
            path=("config", "min.insync.replicas"),
            partitions=tuple(state.partition for state in short),
            because=(
                f"min.insync.replicas is {least}, and as few as {min(len(s.in_sync) for s in short)} are in sync",
            ),
            remedy="bring the lost brokers back; lowering min.insync.replicas risks losing acknowledged records",
            evidence={"min.insync.replicas": least, "fewest_in_sync": min(len(state.in_sync) for state in short)},
        )
