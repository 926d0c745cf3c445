"""Limit how much is read of Kafka's internal topics.

No retention bounds these topics, so if the cleaner has died, one of them grows without limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from topicwarden.audit.scan.partition_reads import PartitionRead
from topicwarden.kafka.read.snapshot import LiveTopic

MOST_BYTES = 64 << 20
"""The bytes that are read from the start of a partition. The cleaner starts there, so its backlog shows there first."""

MOST_OFFSETS = 500_000
"""The offsets that are read of a partition if the brokers do not report its size."""


def limit_internal_topics(reads: Iterable[PartitionRead], topics: Mapping[str, LiveTopic]) -> list[PartitionRead]:
    """Return ``reads``, with large partitions of internal topics cut to their oldest records and borders.

    The number of offsets in ``MOST_BYTES`` follows from the mean bytes of an offset. A cleaned part has fewer bytes an
    offset, so the audit never reads much more than that.
    """
    return [_limit(read, topics[read.range.topic]) for read in reads]


def _limit(read: PartitionRead, live: LiveTopic) -> PartitionRead:
    size, span = live.extents[read.range.partition].log_bytes, read.range.size
    most = MOST_OFFSETS if size is None else span * MOST_BYTES // max(size, MOST_BYTES)
    if not live.topic.internal or span <= most:
        return read
    end, horizon = read.range.start + max(1, most), read.horizon
    limited = replace(
        horizon,
        rolled=min(horizon.rolled, end),
        cleanable=min(horizon.cleanable, end),
        lagging=min(horizon.lagging, end),
    )
    return replace(read, range=replace(read.range, end=end), horizon=limited)
