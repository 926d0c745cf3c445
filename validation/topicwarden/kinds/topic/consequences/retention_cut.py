"""Fewer records are kept: shorter retention by time or by size, or a compacted topic that also deletes.

Counts are upper bounds. By time, all records before the first record that the new ``retention.ms`` protects
(ListOffsets by time) may be deleted. Kafka deletes a segment when its newest record has expired. So records that have
expired by the old retention, too, may still be there: a younger record of their segment protects them, and no longer
does so after the change. Records without a timestamp expire with their segment, and count as expired. By size, Kafka
deletes the oldest segment as long as the log without that segment is not smaller than ``retention.bytes``. So Kafka
never deletes more bytes than are above the limit. Source: ``UnifiedLog.deleteRetentionMsBreachedSegments`` and
``deleteRetentionSizeBreachedSegments``.

Every change that shortens the life of records is refused, even if no record expires today.
"""

from collections.abc import Collection, Iterable, Mapping

from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent, Snapshot
from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.evidence import FIRST, PlanEvidence, RequiredEvidence, non_empty
from topicwarden.kinds.topic.loss_severity import remedy_of, severity_of, unseen_partitions, unseen_reasons
from topicwarden.model.message_text import counted
from topicwarden.model.planned_change import Consequence, PartitionEffect, Severity
from topicwarden.model.topic import AllowedChange, Topic
from topicwarden.model.units import LONG_MAX
from topicwarden.plan.consequence_text import (
    at_most_of,
    duration,
    group_effects,
    reader_reasons,
    records_of,
    size,
    sum_or_none,
)

AVOIDABLE = True
_DAY_MS = 86_400_000
_TIME_BOUND = (
    "every existing record expires earlier than before",
    "at most: Kafka deletes whole segments, each when its newest record has expired",
)
_SIZE_BOUND = (
    "every partition keeps less than before",
    "at most: Kafka deletes the oldest segment only if the log is no smaller than retention.bytes without it",
)
_HORIZONS = {"at once": 0, "within a day": _DAY_MS, "within a week": 7 * _DAY_MS}

Bounds = dict[int, tuple[int, int]]
"""The first offset that is removed, and the first offset that stays, by partition."""


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    if change.before is None or change.after is None or change.live is None:
        return None
    by_time, by_size = _is_shorter(change.before, change.after), lower_size_limit(change.before, change.after)
    if not by_time and by_size is None:
        return None
    cutoffs = (
        [now + horizon - retention for horizon in _HORIZONS.values()]
        if by_time and (retention := change.after.retention_time) is not None
        else []
    )
    return RequiredEvidence(times=frozenset({FIRST, *cutoffs}), groups=True, use=True)


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    assert change.before and change.after
    if _is_shorter(change.before, change.after):
        yield _by_time(change, evidence)
    limit = lower_size_limit(change.before, change.after)
    if limit is not None:
        yield _by_size(change, evidence, limit)


def _by_time(change: TopicChange, evidence: PlanEvidence) -> Consequence:
    live = change.live
    assert live and change.before and change.after
    expiring = {name: _expiring(change, evidence, horizon) for name, horizon in _HORIZONS.items()}
    records = {name: _record_count(bounds) for name, bounds in expiring.items()}
    removed = next((bounds for bounds in expiring.values() if bounds), _all_offsets(live))
    total, hidden = records_of(live), unseen_partitions(live)
    groups = group_effects(evidence.groups, change.name, removed)
    before, after = change.before.retention_time, change.after.retention_time
    empty = not total and not hidden
    return Consequence(
        kind="retention-cut",
        severity=Severity.NOTE if empty else severity_of(change, AllowedChange.SHRINK_RETENTION),
        message=f"{_before(before)} and will be {duration(after)}: "
        + ("the topic is empty" if empty else _expiry(records, total, live.topic.partitions)),
        because=[
            *unseen_reasons(live),
            *([] if empty else _TIME_BOUND),
            *reader_reasons(evidence, change.name, groups),
        ],
        measured="offsets by time from the brokers",
        remedy=remedy_of(change, AllowedChange.SHRINK_RETENTION, "keep the retention") if not empty else "",
        evidence={
            "setting": "retention.ms",
            "records": records["at once"],
            "records within a day": records["within a day"],
            "records within a week": records["within a week"],
            "records in all": total,
            "partitions not seen": len(hidden),
            "bytes": sum_or_none(
                _estimated_bytes(live.extents[number], end - start) for number, (start, end) in removed.items()
            ),
            "retention.ms before": before,
            "retention.ms after": after,
        },
        partitions=[_effect(live, number, bounds, evidence) for number, bounds in sorted(removed.items())],
        groups=groups,
        location=change.at("config", "retention.ms"),
    )


def _expiry(records: Mapping[str, int], total: int, partitions: int) -> str:
    """Return how many of ``total`` records expire at most, and when. ``records`` are by the names of ``_HORIZONS``."""
    none = [when for when, number in records.items() if not number]  # always the first ones
    first = none[-1] if none else next(iter(records))
    verb = "expire" if records[first] > 1 else "expires"
    bound = "at most " if none else ""
    later = [f", {bound}{number:,} {when}" for when, number in records.items() if number and when != first]
    subject = f"{at_most_of(records[first], total, 'record')} in {counted(partitions, 'partition')}"
    return f"{subject} {verb} {first}{''.join(later)}"


