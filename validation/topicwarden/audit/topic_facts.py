"""The facts about a topic that a report shows, independent of the checks."""

from __future__ import annotations

from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.collect.horizon import roll_time
from topicwarden.audit.scan.counts import BANDS, PartitionCounts
from topicwarden.kafka.read.snapshot import PartitionReplicas
from topicwarden.model.finding import AgeBand, PartitionerFacts, PartitionFacts, TopicFacts


def topic_facts(name: str, subject: AuditedTopic) -> TopicFacts:
    """Return the facts about the topic ``name`` for the report."""
    live = subject.live
    return TopicFacts(
        name=name,
        domain=subject.declared.domain if subject.declared else "",
        declared=subject.declared is not None,
        topic_id=live.id if live else None,
        cleanup_policy=live.topic.config.get("cleanup.policy") if live else None,
        partitions=[_partition(subject, state) for state in live.replicas] if live else [],
        ages=_ages(subject),
        owner=subject.declared.owner if subject.declared else None,
        partitioner=_partitioner(subject),
    )


def _partition(subject: AuditedTopic, state: PartitionReplicas) -> PartitionFacts:
    extent = subject.live.extents.get(state.partition) if subject.live else None
    counts = subject.partition_counts(state.partition) or PartitionCounts()
    horizon = None if subject.other_log else subject.horizons.get(state.partition)
    roll_known = horizon is not None and subject.live is not None and roll_time(subject.live.topic) is not None
    read_range = subject.read_ranges.get(state.partition)
    counted = extent is not None and (subject.readable or extent.start == extent.end)
    lost = read_range.lost_offsets(counts.records) if read_range else 0
    return PartitionFacts(
        partition=state.partition,
        leader=state.leader,
        replicas=list(state.replicas),
        in_sync=list(state.in_sync),
        log_start=extent.start if extent else None,
        log_end=extent.end if extent else None,
        last_stable=extent.last_stable if extent else None,
        log_bytes=extent.log_bytes if extent else None,
        records=counts.records if counted else None,
        payload_bytes=counts.payload_bytes if counted else None,
        largest_record=counts.largest_record if counted else None,
        null_keys=counts.null_keys if counted else None,
        tombstones=counts.tombstones if counted else None,
        empty_values=counts.empty_values if counted else None,
        keys=counts.keys if counted and subject.compacted else None,
        superseded=counts.superseded if counted and subject.compacted else None,
        first_timestamp=counts.first_timestamp,
        last_timestamp=counts.last_timestamp,
        read_from=read_range.start if read_range else None,
        lost_to_retention=lost,
        gaps=max(0, read_range.end - read_range.start - counts.records - lost) if read_range else 0,
        rolled=horizon.rolled if horizon and roll_known else None,
        cleanable=horizon.cleanable if horizon and roll_known and subject.compacted else None,
        held_by=horizon.blocked_by if horizon and subject.compacted else None,
        overdue=horizon.overdue if horizon and roll_known and horizon.expired_time and not subject.compacted else None,
        future_offset=horizon.future_offset if horizon else None,
        future_timestamp=horizon.future_timestamp if horizon else None,
        hottest=counts.hottest or None,
        hottest_offset=counts.hottest_offset,
    )


def _partitioner(subject: AuditedTopic) -> PartitionerFacts | None:
    placement = subject.placement
    if placement is None or not placement.scores:
        return None
    return PartitionerFacts(
        conclusion="one partitioner" if placement.algorithms else "no known partitioner explains every key",
        algorithms=list(placement.algorithms),
        keys=placement.keys,
        scores={name: round(share, 4) for name, share in placement.scores.items()},
    )


def _ages(subject: AuditedTopic) -> list[AgeBand]:
    """Return the age bands that contain records, starting with timestamps in the future."""
    bounds = (None, *BANDS, None)
    totals = [sum(counts.ages[band] for counts in (subject.counts or {}).values()) for band in range(len(BANDS) + 1)]
    return [
        AgeBand(from_ms=bounds[band], to_ms=bounds[band + 1], records=records)
        for band, records in enumerate(totals)
        if records
    ]
