"""Records older than ``retention.ms`` are deleted.

Let ``M(o)`` be the largest timestamp up to offset ``o``, and ``S`` the roll time. A record should be gone if a record
more than ``S`` younger was appended, and ``now > M(o) + S + retention.ms`` plus the brokers' check interval. For
``compact,delete``, only whole partitions are judged, by their largest timestamp.

**suspect**: such records are still present. **fail**: all of these hold:

- two audits saw the same log start, further apart than the brokers' check interval plus the initial delay after a start
  (for ``compact,delete``: than a healthy cleaner takes, because the cleaner deletes);
- the settings and the leader (epoch) are the same, and every replica is in sync;
- everything that may be in the oldest segment has expired: the whole log, or all records written before audits knew the
  settings; or the log starts after those records.

**pass**, with the reason: in a second audit, the oldest segment may still be as long as an older ``segment.ms`` made
it, a replica is out of sync, or the leader moves the log to another disk. **undecidable**: the brokers' check interval
is not visible (DescribeConfigs on the Cluster resource); or the brokers do not report their logs (Describe on the
Cluster resource), and the cleaner deletes, or the leader has several log directories. ``retention-blocked`` reports
records that a future timestamp blocks. A partition with a record without a timestamp (-1) is not judged: Kafka then
takes the time of the last write to the segment, which it does not report. If a log does not start at offset 0, its
first segment may contain younger records that DeleteRecords hid. The proof then waits until these have certainly
expired too (``message.timestamp.after.max.ms``).

Example: a log directory went offline and came back; the topic has records of a month under a policy of a week.

Confirm: ``kafka-get-offsets --topic T --time earliest`` does not move between two runs; ``kafka-dump-log --files`` with
the oldest segment shows the timestamps of its batches.

Remedy: check the leader's log for ``LogManager``; a dead cleaner deletes nothing of ``compact,delete`` topics.

Prevent: raise an alarm for ``OfflineLogDirectoryCount`` above 0, and for disks that fill.

Source: ``UnifiedLog.deleteRetentionMsBreachedSegments``, ``LogSegment.largestTimestamp``.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.persistence import (
    UNMOVED,
    UNMOVED_REMEDY,
    all_in_sync,
    deletion_pause,
    deletion_verdict,
    latest_hidden_timestamp,
    log_start_facts,
    unknown_grace_remedy,
)
from topicwarden.audit.checks.retention_blocked import blocked_partitions
from topicwarden.audit.collect.horizon import expired_time
from topicwarden.audit.evidence import ApacheLog, Counts, LiveSettings
from topicwarden.model.message_text import share
from topicwarden.model.units import DURATION, duration_text
from topicwarden.model.verdict import Verdict


class Required(LiveSettings, Counts, ApacheLog): ...


CHECK = "retention-time"
RELEVANT_SETTINGS = ("cleanup.policy", "retention.ms", "segment.ms", "max.compaction.lag.ms")

_OUTCOMES = {
    Verdict.FAIL: (UNMOVED, UNMOVED_REMEDY),
    Verdict.SUSPECT: (
        "one audit cannot tell whether retention.ms was lowered just now, or where the oldest segment ends",
        "audit again after the brokers' check interval; if the records are still present, check the brokers' log",
    ),
    Verdict.PASS: ("", ""),
    Verdict.UNDECIDABLE: (
        "it is not known how long the brokers may take: their settings or the log sizes are not visible",
        "",
    ),
}
"""The last reason and the remedy, by verdict."""


def applies(subject: LiveSettings) -> bool:
    topic = subject.live.topic
    return topic.retention_time is not None and topic.config.get("remote.storage.enable") != "true"


def judge(subject: Required) -> Iterable[CheckResult]:
    blocked = blocked_partitions(subject)
    overdue = [
        partition
        for partition, counts in sorted(subject.counts.items())
        if counts.records and partition not in blocked and _overdue(subject, partition)
    ]
    explanations = {partition: _explanation(subject, partition) for partition in overdue}
    verdicts = {
        partition: deletion_verdict(subject, CHECK, RELEVANT_SETTINGS, partition, explanations[partition])
        for partition in overdue
    }
    for verdict in sorted(set(verdicts.values())):
        partitions = [partition for partition, own in verdicts.items() if own is verdict]
        reasons = sorted({reason for partition in partitions if (reason := explanations[partition])})
        yield _result(subject, verdict, partitions, reasons)


def _result(subject: Required, verdict: Verdict, partitions: list[int], reasons: list[str]) -> CheckResult:
    retention = subject.live.topic.retention_time or 0
    oldest = min(subject.counts[partition].first_timestamp or 0 for partition in partitions)
    interval, (because, remedy) = subject.check_interval_ms, _OUTCOMES[verdict]
    return CheckResult(
        verdict,
        "records past retention.ms are still present in "
        f"{share(len(partitions), subject.live.topic.partitions, 'partition')}",
        path=("config", "retention.ms"),
        partitions=tuple(partitions),
        because=(
            f"the oldest is {duration_text(subject.snapshot.taken_at - oldest)} old, retention.ms is "
            + DURATION.text(retention)
            + ("" if interval is None else f", and the brokers check every {DURATION.text(interval)}"),
            *(reasons or [because]),
        ),
        remedy=unknown_grace_remedy(subject.snapshot) if verdict is Verdict.UNDECIDABLE else remedy,
        evidence={
            "retention.ms": retention,
            "oldest_timestamp": oldest,
            "expired_records": sum(subject.counts[partition].expired for partition in partitions),
        },
        tracked_facts={partition: log_start_facts(subject, partition) for partition in partitions},
        relevant_settings=RELEVANT_SETTINGS,
    )


def _explanation(subject: Required, partition: int) -> str | None:
    """Return a legitimate cause for the expired records; None if there is none, or in a first audit."""
    known_from = subject.shaped_from(partition)
    if known_from is None:
        return None
    if pause := deletion_pause(subject, partition):
        return pause
    start, unexpired = subject.live.extents[partition].start, subject.horizons[partition].unexpired
    if unexpired is not None and max(start, unexpired) < known_from:
        return (
            f"the oldest segment was written before audits saw the settings, and may extend to offset {unexpired:,}, "
            "which has not expired"
        )
    persisted_ms = subject.persisted_ms(CHECK, partition, log_start_facts(subject, partition), RELEVANT_SETTINGS)
    hidden = None if persisted_ms is None else latest_hidden_timestamp(subject, partition, persisted_ms)
    limit = subject.horizons[partition].expired_time
    if persisted_ms is not None and (hidden is None or (hidden > 0 and (limit is None or hidden >= limit))):
        return (
            "the log does not start at offset 0: its first segment may contain unexpired records that DeleteRecords hid"
        )
    return None


def _overdue(subject: Required, partition: int) -> bool:
    """Return whether a rolled segment, or the whole log, has certainly expired.

    If the whole log has expired, Kafka deletes the active segment too.
    """
    if subject.counts[partition].undated:
        return False
    horizon = subject.horizons[partition]
    if not subject.compacted and horizon.overdue > horizon.start:
        return True
    latest = subject.live.extents[partition].latest_timestamp
    limit = expired_time(subject.live.topic, subject.snapshot)
    return all_in_sync(subject, partition) and latest is not None and limit is not None and latest < limit
