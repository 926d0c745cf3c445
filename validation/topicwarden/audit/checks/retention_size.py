"""A log is no larger than ``retention.bytes`` and one segment.

Deletion by size takes the oldest segment while what remains is no smaller than ``retention.bytes``: after a pass
a log is smaller than ``retention.bytes`` plus its oldest segment.

**suspect**: the leader's log is larger than ``retention.bytes + segment.bytes``. **fail**: it was at two looks,
further apart than the brokers' check interval and the time that they wait with it after a start (for
``compact,delete``: than a cleaner that is well takes, as it deletes for them), the log start did not move, every
replica was in sync, and the settings and the leader (epoch) are the same; and the
oldest segment was written under a ``segment.bytes`` that an audit saw, or the log is larger than ``retention.bytes``
and the largest segment that there can be, 2 GiB. **undecidable**: the brokers do not tell sizes (Describe on the
cluster). Tiered topics are not judged: there ``local.retention.bytes`` bounds what lies on the brokers.

Example: ``retention.bytes`` was set to 1 GiB, and the partition has 40.

Remedy: read the leader's log for ``LogManager`` and ``UnifiedLog``; a log directory that failed, or a dead cleaner, no
longer deletes.

Source: ``UnifiedLog.deleteRetentionSizeBreachedSegments``.
"""

from collections.abc import Iterable

from topicwarden.audit.horizon import CLOCK_MS
from topicwarden.audit.standing import all_in_sync, cleaner_grace_ms, starts
from topicwarden.audit.subject import Judgement, Subject
from topicwarden.verdict import Verdict

CHECK = "retention-size"
RESTS_ON = ("cleanup.policy", "retention.bytes", "segment.bytes")
_LARGEST_SEGMENT = 2**31 - 1
_START_DELAY, _DEFAULT_START_DELAY_MS = "log.initial.task.delay.ms", 30_000


def applies(subject: Subject) -> bool:
    live = subject.live
    return (
        live is not None
        and "delete" in (live.topic.cleanup_policies or ())
        and (bound := live.topic.number("retention.bytes")) is not None
        and bound >= 0
        and live.topic.config.get("remote.storage.enable") != "true"
    )


def judge(subject: Subject) -> Iterable[Judgement]:
    assert subject.live
    logs = subject.live.extents
    unknown = sorted(partition for partition, log in logs.items() if log.log_bytes is None)
    if unknown:
        yield Judgement(
            Verdict.UNDECIDABLE,
            "the brokers did not tell how large the logs are",
            path=("config", "retention.bytes"),
            partitions=tuple(unknown),
            remedy="grant Describe on the cluster, for DescribeLogDirs",
        )
    bound, segment = subject.number("retention.bytes") or 0, subject.number("segment.bytes") or _LARGEST_SEGMENT
    over = {
        partition: log.log_bytes
        for partition, log in sorted(logs.items())
        if log.log_bytes is not None and log.log_bytes > bound + segment
    }
    proven = [partition for partition, size in over.items() if _proven(subject, partition, size, bound)]
    for verdict, partitions in (
        (Verdict.FAIL, proven),
        (Verdict.SUSPECT, [partition for partition in over if partition not in proven]),
    ):
        if partitions:
            yield _judgement(subject, verdict, {partition: over[partition] for partition in partitions}, bound, segment)


def _judgement(subject: Subject, verdict: Verdict, over: dict[int, int], bound: int, segment: int) -> Judgement:
    assert subject.live
    proven = verdict is Verdict.FAIL
    return Judgement(
        verdict,
        f"{len(over)} of {subject.live.topic.partitions} partitions hold up to {max(over.values()):,} bytes, "
        f"more than retention.bytes and one segment: {bound:,} + {segment:,}",
        path=("config", "retention.bytes"),
        partitions=tuple(over),
        because=("deletion by size leaves less than retention.bytes and the oldest segment",)
        + (("the brokers have looked since the last audit, and the log start has not moved",) if proven else ()),
        remedy="read the leader's log: a failed log directory, or a dead cleaner, no longer deletes"
        if proven
        else "audit again after the brokers' check interval",
        evidence={"retention.bytes": bound, "segment.bytes": segment, "largest_log": max(over.values())},
        standing={partition: starts(subject, partition) for partition in over},
        rests_on=RESTS_ON,
    )


def _proven(subject: Subject, partition: int, size: int, bound: int) -> bool:
    assert subject.live
    start = subject.live.extents[partition].start
    stood = subject.stood_for(CHECK, partition, starts(subject, partition), RESTS_ON)
    interval = deletion_interval_ms(subject)
    known_from = subject.past.shaped_from(partition)
    return (
        stood is not None
        and interval is not None
        and stood > interval
        and all_in_sync(subject, partition)
        and (size > bound + _LARGEST_SEGMENT or (known_from is not None and start >= known_from))
    )


def deletion_interval_ms(subject: Subject) -> int | None:
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
