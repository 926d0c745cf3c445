"""What the report shows of a topic, whatever was judged."""

from __future__ import annotations

from topicwarden.audit.counts import BANDS, Counts
from topicwarden.audit.subject import Subject
from topicwarden.finding import AgeBand, PartitionFacts, TopicFacts
from topicwarden.kafka.snapshot import Replicas


def topic_facts(name: str, subject: Subject) -> TopicFacts:
    live = subject.live
    return TopicFacts(
        name=name,
        domain=subject.declared.domain if subject.declared else "",
        declared=subject.declared is not None,
        topic_id=live.id if live else None,
        cleanup_policy=live.topic.config.get("cleanup.policy") if live else None,
        partitions=[_partition(subject, state) for state in live.replicas] if live else [],
        ages=_ages(subject),
    )


def _partition(subject: Subject, state: Replicas) -> PartitionFacts:
    extent = subject.live.extents.get(state.partition) if subject.live else None
    counts = subject.counts.get(state.partition, Counts())
    return PartitionFacts(
        partition=state.partition,
        leader=state.leader,
        replicas=list(state.replicas),
        in_sync=list(state.in_sync),
        log_start=extent.start if extent else None,
        log_end=extent.end if extent else None,
        last_stable=extent.last_stable if extent else None,
        log_bytes=extent.log_bytes if extent else None,
        records=counts.records,
        payload_bytes=counts.payload_bytes,
        largest_record=counts.largest_record,
        null_keys=counts.null_keys,
        tombstones=counts.tombstones,
        empty_values=counts.empty_values,
        keys=counts.keys if subject.compacted else None,
        superseded=counts.superseded if subject.compacted else None,
        first_timestamp=counts.first_timestamp,
        last_timestamp=counts.last_timestamp,
    )


def _ages(subject: Subject) -> list[AgeBand]:
    """The bands that hold anything, the future first."""
    bounds = (None, *BANDS, None)
    totals = [sum(counts.ages[number] for counts in subject.counts.values()) for number in range(len(BANDS) + 1)]
    return [
        AgeBand(from_ms=bounds[number], to_ms=bounds[number + 1], records=records)
        for number, records in enumerate(totals)
        if records
    ]
