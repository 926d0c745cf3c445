"""The newest committed records of topics, within a bound on their number."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

from topicwarden.audit.scan.offset_ranges import OffsetRange
from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent

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
