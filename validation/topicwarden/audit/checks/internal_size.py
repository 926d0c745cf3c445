"""No partition of Kafka's own compacted topics is much larger than the others.

Kafka spreads groups over the partitions of ``__consumer_offsets`` by hash, and transactional ids over those of
``__transaction_state``. A cleaning leaves one record per key. So if a partition is many times larger than the others,
the cleaner no longer cleans it: the broker marked the partition as uncleanable, or the cleaner thread is dead.

**undecidable**: the log of a partition is more than ten times larger than the median of the others, and than ten
segments. A group that commits offsets for very many partitions can be a legitimate cause. **fail**: never by size;
``compaction-ratio`` has the proof, from the records. Also **undecidable**: the records are not readable (Read on the
topic), or the sizes are not visible.

Example: a cleaner thread died of a corrupt batch; months later one partition of ``__consumer_offsets`` had 952 GB, and
its coordinator took an hour to load.

Confirm: ``kafka-log-dirs --describe --topic-list T`` prints the size of each partition.

Remedy: check ``uncleanable-partitions-count`` and log-cleaner.log on the broker that leads the partition. A restart of
the broker restarts the cleaner.

Prevent: raise an alarm if ``uncleanable-partitions-count`` of a broker is above 0.

Source: ``GroupCoordinatorService.partitionFor``, ``LogCleanerManager.markPartitionUncleanable``.
"""

from collections.abc import Iterable
from statistics import median

from topicwarden.audit.check import CheckResult
from topicwarden.audit.evidence import ApacheLog
from topicwarden.model.units import size_text
from topicwarden.model.verdict import Verdict


class Required(ApacheLog): ...


_MAX_RATIO = 10
_SEGMENT_BYTES = 100 << 20
"""Kafka's default of ``offsets.topic.segment.bytes``."""


def applies(subject: Required) -> bool:
    return subject.live.topic.internal and subject.compacted


def judge(subject: Required) -> Iterable[CheckResult]:
    if not subject.readable:
        yield CheckResult(
            Verdict.UNDECIDABLE,
            "this user may not read its records, so only its size shows whether the cleaner keeps up",
            remedy="grant Read on the topic, or watch uncleanable-partitions-count and DeadThreadCount",
        )
    sizes = {p: log.log_bytes for p, log in sorted(subject.live.extents.items()) if log.log_bytes is not None}
    if len(sizes) < len(subject.live.extents):
        reason, remedy = subject.snapshot.log_dirs.missing_sizes()
        yield CheckResult(
            Verdict.UNDECIDABLE,
            "the brokers did not return the sizes of its logs",
            partitions=tuple(p for p in sorted(subject.live.extents) if p not in sizes),
            because=(reason,),
            remedy=remedy,
        )
    segment = subject.number("segment.bytes") or _SEGMENT_BYTES
    for partition, size in sizes.items():
        others = median([other_size for other, other_size in sizes.items() if other != partition] or [size])
        if size > _MAX_RATIO * max(others, segment):
            yield CheckResult(
                Verdict.UNDECIDABLE,
                f"partition {partition} has {size_text(size)}, and the median of the others is {size_text(others)}",
                partitions=(partition,),
                because=("a cleaning leaves one record per key, and keys are spread by their hash",),
                remedy="check uncleanable-partitions-count and log-cleaner.log on the broker that leads the partition",
                evidence={"log_bytes": size, "median_of_others": int(others), "segment.bytes": segment},
            )
