"""No record stamped in the future keeps expired ones alive.

Deletion by time goes from the oldest segment on, and stops at the first that has not expired; a segment
is as young as its youngest record. So one record stamped ahead of the clock protects everything behind it.

**fail**: the first record that ``retention.ms`` still protects is stamped in the future, and expired ones
stand behind it: they cannot go before it does. Since Kafka 4.0 brokers refuse timestamps more than an
hour ahead (``message.timestamp.after.max.ms``); older ones do not.

Example: ``18,204 expired records stand behind offset 4711, which is stamped 2031-01-01T00:00:00Z, in the future``.

Remedy: find the producer whose clock or unit is wrong; `kafka-delete-records` behind its segment frees the rest.

Source: ``UnifiedLog.deleteRetentionMsBreachedSegments``, ``LogSegment.largestTimestamp``; KIP-1030.
"""

from collections.abc import Iterable

from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits
from topicwarden.model.timestamps import utc
from topicwarden.model.verdict import Verdict

TRAITS = Traits(reads_records=True, needs_settings=True)


def applies(subject: AuditedTopic) -> bool:
    return subject.live is not None and subject.live.topic.retention_time is not None


def blocked_partitions(subject: AuditedTopic) -> list[int]:
    """The partitions in which a future timestamp provably stands in the way."""
    return [
        partition
        for partition, horizon in sorted(subject.horizons.items())
        if horizon.future_offset is not None
        and horizon.unexpired == horizon.future_offset
        and partition in subject.counts
        and subject.counts[partition].expired_behind_future
    ]


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    assert subject.live
    retention = subject.live.topic.retention_time or 0
    for partition in blocked_partitions(subject):
        horizon, counts = subject.horizons[partition], subject.counts[partition]
        stamped = horizon.future_timestamp or 0
        yield CheckResult(
            Verdict.FAIL,
            f"{counts.expired_behind_future:,} expired records stand behind offset {horizon.future_offset}, "
            f"which is stamped {utc(stamped)}, in the future",
            path=("config", "retention.ms"),
            partitions=(partition,),
            because=(
                "deletion by time stops at the first segment that has not expired, "
                "and a segment is as young as its youngest record",
                f"it lets go at {utc(stamped + retention)} (its timestamp + retention.ms of {retention:,}), not before",
            ),
            remedy="find the producer whose clock or unit is wrong; kafka-delete-records up to the next segment "
            "frees the rest; up to the record alone it frees nothing, as the segment stays",
            evidence={
                "blocking_offset": horizon.future_offset,
                "blocking_timestamp": stamped,
                "lets_go_timestamp": stamped + retention,
                "expired_behind": counts.expired_behind_future,
            },
        )
