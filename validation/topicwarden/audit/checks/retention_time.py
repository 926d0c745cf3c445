"""What is older than ``retention.ms`` has been deleted.

With ``M(o)`` the largest timestamp up to offset ``o`` and ``S`` the time to roll, a record should be gone
when something more than ``S`` younger was appended and ``now > M(o) + S + retention.ms`` plus the
brokers' check interval. For ``compact,delete`` only a whole partition is judged, by its largest timestamp.

**suspect**: such records stand. It would be **fail** at a next look: the configuration may have been
changed since the brokers last looked. What a future timestamp blocks is ``retention-blocked``'s to say.
Source: ``UnifiedLog.deleteRetentionMsBreachedSegments``.
"""

from collections.abc import Iterable

from topicwarden.audit.checks.retention_blocked import blocked_partitions
from topicwarden.audit.horizon import CLOCK_MS, retention_time
from topicwarden.audit.subject import Judgement, Subject
from topicwarden.finding import Verdict


def applies(subject: Subject) -> bool:
    return (
        subject.live is not None
        and retention_time(subject.live.topic) is not None
        and subject.live.topic.config.get("remote.storage.enable") != "true"
    )


def judge(subject: Subject) -> Iterable[Judgement]:
    assert subject.live
    retention = retention_time(subject.live.topic)
    assert retention is not None
    blocked = blocked_partitions(subject)
    late = [
        partition
        for partition, counts in sorted(subject.counts.items())
        if counts.records and partition not in blocked and _overdue(subject, partition, retention)
    ]
    if late:
        oldest = min(subject.counts[partition].first_timestamp or 0 for partition in late)
        yield Judgement(
            Verdict.SUSPECT,
            f"records past retention.ms still stand in {len(late)} of {subject.live.topic.partitions} partitions",
            path=("config", "retention.ms"),
            partitions=tuple(late),
            because=(
                f"the oldest is {(subject.snapshot.taken_at - oldest):,} ms old, retention.ms is {retention:,}, "
                f"and the brokers look every {subject.check_interval_ms:,} ms",
                "one look cannot tell whether retention.ms was lowered just now",
            ),
            remedy="audit again after the brokers' check interval; if they still stand, read the brokers' log",
            evidence={
                "retention.ms": retention,
                "oldest_timestamp": oldest,
                "expired_records": sum(subject.counts[partition].expired for partition in late),
            },
        )


def _overdue(subject: Subject, partition: int, retention: int) -> bool:
    assert subject.live
    horizon = subject.horizons[partition]
    if not subject.compacted:
        return horizon.overdue > horizon.start
    latest = subject.live.extents[partition].latest_timestamp
    in_sync = all(len(state.in_sync) == len(state.replicas) for state in subject.live.replicas)
    limit = subject.snapshot.taken_at - retention - subject.check_interval_ms - CLOCK_MS
    return in_sync and latest is not None and latest < limit
