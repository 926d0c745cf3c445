"""A log is no larger than ``retention.bytes`` and one segment.

Deletion by size takes the oldest segment while what remains is no smaller than ``retention.bytes``: after a pass
a log is smaller than ``retention.bytes`` plus its oldest segment.

**suspect**: the leader's log is larger than ``retention.bytes + segment.bytes``. **fail**: it was at two looks,
further apart than the brokers' check interval and the time that they wait with it after a start (for
``compact,delete``: than a cleaner that is well takes, as it deletes for them), the log start did not move, every
replica was in sync, and the settings and the leader (epoch) are the same; and the
oldest segment was written under a ``segment.bytes`` that an audit saw, or the log is larger than ``retention.bytes``
and the largest segment that there can be, 2 GiB. **pass**, with the reason: the oldest segment may be larger than
``segment.bytes`` is now, or a replica is out of sync. **undecidable**: the brokers do not tell sizes (Describe on the
cluster). Tiered topics are not judged: there ``local.retention.bytes`` bounds what lies on the brokers.

Example: ``retention.bytes`` was set to 1 GiB, and the partition has 40.

Remedy: read the leader's log for ``LogManager`` and ``UnifiedLog``; a log directory that failed, or a dead cleaner, no
longer deletes.

Source: ``UnifiedLog.deleteRetentionSizeBreachedSegments``.
"""

from collections.abc import Iterable

from topicwarden.audit.checks.common.persistence import OUT_OF_SYNC, all_in_sync, cleaner_grace_ms, judged_twice, starts
from topicwarden.audit.collect.horizon import CLOCK_MS
from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits
from topicwarden.model.verdict import Verdict

TRAITS = Traits(needs_settings=True)
CHECK = "retention-size"
RESTS_ON = ("cleanup.policy", "retention.bytes", "segment.bytes")
_LARGEST_SEGMENT = 2**31 - 1
_REMEDIES = {
    Verdict.FAIL: "read the leader's log: a failed log directory, or a dead cleaner, no longer deletes",
    Verdict.SUSPECT: "audit again after the brokers' check interval",
    Verdict.PASS: "",
    Verdict.UNDECIDABLE: "grant DescribeConfigs and Describe on the Cluster resource",
}
_START_DELAY, _DEFAULT_START_DELAY_MS = "log.initial.task.delay.ms", 30_000


def applies(subject: AuditedTopic) -> bool:
    live = subject.live
    return (
        live is not None
        and "delete" in (live.topic.cleanup_policies or ())
        and (bound := live.topic.number("retention.bytes")) is not None
        and bound >= 0
        and live.topic.config.get("remote.storage.enable") != "true"
    )


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    assert subject.live
    logs = subject.live.extents
    unknown = sorted(partition for partition, log in logs.items() if log.log_bytes is None)
    if unknown:
        yield CheckResult(
            Verdict.UNDECIDABLE,
            "the brokers did not tell how large the logs are",
            path=("config", "retention.bytes"),
            partitions=tuple(unknown),
            remedy="grant Describe on the cluster, for DescribeLogDirs",
        )
    bound, segment = _limits(subject)
    over = {
        partition: log.log_bytes
        for partition, log in sorted(logs.items())
        if log.log_bytes is not None and log.log_bytes > bound + segment
    }
    explained = {partition: _explanation(subject, partition, size, bound) for partition, size in over.items()}
    judged = {partition: undeleted(subject, (CHECK, RESTS_ON), partition, explained[partition]) for partition in over}
    for verdict in sorted(set(judged.values())):
        partitions = {partition: over[partition] for partition, one in judged.items() if one is verdict}
        lawful = sorted({reason for partition in partitions if (reason := explained[partition])})
        yield _judgement(subject, verdict, partitions, lawful)


def _judgement(subject: AuditedTopic, verdict: Verdict, over: dict[int, int], lawful: list[str]) -> CheckResult:
    assert subject.live
    bound, segment = _limits(subject)
    looked = "the brokers have looked since the last audit, and the log start has not moved"
    return CheckResult(
        verdict,
        f"{len(over)} of {subject.live.topic.partitions} partitions hold up to {max(over.values()):,} bytes, "
        f"more than retention.bytes and one segment: {bound:,} + {segment:,}",
        path=("config", "retention.bytes"),
        partitions=tuple(over),
        because=(
            "deletion by size leaves less than retention.bytes and the oldest segment",
            *([looked] if verdict is Verdict.FAIL else []),
            *lawful,
        ),
        remedy=_REMEDIES[verdict],
        evidence={"retention.bytes": bound, "segment.bytes": segment, "largest_log": max(over.values())},
        standing={partition: starts(subject, partition) for partition in over},
        rests_on=RESTS_ON,
    )


def _limits(subject: AuditedTopic) -> tuple[int, int]:
    """Return ``retention.bytes`` and ``segment.bytes``."""
    return subject.number("retention.bytes") or 0, subject.number("segment.bytes") or _LARGEST_SEGMENT


def undeleted(subject: AuditedTopic, check: tuple[str, tuple[str, ...]], partition: int, lawful: str | None) -> Verdict:
    """Return what the looks prove of a log start that deletion should have moved.

    ``check`` is the check's id and the settings that it rests on, ``lawful`` as in ``judged_twice``.
    """
    interval = deletion_interval_ms(subject)
    name, rests_on = check
    stood = subject.stood_for(name, partition, starts(subject, partition), rests_on)
    return Verdict.UNDECIDABLE if interval is None else judged_twice(stood, interval, lawful)


def _explanation(subject: AuditedTopic, partition: int, size: int, bound: int) -> str | None:
    """Return why the log may be so large lawfully; None before a second look, and where nothing explains it."""
    assert subject.live
    known_from = subject.past.shaped_from(partition)
    if known_from is None:
        return None
    if not all_in_sync(subject, partition):
        return OUT_OF_SYNC
    if size <= bound + _LARGEST_SEGMENT and subject.live.extents[partition].start < known_from:
        return (
            "the oldest segment is older than the settings that audits saw, and may be larger than segment.bytes: "
            f"Kafka allows {_LARGEST_SEGMENT:,} bytes"
        )
    return None


def deletion_interval_ms(subject: AuditedTopic) -> int | None:
    """How long the brokers may leave what is to be deleted: for ``compact,delete`` it is the cleaner that deletes.

    A broker that has just started waits first (``LogManager.startup``), the cleaner does not. None if the brokers'
    settings may not be seen.
    """
    interval = subject.check_interval_ms
    if not subject.compacted:
        delay = subject.snapshot.broker_number(_START_DELAY, _DEFAULT_START_DELAY_MS)
        return None if interval is None or delay is None else interval + delay + CLOCK_MS
    grace = cleaner_grace_ms(subject)
    return None if grace is None or interval is None else max(grace, interval + CLOCK_MS)
