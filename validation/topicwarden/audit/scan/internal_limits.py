"""How much is read of Kafka's own topics: nobody bounds them, and a cleaner that died lets one grow for ever."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from topicwarden.audit.scan.partition_reads import PartitionRead
from topicwarden.kafka.snapshot import LiveTopic

MOST_BYTES = 64 << 20
"""Of one partition: where the cleaner begins, so that what it leaves shows there first."""

MOST_OFFSETS = 500_000
"""Of one partition, where the brokers do not tell how large it is."""


def heads(slices: Iterable[PartitionRead], topics: Mapping[str, LiveTopic]) -> list[PartitionRead]:
    """The slices; of Kafka's own topics only the oldest part of a large partition, with the borders within that.

    How far ``MOST_BYTES`` go is taken from the mean size of what an offset holds: a part that was cleaned before
    holds less, so that never much more is read.
    """
    return [_head(one, topics[one.range.topic]) for one in slices]


def _head(one: PartitionRead, live: LiveTopic) -> PartitionRead:
    size, span = live.extents[one.range.partition].log_bytes, one.range.size
    most = MOST_OFFSETS if size is None else span * MOST_BYTES // max(size, MOST_BYTES)
    if not live.topic.internal or span <= most:
        return one
    end, borders = one.range.start + max(1, most), one.horizon
    within = replace(
        borders,
        rolled=min(borders.rolled, end),
        cleanable=min(borders.cleanable, end),
        lagging=min(borders.lagging, end),
    )
    return replace(one, range=replace(one.range, end=end), horizon=within)
