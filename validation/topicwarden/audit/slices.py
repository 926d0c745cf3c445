"""What is to be read of each partition, and how the reader counts it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from topicwarden.audit.contracts import Contracts
from topicwarden.audit.counts import BANDS
from topicwarden.audit.horizon import Horizon, PartitionOf
from topicwarden.audit.ranges import Range
from topicwarden.kafka.snapshot import LiveTopic

BLOCK = 8_192
"""Offsets that are counted together, where records are not counted by key."""
BANDS_AT_MOST = 16


Grave = tuple[str, int, int, int]
"""Topic, partition, the hash of a key, and the offset of the tombstone that was its last record."""


@dataclass(frozen=True)
class Slice:
    """What is to be read of one partition, and the borders to count by."""

    range: Range
    compacted: bool
    horizon: Horizon
    again: Range | None = None
    """What is read beside it: the rest of a block of which retention took a part."""

    @property
    def place(self) -> PartitionOf:
        return self.range.topic, self.range.partition


def slices(topics: Iterable[LiveTopic], horizons: Mapping[PartitionOf, Horizon]) -> list[Slice]:
    """Every partition that holds anything, as the snapshot saw it."""
    held = [
        (live.topic, partition, extent)
        for live in topics
        for partition, extent in live.extents.items()
        if extent.start < extent.end
    ]
    return [
        Slice(
            Range(number, topic.name, partition, extent.start, extent.end),
            topic.compacted,
            horizons[topic.name, partition],
        )
        for number, (topic, partition, extent) in enumerate(held)
    ]


def counting(parts: list[Slice], contracts: Contracts, now: int, buried: Iterable[Grave] = ()) -> str:
    """How the reader counts; see ``counting/CountingRules.java``."""
    graves: dict[PartitionOf, list[tuple[int, int]]] = {}
    for topic, partition, key, offset in buried:
        graves.setdefault((topic, partition), []).append((key, offset))
    borders = [
        {
            "part": part.range.part,
            "by_key": by_keys(part, contracts),
            "rolled_border": part.horizon.rolled,
            "cleanable_border": part.horizon.cleanable,
            "expired_time": part.horizon.expired_time,
            "future_offset": part.horizon.future_offset,
            "graves": graves.get(part.place, []),
        }
        for part in parts
    ]
    rules = {"now": now, "bands": BANDS, "block": BLOCK, "bands_at_most": BANDS_AT_MOST}
    return json.dumps({**rules, "parts": borders})


def by_keys(part: Slice, contracts: Contracts) -> bool:
    """Whether its records are counted by key, too."""
    return part.compacted or part.range.topic in contracts.by_key
