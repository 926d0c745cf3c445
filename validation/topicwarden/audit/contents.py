"""What is asked of contents beyond the scan: which faults are of committed records, and who placed the keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.sql import SparkSession

from topicwarden.audit.committed import committed, first_committed
from topicwarden.audit.contracts import Contracts, contracts
from topicwarden.audit.counts import Counts
from topicwarden.audit.horizon import PartitionOf
from topicwarden.audit.partitioners import Keys, placements
from topicwarden.audit.placement import Placement
from topicwarden.audit.slices import Slice
from topicwarden.kafka.connection import Connection
from topicwarden.kafka.registry import SchemaRegistry
from topicwarden.kafka.snapshot import LiveTopic
from topicwarden.specs.resolve import Declaration
from topicwarden.topic import Contents


@dataclass(frozen=True)
class Declared:
    """What is declared of records: by topic, with the project's folder for the files it names, the registry, and the
    Python functions that may be imported.
    """

    declarations: Mapping[str, Declaration] = field(default_factory=dict)
    root: Path = Path()
    registry: SchemaRegistry | None = None
    partition_functions: frozenset[str] = frozenset()

    def contracts(self, topics: Iterable[LiveTopic], now: int) -> Contracts:
        """What the scan of ``topics`` is to judge records by; ``now`` in milliseconds."""
        return contracts(topics, self.declarations, self.root, self.registry, now)

    def wants_keys(self, topic: str) -> bool:
        return topic in self.declarations and self.declarations[topic].topic.contents.key_required


@dataclass(frozen=True)
class Scanned:
    """What was scanned: topics, the parts of them that were read, and what was counted."""

    topics: tuple[LiveTopic, ...]
    parts: tuple[Slice, ...]
    counts: Mapping[PartitionOf, Counts]


def settled(
    spark: SparkSession, connection: Connection, scanned: Scanned, rules: Contracts, declared: Declared
) -> tuple[dict[PartitionOf, Counts], dict[str, Placement]]:
    """The counts with their faults confirmed, and the conclusion on each topic whose keys were counted.

    Reads nothing again of a topic that is in order.
    """
    held, counts = scanned.topics, scanned.counts
    stable = {
        (live.topic.name, partition): extent.last_stable for live in held for partition, extent in live.extents.items()
    }
    bounded = {part.place: replace(part.range, end=min(part.range.end, stable[part.place])) for part in scanned.parts}
    keys = [
        Keys(
            live.topic.name,
            live.topic.partitions,
            declaration.topic.contents if (declaration := declared.declarations.get(live.topic.name)) else Contents(),
            {p: counts[live.topic.name, p] for p in live.extents if (live.topic.name, p) in counts},
            tuple(one for (name, _), one in bounded.items() if name == live.topic.name and one.start < one.end),
        )
        for live in held
        if live.topic.name in rules.by_key
    ]
    confirmed = committed(spark, connection, bounded, counts, rules)
    keyed = {live.topic.name for live in held if live.topic.compacted or declared.wants_keys(live.topic.name)}
    in_need = {place: one for place, one in bounded.items() if place[0] in keyed}
    confirmed = first_committed(spark, connection, in_need, confirmed)
    return confirmed, placements(spark, connection, keys, declared.root, declared.partition_functions)