def _by_size(change: TopicChange, evidence: PlanEvidence, limit: int) -> Consequence:
    live = change.live
    assert live
    excess_bytes = bytes_over(live, limit)
    removed = {number: _oldest_offsets(live.extents[number], above) for number, above in excess_bytes.items()}
    unknown = unsized_partitions(live)
    groups = group_effects(evidence.groups, change.name, _all_offsets(live) if excess_bytes or unknown else {})
    total, hidden = records_of(live), unseen_partitions(live)
    empty = not total and not hidden
    return Consequence(
        kind="retention-cut",
        severity=Severity.NOTE if empty else severity_of(change, AllowedChange.SHRINK_RETENTION),
        message=f"a partition will keep {size(limit)}: "
        + (
            "the topic is empty"
            if empty
            else "how much is deleted at once is not known"
            if unknown
            else f"at most {size(sum(excess_bytes.values()))} of {_partition_count(excess_bytes)} are deleted at once"
            if excess_bytes
            else "nothing is deleted at once"
        )
        + (", the oldest first" if excess_bytes else ""),
        because=[
            *unseen_reasons(live),
            *(
                [f"the size of {_partition_count(unknown)} is not known: {unsized_reason(live, evidence.snapshot)}"]
                * bool(unknown)
            ),
            *([] if empty else _SIZE_BOUND),
            *(
                [f"about {_record_count(removed):,} of {counted(total, 'record')}, estimated by bytes; at most all"]
                * bool(excess_bytes)
            ),
            *reader_reasons(evidence, change.name, groups),
        ],
        measured="bytes of the leaders' logs",
        remedy=remedy_of(change, AllowedChange.SHRINK_RETENTION, "keep the size") if not empty else "",
        evidence={
            "setting": "retention.bytes",
            "bytes": None if unknown else sum(excess_bytes.values()),
            "records": total if excess_bytes or unknown else 0,
            "retention.bytes": limit,
            "partitions not seen": len(hidden) + len(unknown),
        },
        partitions=[
            PartitionEffect(partition=number, bytes=above, first_offset=live.extents[number].start)
            for number, above in sorted(excess_bytes.items())
        ],
        groups=groups,
        location=change.at("config", "retention.bytes"),
    )


def lower_size_limit(before: Topic, after: Topic) -> int | None:
    """Return the new ``retention.bytes`` if it is lower than the one in force; None if not."""
    limit_before, limit_after = size_limit(before), size_limit(after)
    return limit_after if limit_after is not None and (limit_before is None or limit_after < limit_before) else None


def size_limit(topic: Topic) -> int | None:
    """Return the bytes that every partition keeps under retention by size; None without a limit."""
    limit = topic.number("retention.bytes")
    deletes = "delete" in (topic.cleanup_policies or ())
    return limit if deletes and limit is not None and 0 <= limit < LONG_MAX else None


def bytes_over(live: LiveTopic, limit: int) -> dict[int, int]:
    """Return, by partition, by how many bytes its log exceeds ``limit``; see ``unsized_partitions``."""
    unknown = unsized_partitions(live)
    return {
        number: extent.log_bytes - limit
        for number, extent in non_empty(live).items()
        if number not in unknown and extent.log_bytes is not None and extent.log_bytes > limit
    }


def unsized_partitions(live: LiveTopic) -> list[int]:
    """Return the partitions with records for which the size that ``retention.bytes`` limits is not known.

    Brokers report the bytes on their own disks. With tiered storage, the limit counts remote segments, too (KIP-405).
    """
    tiered = _tiered(live)
    return [number for number, extent in non_empty(live).items() if tiered or extent.log_bytes is None]


def unsized_reason(live: LiveTopic, snapshot: Snapshot) -> str:
    """Return why the sizes that ``retention.bytes`` limits are not known."""
    return "brokers do not report remote segments" if _tiered(live) else snapshot.log_dirs.missing_sizes()[0]


def _tiered(live: LiveTopic) -> bool:
    return live.topic.config.get("remote.storage.enable") == "true"


def _is_shorter(before: Topic, after: Topic) -> bool:
    time_before, time_after = before.retention_time, after.retention_time
    return time_after is not None and (time_before is None or time_after < time_before)


def _expiring(change: TopicChange, evidence: PlanEvidence, horizon: int) -> Bounds:
    """Return the offsets that the new retention may delete within ``horizon`` milliseconds."""
    assert change.live and change.after and change.after.retention_time is not None
    expired = evidence.offsets_before(change.live, evidence.now + horizon - change.after.retention_time)
    bounds = {number: (extent.start, expired[number]) for number, extent in non_empty(change.live).items()}
    return {number: (start, end) for number, (start, end) in bounds.items() if start < end}


def _all_offsets(live: LiveTopic) -> Bounds:
    return {number: (extent.start, extent.end) for number, extent in non_empty(live).items()}


def _record_count(bounds: Bounds) -> int:
    return sum(end - start for start, end in bounds.values())


def _oldest_offsets(extent: PartitionExtent, above: int) -> tuple[int, int]:
    return extent.start, extent.start + (extent.end - extent.start) * above // (extent.log_bytes or 1)


def _effect(live: LiveTopic, number: int, bounds: tuple[int, int], evidence: PlanEvidence) -> PartitionEffect:
    start, end = bounds
    first = evidence.first_at.get(FIRST, {}).get(number)
    return PartitionEffect(
        partition=number,
        records=end - start,
        bytes=_estimated_bytes(live.extents[number], end - start),
        first_offset=start,
        last_offset=end - 1,
        first_timestamp=first[1] if first and first[0] == start else None,
    )


def _estimated_bytes(extent: PartitionExtent, records: int) -> int | None:
    return None if extent.log_bytes is None else extent.log_bytes * records // (extent.end - extent.start)


def _partition_count(numbers: Collection[int]) -> str:
    return counted(len(numbers), "partition")


def _before(before: int | None) -> str:
    return "no record expires now; retention.ms applies" if before is None else f"retention.ms is {duration(before)}"
