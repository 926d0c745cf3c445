"""No partition of Kafka's own compacted topics outgrows the others.

Groups are spread over the partitions of ``__consumer_offsets`` by their hash, transactional ids over those of
``__transaction_state``, and what stands after a cleaning is one record a key. A partition many times as large as the
others is one that the cleaner has given up: it is marked uncleanable on its broker, or the cleaner thread is dead.

**undecidable**: the log of a partition is more than ten times the median of the others, and than ten segments. A group
that commits for very many partitions may do that lawfully. **fail**: never by size; ``compaction-ratio`` has the proof,
from the records. Also **undecidable**: the records may not be read (Read on the topic), or the sizes are not told.

Example: a cleaner thread died of a corrupt batch; months later one partition of ``__consumer_offsets`` had 952 GB, and
its coordinator took an hour to load.

Remedy: look at ``uncleanable-partitions-count`` and log-cleaner.log of the broker that leads it; a restart of the
broker starts the cleaner again.

Source: ``GroupCoordinatorService.partitionFor``, ``LogCleanerManager.markPartitionUncleanable``.
"""

from collections.abc import Iterable
from statistics import median

from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits
from topicwarden.model.verdict import Verdict

TRAITS = Traits()
_TIMES = 10
_SEGMENT_BYTES = 100 << 20
"""Kafka's default of ``offsets.topic.segment.bytes``."""


def applies(subject: AuditedTopic) -> bool:
    return subject.live is not None and subject.live.topic.internal and subject.compacted


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    assert subject.live
    if not subject.readable:
        yield CheckResult(
            Verdict.UNDECIDABLE,
            "its records may not be read, so that only its size tells whether the cleaner keeps up",
            remedy="grant Read on the topic, or watch uncleanable-partitions-count and DeadThreadCount",
        )
    sizes = {p: log.log_bytes for p, log in sorted(subject.live.extents.items()) if log.log_bytes is not None}
    if len(sizes) < len(subject.live.extents):
        yield CheckResult(
            Verdict.UNDECIDABLE,
            "the brokers did not tell how large its logs are",
            partitions=tuple(p for p in sorted(subject.live.extents) if p not in sizes),
            remedy="grant Describe on the cluster, for DescribeLogDirs",
        )
    segment = subject.number("segment.bytes") or _SEGMENT_BYTES
    for partition, size in sizes.items():
        others = median([held for other, held in sizes.items() if other != partition] or [size])
        if size > _TIMES * max(others, segment):
            yield CheckResult(
                Verdict.UNDECIDABLE,
                f"partition {partition} holds {size:,} bytes, and half of the others no more than {int(others):,}",
                partitions=(partition,),
                because=("after a cleaning one record a key stands, and keys are spread by their hash",),
                remedy="look at uncleanable-partitions-count and log-cleaner.log of the broker that leads it",
                evidence={"log_bytes": size, "median_of_others": int(others), "segment.bytes": segment},
            )
