"""Less is kept: by time, by size, or because a compacted topic will delete by time.

By time it is exact: the first record that the new ``retention.ms`` still protects is asked of the broker
(ListOffsets by time), all before it have expired, and all of those go, as soon as the segment that they
lie in holds nothing younger; so never more than is foretold. By size Kafka deletes oldest segments as long
as the log stays larger than ``retention.bytes`` without them: the bytes are what is above the new limit,
the records are in proportion. Source: ``UnifiedLog.deleteRetentionMsBreachedSegments``,
``deleteRetentionSizeBreachedSegments``.
"""

from collections.abc import Iterable

from topicwarden.change import Consequence, PartitionEffect, Weight
from topicwarden.kafka.snapshot import Extent, LiveTopic
from topicwarden.moment import utc
from topicwarden.plan.change import Change
from topicwarden.plan.consequences.said import count, group_effects, readers_said, size, times
from topicwarden.plan.evidence import FIRST, Asks, Evidence, filled
from topicwarden.topic import Allowance, Topic


def asks(change: Change, now: int) -> Asks | None:
    if change.before is None or change.after is None:
        return None
    cuts = _cutoffs(change, now)
    if not cuts and not _smaller(change):
        return None
    return Asks(times=frozenset({FIRST, *cuts}), groups=True)


def foretell(change: Change, evidence: Evidence) -> Iterable[Consequence]:
    yield from _by_time(change, evidence)
    yield from _by_size(change, evidence)


def _by_time(change: Change, evidence: Evidence) -> Iterable[Consequence]:
    live, cuts = change.live, _cutoffs(change, evidence.now)
    if not cuts:
        return
    assert live and change.before and change.after
    new, *old = cuts
    expired = evidence.below(live, new)
    already = evidence.below(live, old[0]) if old else {}
    going = {
        partition: (max(extent.start, already.get(partition, 0)), expired[partition])
        for partition, extent in filled(live).items()
        if expired[partition] > max(extent.start, already.get(partition, 0))
    }
    if not going:
        return
    partitions = [_effect(live, partition, bounds, evidence, new) for partition, bounds in going.items()]
    records = sum(end - start for start, end in going.values())
    groups = group_effects(evidence.groups, change.name, going)
    before, after = change.before.retention_time, change.after.retention_time
    yield Consequence(
        kind="retention-cut",
        weight=_weight(change),
        message=f"{_was(before)} and will be {times(after)}: {count(records, 'record')} in "
        f"{count(len(going), 'partition')} expire{_span(partitions)}",
        because=[
            "Kafka deletes whole segments: the last of these records go when their segment holds nothing younger",
            *readers_said(evidence.groups, groups, change.name),
        ],
        measured="offsets asked of the brokers by time: never more than these; bytes in proportion of the offsets",
        remedy=_remedy(change),
        evidence={
            "records": records,
            "bytes": sum(effect.bytes or 0 for effect in partitions),
            "retention.ms before": before,
            "retention.ms after": after,
        },
        partitions=partitions,
        groups=groups,
        place=change.at("config", "retention.ms"),
    )


def _by_size(change: Change, evidence: Evidence) -> Iterable[Consequence]:
    live, limit = change.live, _smaller(change)
    if limit is None or live is None:
        return
    over = {
        partition: (extent, extent.log_bytes - limit)
        for partition, extent in filled(live).items()
        if extent.log_bytes is not None and extent.log_bytes > limit
    }
    if not over:
        return
    going = {
        partition: (extent.start, extent.start + (extent.end - extent.start) * above // (extent.log_bytes or 1))
        for partition, (extent, above) in over.items()
    }
    partitions = [
        PartitionEffect(
            partition=partition,
            records=end - start,
            bytes=over[partition][1],
            first_offset=start,
            last_offset=max(start, end - 1),
        )
        for partition, (start, end) in going.items()
    ]
    bytes_over = sum(above for _, above in over.values())
    groups = group_effects(evidence.groups, change.name, going)
    yield Consequence(
        kind="retention-cut",
        weight=_weight(change),
        message=f"a partition will keep {size(limit)}: up to {size(bytes_over)}, about "
        f"{count(sum(end - start for start, end in going.values()), 'record')}, of "
        f"{count(len(going), 'partition')} go, the oldest first",
        because=[
            "Kafka deletes the oldest segment as long as the log is no smaller than retention.bytes without it, "
            "so that up to segment.bytes more than the limit stay",
            *readers_said(evidence.groups, groups, change.name),
        ],
        measured="bytes of the leaders' logs; records in proportion of the offsets: an estimate",
        remedy=_remedy(change),
        evidence={"bytes": bytes_over, "retention.bytes": limit},
        partitions=partitions,
        groups=groups,
        place=change.at("config", "retention.bytes"),
    )


def _cutoffs(change: Change, now: int) -> list[int]:
    """The moment before which records will have expired, and the one before which they have by now; none where no
    less is kept.
    """
    assert change.before and change.after
    before, after = change.before.retention_time, change.after.retention_time
    if after is None or (before is not None and after >= before):
        return []
    return [now - after, *([] if before is None else [now - before])]


def _smaller(change: Change) -> int | None:
    """The new ``retention.bytes`` where it is lower than what holds."""
    assert change.before and change.after
    before, after = (_limit(topic) for topic in (change.before, change.after))
    return after if after is not None and (before is None or after < before) else None


def _limit(topic: Topic) -> int | None:
    most = topic.number("retention.bytes")
    return most if "delete" in (topic.cleanup_policies or ()) and most is not None and most >= 0 else None


def _effect(
    live: LiveTopic, partition: int, bounds: tuple[int, int], evidence: Evidence, cutoff: int
) -> PartitionEffect:
    start, end = bounds
    extent = live.extents[partition]
    first = evidence.first_at.get(FIRST, {}).get(partition)
    latest = extent.latest_timestamp
    return PartitionEffect(
        partition=partition,
        records=end - start,
        bytes=_share(extent, end - start),
        first_offset=start,
        last_offset=end - 1,
        first_timestamp=first[1] if first and first[0] == start else None,
        last_timestamp=latest if latest is not None and latest < cutoff else cutoff - 1,
    )


def _share(extent: Extent, records: int) -> int | None:
    return None if extent.log_bytes is None else extent.log_bytes * records // (extent.end - extent.start)


def _weight(change: Change) -> Weight:
    return Weight.DANGER if change.allows(Allowance.SHRINK_RETENTION) else Weight.REFUSED


def _remedy(change: Change) -> str:
    if change.allows(Allowance.SHRINK_RETENTION):
        return ""
    return "keep the retention, or write `allow: [shrink-retention]` into the YAML if the loss was thought over"


def _was(before: int | None) -> str:
    return "nothing expires now; retention.ms counts" if before is None else f"retention.ms is {times(before)}"


def _span(partitions: Iterable[PartitionEffect]) -> str:
    listed = list(partitions)
    first = [effect.first_timestamp for effect in listed if effect.first_timestamp is not None]
    last = [effect.last_timestamp for effect in listed if effect.last_timestamp is not None]
    return f", written {utc(min(first))} to {utc(max(last))}" if first and last else ""
