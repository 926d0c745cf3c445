"""Changes that the provider would carry out by destroying data."""

from __future__ import annotations

from collections.abc import Iterable

from topicwarden.kafka.snapshot import LiveTopic, Snapshot
from topicwarden.moment import utc
from topicwarden.problem import Problem
from topicwarden.specs.resolve import Declaration
from topicwarden.topic import Allowance


def refused_changes(declarations: Iterable[Declaration], snapshot: Snapshot) -> list[Problem]:
    """What may not be done to the live topics, each at the line that asks for it.

    Kafka cannot take partitions away; the provider would delete the topic and create it again.
    """
    return [
        Problem(
            held.places.at(("partitions",)),
            f"{held.topic.name}: lowering partitions from {live.topic.partitions} to {held.topic.partitions} "
            f"would delete the topic and create it again; {_loss(live)} would be lost. "
            f"Declare {live.topic.partitions} partitions, or move to a new topic; "
            "a loss that was thought over needs `allow: [recreate]` in the YAML",
            rule="partitions-lowered",
        )
        for held in declarations
        if (live := snapshot.topics.get(held.topic.name)) is not None
        and held.topic.partitions < live.topic.partitions
        and Allowance.RECREATE not in held.topic.allow
    ]


def _loss(live: LiveTopic) -> str:
    """Offsets count an upper bound of the records: compaction and transactions leave gaps."""
    extents = live.extents.values()
    records = sum(extent.end - extent.start for extent in extents)
    sizes = [extent.log_bytes for extent in extents if extent.log_bytes is not None]
    written = max((extent.latest_timestamp for extent in extents if extent.latest_timestamp is not None), default=None)
    known = [f"up to {records:,} records", f"{sum(sizes):,} bytes on the leaders' disks" if sizes else ""]
    newest = f" (the newest of {utc(written)})" if written is not None else ""
    return " in ".join(part for part in known if part) + newest
