"""The offset range to read of each partition, within a bound on their number, and how the reader counts its records."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from topicwarden.audit.collect.horizon import Horizon, TopicPartition
from topicwarden.audit.scan.contracts import Contracts
from topicwarden.audit.scan.counts import BANDS
from topicwarden.audit.scan.offset_ranges import OffsetRange
from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent

BLOCK = 8_192
"""The number of offsets that are counted together if records are not counted by key."""
BANDS_AT_MOST = 16
"""An upper bound for the number of age bands; the reader numbers a block's groups in steps of this size."""

INTERNAL_BYTES = 64 << 20
"""The bytes that are read of an internal topic, from the start of each partition.

The cleaner starts there, so its backlog shows there first.
"""
INTERNAL_OFFSETS = 500_000
"""The offsets that are read of such a partition if the brokers do not report its size."""

DeletedKey = tuple[str, int, int, int]
"""Topic, partition, hash of a key, and offset of the tombstone that was the key's last record."""


@dataclass(frozen=True)
class PartitionRead:
    """The offset range to read of one partition, and the borders to count by."""

    range: OffsetRange
    compacted: bool
    horizon: Horizon
    reread: OffsetRange | None = None
    """A second range to read: the rest of a block if retention has deleted the start of the block."""

    @property
    def topic_partition(self) -> TopicPartition:
        return self.range.topic, self.range.partition


def partition_reads(topics: Iterable[LiveTopic], horizons: Mapping[TopicPartition, Horizon]) -> list[PartitionRead]:
    """Return a read of every partition that is not empty in the snapshot."""
    nonempty = [
        (live.topic, partition, extent)
        for live in topics
        for partition, extent in live.extents.items()
        if extent.start < extent.end
    ]
    return [
        PartitionRead(
            OffsetRange(number, topic.name, partition, extent.start, extent.end),
            topic.compacted,
            horizons[topic.name, partition],
        )
        for number, (topic, partition, extent) in enumerate(nonempty)
    ]


def counting_options(
    reads: list[PartitionRead], contracts: Contracts, now: int, deleted_keys: Iterable[DeletedKey]
) -> str:
    """Return the JSON that tells the reader how to count; see ``CountingRules.java``.

    The reader looks only for deleted keys whose tombstone is in the range: an earlier audit may have read more of an
    internal topic.
    """
    deleted: dict[TopicPartition, list[tuple[int, int]]] = {}
    for topic, partition, key, offset in deleted_keys:
        deleted.setdefault((topic, partition), []).append((key, offset))
    borders = [
        {
            "part": read.range.part,
            "by_key": counted_by_key(read, contracts),
            "rolled_border": read.horizon.rolled,
            "cleanable_border": read.horizon.cleanable,
            "expired_time": read.horizon.expired_time,
            "future_offset": read.horizon.future_offset,
            "graves": [key for key in deleted.get(read.topic_partition, ()) if key[1] < read.range.end],
        }
        for read in reads
    ]
    rules = {"now": now, "bands": BANDS, "block": BLOCK, "bands_at_most": BANDS_AT_MOST}
    return json.dumps({**rules, "parts": borders})


def counted_by_key(read: PartitionRead, contracts: Contracts) -> bool:
    """Return whether the reader also counts the records by key."""
    return read.compacted or read.range.topic in contracts.by_key


def limit_internal_topics(reads: Iterable[PartitionRead], topics: Mapping[str, LiveTopic]) -> list[PartitionRead]:
    """Return ``reads``, with large partitions of internal topics cut to their oldest records and borders.

    No retention bounds these topics, so if the cleaner has died, one of them grows without limit. The number of offsets
    in ``INTERNAL_BYTES`` follows from the mean bytes of an offset. A cleaned part has fewer bytes an offset, so the
    audit never reads much more than that.
    """
    return [_limit(read, topics[read.range.topic]) for read in reads]


def _limit(read: PartitionRead, live: LiveTopic) -> PartitionRead:
    size, span = live.extents[read.range.partition].log_bytes, read.range.size
    most = INTERNAL_OFFSETS if size is None else span * INTERNAL_BYTES // max(size, INTERNAL_BYTES)
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


_Key = TypeVar("_Key", bound=Hashable)


def newest_committed(topics: Iterable[LiveTopic], most_records: int) -> list[OffsetRange]:
    """Return the newest committed offsets of each partition that has any, at most ``most_records`` in total."""
    sizes = {
        live.topic.name: {number: committed_size(each) for number, each in live.extents.items()} for live in topics
    }
    budgets = _budgets({name: sum(each.values()) for name, each in sizes.items()}, most_records)
    extents = {(live.topic.name, number): extent for live in topics for number, extent in live.extents.items()}
    newest = {
        (name, partition): offsets
        for name, each in sizes.items()
        for partition, offsets in _budgets(each, budgets[name]).items()
        if offsets
    }
    return [
        OffsetRange(part, topic, partition, (end := extents[topic, partition].last_stable) - offsets, end)
        for part, ((topic, partition), offsets) in enumerate(newest.items())
    ]


def committed_size(extent: PartitionExtent) -> int:
    """Return the number of retained offsets up to the last stable offset."""
    return max(0, extent.last_stable - extent.start)


def _budgets(sizes: Mapping[_Key, int], most: int) -> dict[_Key, int]:
    """Return how much of ``most`` each gets: small ones all that they have, the others equal shares of the rest."""
    budgets, left = {}, most
    for done, (key, size) in enumerate(sorted(sizes.items(), key=lambda item: item[1])):
        budgets[key] = min(size, left // (len(sizes) - done))
        left -= budgets[key]
    return budgets
