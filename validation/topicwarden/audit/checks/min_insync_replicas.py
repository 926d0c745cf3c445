"""Brokers accept writes with ``acks=all``.

**fail**: a partition has fewer in-sync replicas than ``min.insync.replicas``. If the partition has fewer replicas than
that, the number of replicas is the bound (since Kafka 3.7). At the time of the snapshot, the leader refuses such writes
with ``NOT_ENOUGH_REPLICAS``. **undecidable**: the topic inherits ``min.insync.replicas``, brokers have different
values, and the leader may still accept such writes.

Example: ``writes with acks=all are refused now in 2 of 6 partitions: 1, 4``, because ``min.insync.replicas is 2, and as
few as 1 are in sync``.

Confirm: ``kafka-topics --describe --under-min-isr-partitions`` lists them now.

Remedy: bring the lost brokers back. Lowering ``min.insync.replicas`` risks losing acknowledged records.

Prevent: one replica more than ``min.insync.replicas``, on different racks, and restart one broker at a time.

Source: ``Partition.effectiveMinIsr``, ``Partition.appendRecordsToLeader``.
"""

from collections.abc import Iterable, Iterator, Sequence

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.inherited_settings import differing_brokers
from topicwarden.audit.evidence import LiveSettings
from topicwarden.kafka.read.snapshot import PartitionReplicas
from topicwarden.model.verdict import Verdict


class Required(LiveSettings): ...


_SETTING = "min.insync.replicas"


def applies(subject: Required) -> bool:
    return subject.number(_SETTING) is not None


def judge(subject: Required) -> Iterable[CheckResult]:
    least = subject.number(_SETTING) or 1
    lowest = min([least, *map(int, differing_brokers(subject, _SETTING))])
    short = [state for state in subject.live.replicas if len(state.in_sync) < min(least, len(state.replicas))]
    refused = [state for state in short if len(state.in_sync) < min(lowest, len(state.replicas))]
    yield from _result(subject, least, refused)
    yield from _result(subject, least, [state for state in short if state not in refused], _SETTING)


def _result(
    subject: Required, least: int, short: Sequence[PartitionReplicas], *relevant_settings: str
) -> Iterator[CheckResult]:
    if short:
        numbers = ", ".join(str(state.partition) for state in short)
        yield CheckResult(
            Verdict.FAIL,
            f"writes with acks=all are refused now in {len(short)} of {len(subject.live.replicas)} partitions: "
            f"{numbers}",
            path=("config", _SETTING),
            partitions=tuple(state.partition for state in short),
            because=(f"{_SETTING} is {least}, and as few as {min(len(s.in_sync) for s in short)} are in sync",),
            remedy="bring the lost brokers back; lowering min.insync.replicas risks losing acknowledged records",
            evidence={_SETTING: least, "fewest_in_sync": min(len(state.in_sync) for state in short)},
            relevant_settings=relevant_settings,
        )
