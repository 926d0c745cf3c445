"""What is older than ``retention.ms`` has been deleted.

With ``M(o)`` the largest timestamp up to offset ``o`` and ``S`` the time to roll, a record should be gone
when something more than ``S`` younger was appended and ``now > M(o) + S + retention.ms`` plus the
brokers' check interval. For ``compact,delete`` only a whole partition is judged, by its largest timestamp.

**suspect**: such records stand. **fail**: the same log start stands at two looks further apart than the brokers'
check interval and the time that they wait with it after a start (for ``compact,delete``: than a cleaner that is well
takes, as it deletes for them), under the same settings and leader (epoch), with every replica in sync; and either
everything has expired that may lie in the oldest segment: the whole log, or all that was written before the settings
were known; or the log starts behind that. **pass**, with the reason: at a second look the oldest segment may still be
as long as an older ``segment.ms`` made it, or a replica is out of sync. **undecidable**: the brokers' check interval
may not be seen (DescribeConfigs on the Cluster resource), or the cleaner deletes and the brokers do not tell how large
their logs are. What a future timestamp blocks is ``retention-blocked``'s to say. Where a log does not start at 0, its
first segment may hold records that DeleteRecords hid and that are younger; then the proof waits until these, too, have
expired for certain (``message.timestamp.after.max.ms``).

Example: a log directory went offline and came back; the topic keeps a month under a policy of a week.

Remedy: read the leader's log for ``LogManager``; a dead cleaner deletes nothing of ``compact,delete`` topics.

Source: ``UnifiedLog.deleteRetentionMsBreachedSegments``.
"""

from collections.abc import Iterable

from topicwarden.audit.checks.common.persistence import OUT_OF_SYNC, all_in_sync, hidden_until, starts
from topicwarden.audit.checks.retention_blocked import blocked_partitions
from topicwarden.audit.checks.retention_size import undeleted
from topicwarden.audit.collect.horizon import CLOCK_MS
from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits
from topicwarden.model.verdict import Verdict

TRAITS = Traits(reads_records=True, needs_settings=True)
CHECK = "retention-time"
RESTS_ON = ("cleanup.policy", "retention.ms", "segment.ms", "max.compaction.lag.ms")

_OUTCOMES = {
    Verdict.FAIL: (
        "they have looked since the last audit, and the log start has not moved",
        "read the leader's log: a failed log directory, or a dead cleaner, no longer deletes",
    ),
    Verdict.SUSPECT: (
        "one look cannot tell whether retention.ms was lowered just now, or how far the oldest segment goes",
        "audit again after the brokers' check interval; if they still stand, read the brokers' log",
    ),
    Verdict.PASS: ("", ""),
    Verdict.UNDECIDABLE: (
        "how long the brokers may take is not known: they did not tell their settings, or the sizes of the logs",
        "grant DescribeConfigs and Describe on the Cluster resource",
    ),
}
"""The last reason, and the remedy."""


def applies(subject: AuditedTopic) -> bool:
    return (
        subject.live is not None
        and subject.live.topic.retention_time is not None
        and subject.live.topic.config.get("remote.storage.enable") != "true"
    )


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    assert subject.live
    retention = subject.live.topic.retention_time
    assert retention is not None
    blocked = blocked_partitions(subject)
    late = [
        partition
        for partition, counts in sorted(subject.counts.items())
        if counts.records and partition not in blocked and _overdue(subject, partition, retention)
    ]
    explained = {partition: _explanation(subject, partition) for partition in late}
    judged = {partition: undeleted(subject, (CHECK, RESTS_ON), partition, explained[partition]) for partition in late}
    for verdict in sorted(set(judged.values())):
        partitions = [partition for partition, one in judged.items() if one is verdict]
        lawful = sorted({reason for partition in partitions if (reason := explained[partition])})
        yield _judgement(subject, verdict, partitions, retention, lawful)


def _judgement(
    subject: AuditedTopic, verdict: Verdict, late: list[int], retention: int, lawful: list[str]
) -> CheckResult:
    assert subject.live
    oldest = min(subject.counts[partition].first_timestamp or 0 for partition in late)
    interval, (because, remedy) = subject.check_interval_ms, _OUTCOMES[verdict]
    return CheckResult(
        verdict,
        f"records past retention.ms still stand in {len(late)} of {subject.live.topic.partitions} partitions",
        path=("config", "retention.ms"),
        partitions=tuple(late),
        because=(
            f"the oldest is {(subject.snapshot.taken_at - oldest):,} ms old, retention.ms is {retention:,}"
            + ("" if interval is None else f", and the brokers look every {interval:,} ms"),
            *(lawful or [because]),
        ),
        remedy=remedy,
        evidence={
            "retention.ms": retention,
            "oldest_timestamp": oldest,
            "expired_records": sum(subject.counts[partition].expired for partition in late),
        },
        standing={partition: starts(subject, partition) for partition in late},
        rests_on=RESTS_ON,
    )


def _explanation(subject: AuditedTopic, partition: int) -> str | None:
    """Return why the records may still lawfully be there; None before a second look, and where nothing explains it."""
    assert subject.live
    known_from = subject.past.shaped_from(partition)
    if known_from is None:
        return None
    if not all_in_sync(subject, partition):
        return OUT_OF_SYNC
    start, unexpired = subject.live.extents[partition].start, subject.horizons[partition].unexpired
    if unexpired is not None and max(start, unexpired) < known_from:
        return (
            f"the oldest segment was written before audits saw its settings, and may reach to offset {unexpired:,}, "
            "which has not expired"
        )
    stood = subject.stood_for(CHECK, partition, starts(subject, partition), RESTS_ON)
    hidden = None if stood is None else hidden_until(subject, partition, stood)
    limit = subject.horizons[partition].expired_time
    if stood is not None and (hidden is None or (hidden > 0 and (limit is None or hidden >= limit))):
        return (
            "the log does not start at offset 0: its first segment may hold records that DeleteRecords hid and that "
            "have not expired"
        )
    return None


def _overdue(subject: AuditedTopic, partition: int, retention: int) -> bool:
    """A rolled segment has expired for certain, or the whole log has: then the active segment goes, too."""
    assert subject.live
    horizon = subject.horizons[partition]
    if not subject.compacted and horizon.overdue > horizon.start:
        return True
    latest = subject.live.extents[partition].latest_timestamp
    limit = subject.snapshot.taken_at - retention - (subject.check_interval_ms or 0) - CLOCK_MS
    return all_in_sync(subject, partition) and latest is not None and latest < limit
