"""What the report shows of a topic, whatever was judged."""

from __future__ import annotations

from topicwarden.audit.collect.horizon import roll_time
from topicwarden.audit.scan.counts import BANDS, PartitionCounts
from topicwarden.audit.subject import AuditedTopic
from topicwarden.kafka.snapshot import PartitionReplicas
from topicwarden.model.finding import AgeBand, PartitionerFacts, PartitionFacts, TopicFacts


def topic_facts(name: str, subject: AuditedTopic) -> TopicFacts:
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
    counts = subject.counts.get(state.partition, PartitionCounts())
    horizon = subject.horizons.get(state.partition)
    roll_known = horizon is not None and subject.live is not None and roll_time(subject.live.topic) is not None
    reading = subject.reading.get(state.partition)
    read = extent is not None and (subject.readable or extent.start == extent.end)
    lost = reading.lost(counts.records) if reading else 0
    return PartitionFacts(
        partition=state.partition,
        leader=state.leader,
        replicas=list(state.replicas),
        in_sync=list(state.in_sync),
        log_start=extent.start if extent else None,
        log_end=extent.end if extent else None,
        last_stable=extent.last_stable if extent else None,
        log_bytes=extent.log_bytes if extent else None,
        records=counts.records if read else None,
        payload_bytes=counts.payload_bytes if read else None,
        largest_record=counts.largest_record if read else None,
        null_keys=counts.null_keys if read else None,
        tombstones=counts.tombstones if read else None,
        empty_values=counts.empty_values if read else None,
        keys=counts.keys if read and subject.compacted else None,
        superseded=counts.superseded if read and subject.compacted else None,
        first_timestamp=counts.first_timestamp,
        last_timestamp=counts.last_timestamp,
        read_from=reading.start if reading else None,
        lost_to_retention=lost,
        gaps=max(0, reading.end - reading.start - counts.records - lost) if reading else 0,
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
    placed = subject.placement
    if placed is None or not placed.scores:
        return None
    return PartitionerFacts(
        conclusion=placed.kind.value,
        algorithms=list(placed.algorithms),
        counts=list(placed.partition_counts),
        keys=placed.keys,
        scores={name: round(share, 4) for name, share in placed.scores.items()},
    )


def _ages(subject: AuditedTopic) -> list[AgeBand]:
    """The bands that hold anything, the future first."""
    bounds = (None, *BANDS, None)
    totals = [sum(counts.ages[number] for counts in subject.counts.values()) for number in range(len(BANDS) + 1)]
    return [
        AgeBand(from_ms=bounds[number], to_ms=bounds[number + 1], records=records)
        for number, records in enumerate(totals)
        if records
    ]
