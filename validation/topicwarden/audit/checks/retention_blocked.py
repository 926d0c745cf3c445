"""No record with a future timestamp blocks the deletion of expired records.

Deletion by time starts at the oldest segment, and stops at the first segment that has not expired. The age of a segment
is the age of its youngest record. So a single record with a future timestamp protects all records after it.

**fail**: the first record that ``retention.ms`` still protects has a timestamp in the future, and expired records
follow it. Kafka cannot delete these before that record. Since Kafka 4.0, brokers refuse timestamps more than an hour
ahead (``message.timestamp.after.max.ms``); older brokers do not.

Example: ``18,204 expired records are blocked by offset 4711, whose timestamp 2031-01-01T00:00:00Z is in the future``.

Confirm: ``kafka-console-consumer --topic T --partition P --offset O --max-messages 1 --property print.timestamp=true``
prints the future timestamp of the finding's offset.

Remedy: find the producer with the wrong clock or unit; `kafka-delete-records` up to the next segment frees the rest.

Prevent: declare ``message.timestamp.after.max.ms``, so that brokers refuse such records.

Source: ``UnifiedLog.deleteRetentionMsBreachedSegments``, ``LogSegment.largestTimestamp``; KIP-1030.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.evidence import ApacheLog, Counts, LiveSettings
from topicwarden.model.message_text import counted_are
from topicwarden.model.timestamps import utc
from topicwarden.model.verdict import Verdict


class Required(LiveSettings, Counts, ApacheLog): ...


def applies(subject: LiveSettings) -> bool:
    return subject.live.topic.retention_time is not None


def blocked_partitions(subject: Counts) -> list[int]:
    """Return the partitions in which a future timestamp certainly blocks deletion by time."""
    return [
        partition
        for partition, horizon in sorted(subject.horizons.items())
        if horizon.future_offset is not None
        and horizon.unexpired == horizon.future_offset
        and partition in subject.counts
        and subject.counts[partition].expired_behind_future
    ]


def judge(subject: Required) -> Iterable[CheckResult]:
    retention = subject.live.topic.retention_time or 0
    for partition in blocked_partitions(subject):
        horizon, counts = subject.horizons[partition], subject.counts[partition]
        timestamp = horizon.future_timestamp or 0
        yield CheckResult(
            Verdict.FAIL,
            f"{counted_are(counts.expired_behind_future, 'expired record')} blocked by offset {horizon.future_offset}, "
            f"whose timestamp {utc(timestamp)} is in the future",
            path=("config", "retention.ms"),
            partitions=(partition,),
            because=(
                "deletion by time stops at the first segment that has not expired, "
                "and the age of a segment is the age of its youngest record",
                f"the segment does not expire before {utc(timestamp + retention)} (timestamp + retention.ms of "
                f"{retention:,}), and later if a later record of it has a later timestamp",
            ),
            remedy="find the producer with the wrong clock or unit; kafka-delete-records up to the next segment frees "
            "the rest (up to the record alone is not enough, because the segment stays)",
            evidence={
                "blocking_offset": horizon.future_offset,
                "blocking_timestamp": timestamp,
                "expires_not_before": timestamp + retention,
                "expired_behind": counts.expired_behind_future,
            },
            relevant_settings=("cleanup.policy", "retention.ms"),
        )
