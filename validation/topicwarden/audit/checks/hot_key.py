"""No key has more than its declared share of the records.

**fail**: one key has more of the topic's records than ``contents: {key: {max_share: …}}``. Its records are counted in
the partitions in which it is the key with the most records; it may have more in others. Keys are counted by their
64-bit hash, over committed records. A key in several partitions (``key-in-several-partitions``) counts with all its
records. **undecidable**: it is not known whether keys are in several partitions, and the keys with the most records in
each partition would exceed the share together, if they were one key. A share that exceeds the bound only with records
of aborted and open transactions is not a ``fail``. A share that is below the bound only because of these records is not
detected.

Example: ``one key has 31.0% of the records, declared at most 10%: 3,100 in partition 2, first at offset 12 of
partition 2``.

Confirm: ``kafka-console-consumer --topic T --partition P --offset O --max-messages 1 --property print.key=true`` at a
few offsets of the partition prints this key.

Remedy: use a finer key, or add a salt to the key and merge downstream.

Prevent: choose a key with many values of similar frequency; measure it before the topic has consumers.

Source: ``BuiltInPartitioner.partitionForKey``: a key has one partition, and a partition one consumer of a group.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.content_faults import undecidable_if_upper_bound
from topicwarden.audit.evidence import CommittedCounts, EveryPartition, EveryRecord, Live
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.model.message_text import percent_above
from topicwarden.model.verdict import Verdict


class Required(CommittedCounts, EveryPartition, EveryRecord): ...


def applies(subject: Live) -> bool:
    return subject.contents.key.max_share is not None


def judge(subject: Required) -> Iterable[CheckResult]:
    bound = subject.contents.key.max_share or 1.0
    total = sum(counts.records for counts in subject.committed.values())
    if not total:
        return
    hottest = _partitions_of_hottest_key(subject)
    records, first = sum(counts.hottest for counts in hottest.values()), next(iter(hottest.values()))
    partition_counts = ", ".join(f"{counts.hottest:,} in partition {number}" for number, counts in hottest.items())
    scattered = subject.placement.study.hottest_scattered if subject.placement and subject.placement.study else None
    partitions, offset = tuple(hottest), first.hottest_offset
    if scattered and scattered.records > records:
        records, partition_counts = scattered.records, f"{scattered.records:,} in several partitions"
        partitions, offset = (scattered.partition,), scattered.offset
    share, declared = records / total, f"declared at most {100 * bound:.10g}%"
    share_at_most = sum(counts.hottest for counts in subject.committed.values()) / total
    if share > bound:
        result = CheckResult(
            Verdict.FAIL,
            f"one key has {'at least ' if _may_be_elsewhere(subject) else ''}{percent_above(share, bound)} of the "
            f"records, {declared}: {partition_counts}, first at offset {offset} of partition {partitions[0]}",
            path=("contents", "key", "max_share"),
            partitions=partitions,
            remedy="use a finer key, or add a salt to the key and merge downstream",
            evidence={"share": round(share, 4), "records": records, "offset": offset},
        )
        yield undecidable_if_upper_bound(subject.committed.values(), result)
    elif share_at_most > bound and _may_be_elsewhere(subject):
        yield CheckResult(
            Verdict.UNDECIDABLE,
            f"one key may have up to {percent_above(share_at_most, bound)} of the records, {declared}: keys may be in "
            "several partitions, and only the key with the most records in each partition is known",
            path=("contents", "key", "max_share"),
            remedy="use the same partitioner in all producers, so that each key is in one partition",
            evidence={"share": round(share, 4), "share at most": round(share_at_most, 4)},
        )


def _partitions_of_hottest_key(subject: Required) -> dict[int, PartitionCounts]:
    """Return the counts of the partitions in which the topic's hottest key is the key with the most records."""
    by_key: dict[int | tuple[int], dict[int, PartitionCounts]] = {}
    for partition, counts in sorted(subject.committed.items()):
        key = counts.hottest_key if counts.hottest_key is not None else (partition,)
        by_key.setdefault(key, {})[partition] = counts
    return max(by_key.values(), key=lambda partitions: sum(counts.hottest for counts in partitions.values()))


def _may_be_elsewhere(subject: Required) -> bool:
    """Return whether a key may have records in partitions where other keys have more, which nobody has counted."""
    placement = subject.placement
    if placement is None or placement.partitions == 1 or placement.algorithms:
        return False
    return placement.study is None
