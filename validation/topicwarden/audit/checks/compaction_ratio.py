"""The cleaner keeps up: a compacted log is not dirtier than ``min.cleanable.dirty.ratio`` for long.

A record is superseded when its key has a later one in the partition. It may still stand because the
later one's segment has not rolled (roll certificate), is held back by an open transaction or by
``min.compaction.lag.ms``, or because the cleaner has not come by: it takes a log only when the dirty share of
its bytes exceeds ``min.cleanable.dirty.ratio``, the dirtiest log first, in no set time.

**suspect**: superseded records are cleanable for certain, and the log's dirty ratio exceeds its bound for certain.
Both are measured in bytes on disk, as the brokers do: all bytes of the log are dirty, except the largest record of
each key, what is not cleanable, and transaction markers. Keys and values count uncompressed, which only makes the
ratio smaller than it is. **fail**: the same was so at two looks, further apart than a healthy cleaner takes (twice
``log.cleaner.backoff.ms``, and 1 s for each 5 MiB of all compacted logs), with the same pair of records and the same
leader epoch at both, and the segments rolled under settings that an audit saw. **pass**, with these reasons: no
superseded record could have been removed for certain; the dirty ratio does not exceed its bound for certain; or
nothing was appended since audits know the settings, so that the segment may be active. **undecidable**: the brokers do
not tell how large their logs are. Of Kafka's own topics no more than about the oldest 64 MiB of a partition are read:
the dirty part begins before the pair, and everything after it counts except one segment.

Example: a cleaner thread died of a corrupt batch in another topic; the cache has held a week of updates since.

Remedy: look at ``uncleanable-partitions-count``, ``DeadThreadCount`` and log-cleaner.log; a restart of the broker
starts the cleaner again.

Source: ``LogCleanerManager.grabFilthiestCompactedLog``, ``LogSegment.shouldRoll``, ``LogToClean``.
"""

from collections.abc import Iterable

from topicwarden.audit.checks.common.dirty_ratio import dirty_bound, dirty_ratio
from topicwarden.audit.checks.common.duplicate_keys import reasons
from topicwarden.audit.checks.common.persistence import (
    cleaner_grace_ms,
    extent,
    first_pair,
    judged_twice,
    starts,
    unsettled_segment,
)
from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits
from topicwarden.model.verdict import Verdict

TRAITS = Traits(reads_records=True, needs_settings=True, needs_every_record=True)
CHECK = "compaction-ratio"
RESTS_ON = ("cleanup.policy", "min.cleanable.dirty.ratio", "min.compaction.lag.ms", "segment.ms")

_OUTCOMES = {
    Verdict.FAIL: (
        "and the cleaner has not come for {stood:,} ms",
        "look at the cleaner: uncleanable-partitions-count, DeadThreadCount, log-cleaner.log; "
        "a restart of the broker starts it again",
    ),
    Verdict.SUSPECT: (
        "and the cleaner is due",
        "audit again: if they still stand, look at the cleaner (uncleanable-partitions-count, log-cleaner.log)",
    ),
    Verdict.PASS: ("lawfully", ""),
    Verdict.UNDECIDABLE: (
        "and the brokers did not tell their settings, or how large the logs are",
        "grant DescribeConfigs and Describe on the Cluster resource",
    ),
}
"""What follows "records are superseded", and the remedy."""


def applies(subject: AuditedTopic) -> bool:
    return subject.compacted


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    repeated = [partition for partition, counts in sorted(subject.counts.items()) if counts.superseded]
    grace = cleaner_grace_ms(subject)
    sorted_out: dict[Verdict, list[int]] = {}
    standing: dict[int, dict[str, int]] = {}
    lawful: dict[int, str] = {}
    for partition in repeated:
        cleanable = subject.counts[partition].superseded_cleanable
        log, pair = extent(subject, partition), first_pair(subject, partition)
        if cleanable and (grace is None or log is None or log.log_bytes is None):
            verdict = Verdict.UNDECIDABLE
        elif (
            grace is None
            or pair is None
            or pair.superseded_by >= subject.horizons[partition].cleanable
            or dirty_ratio(subject, partition) <= dirty_bound(subject)
        ):
            verdict = Verdict.PASS
        else:
            facts = {"offset": pair.offset, "superseded_by": pair.superseded_by, **starts(subject, partition)}
            stood = subject.stood_for(CHECK, partition, facts, RESTS_ON)
            reason = unsettled_segment(subject, partition, stood)
            verdict, standing[partition] = judged_twice(stood, grace, reason), facts
            if reason is not None:
                lawful[partition] = reason
        sorted_out.setdefault(verdict, []).append(partition)
    for verdict, partitions in sorted_out.items():
        yield _judgement(
            verdict,
            subject,
            partitions,
            {partition: standing[partition] for partition in partitions if partition in standing},
            sorted({lawful[partition] for partition in partitions if partition in lawful}),
        )


def _judgement(
    verdict: Verdict,
    subject: AuditedTopic,
    partitions: list[int],
    standing: dict[int, dict[str, int]],
    lawful: list[str],
) -> CheckResult:
    counts = [subject.counts[partition] for partition in partitions]
    superseded = sum(c.superseded for c in counts)
    rolled = sum(c.superseded_rolled for c in counts)
    cleanable = sum(c.superseded_cleanable for c in counts)
    stood = max(
        (subject.stood_for(CHECK, partition, facts, RESTS_ON) or 0 for partition, facts in standing.items()), default=0
    )
    outcome, remedy = _OUTCOMES[verdict]
    return CheckResult(
        verdict,
        f"{superseded:,} of {sum(c.records for c in counts):,} records are superseded by a later one of their key, "
        + outcome.format(stood=stood),
        path=("config", "cleanup.policy"),
        partitions=tuple(partitions),
        because=(*reasons(subject, partitions), *lawful),
        remedy=remedy,
        evidence={
            "keys": sum(c.keys for c in counts),
            "superseded": superseded,
            "not_rolled": superseded - rolled,
            "held_back": rolled - cleanable,
            "cleanable": cleanable,
            "dirty_ratio_at_least": round(max(dirty_ratio(subject, partition) for partition in partitions), 4),
            "min.cleanable.dirty.ratio": dirty_bound(subject),
        },
        standing=standing,
        rests_on=RESTS_ON,
    )
