"""The cleaner keeps up: a compacted log is not dirtier than ``min.cleanable.dirty.ratio`` for long.

A record is superseded when its key has a later one in the partition. It may still stand because the
later one's segment has not rolled (roll certificate), is held back by an open transaction or by
``min.compaction.lag.ms``, or because the cleaner has not come by: it takes a log only when the dirty share of
its bytes exceeds ``min.cleanable.dirty.ratio``, the dirtiest log first, in no set time.

**pass**, with these reasons: no superseded record could have been removed for certain, or the dirty ratio
does not provably exceed its bound. **suspect**: of the records that have rolled, a larger share is superseded.
**fail**: it was so at two looks, further apart than a cleaner that is well takes (twice
``log.cleaner.backoff.ms``, and 1 s for each 5 MiB of all compacted logs), with the same pair of records
standing at both and the same leader all the time (epoch), and by bytes: what is not the largest record of its key,
nor behind the border, nor a transaction's marker that may lie in a gap, is dirty, and is a larger share of the log
than the bound, counted without compression, which only makes it smaller than it is. The segments must have rolled
under settings that an audit saw. Of Kafka's own topics no more than about the oldest 64 MiB of a partition are read:
the dirty part begins before the pair, and all behind it counts but a segment.

Example: a cleaner thread died of a corrupt batch in another topic; the cache has held a week of updates since.

Remedy: look at ``uncleanable-partitions-count``, ``DeadThreadCount`` and log-cleaner.log; a restart of the broker
starts the cleaner again.

Source: ``LogCleanerManager.grabFilthiestCompactedLog``, ``LogSegment.shouldRoll``, ``LogToClean``.
"""

from collections.abc import Iterable

from topicwarden.audit.duplicates import dirty_bound, dirty_ratio, reasons
from topicwarden.audit.standing import (
    cleaner_grace_ms,
    extent,
    first_pair,
    rolled_for_all,
    rolled_since,
    starts,
)
from topicwarden.audit.subject import Judgement, Subject
from topicwarden.verdict import Verdict

CHECK = "compaction-ratio"
RESTS_ON = ("cleanup.policy", "min.cleanable.dirty.ratio", "min.compaction.lag.ms", "segment.ms")

_RECORD_BYTES = 100
"""What a record may take beside its key and value: its own head, and that of a batch that holds nothing else."""
_MARKER_BYTES = 100
"""What lies at an offset without a record, at the most: a transaction's marker, or a batch that a cleaning emptied.
Both outlive the records that they came with, and are clean."""


def applies(subject: Subject) -> bool:
    return subject.compacted


def judge(subject: Subject) -> Iterable[Judgement]:
    repeated = {partition: counts for partition, counts in sorted(subject.counts.items()) if counts.superseded}
    due = [partition for partition, counts in repeated.items() if dirty_ratio(counts) > dirty_bound(subject)]
    facts = {partition: found for partition in due if (found := _facts(subject, partition)) is not None}
    proven = [partition for partition in due if partition in facts and _proven(subject, partition, facts[partition])]
    suspect = [partition for partition in due if partition not in proven]
    lawful = [partition for partition in repeated if partition not in due]
    if proven:
        waited = max(subject.stood_for(CHECK, partition, facts[partition], RESTS_ON) or 0 for partition in proven)
        yield _judgement(
            Verdict.FAIL,
            subject,
            proven,
            f"and the cleaner has not come for {waited:,} ms",
            "look at the cleaner: uncleanable-partitions-count, DeadThreadCount, log-cleaner.log; "
            "a restart of the broker starts it again",
            standing={partition: facts[partition] for partition in proven},
        )
    if suspect:
        yield _judgement(
            Verdict.SUSPECT,
            subject,
            suspect,
            "and the cleaner is due",
            "audit again: if they still stand, look at the cleaner (uncleanable-partitions-count, log-cleaner.log)",
            standing={partition: facts[partition] for partition in suspect if partition in facts},
        )
    if lawful:
        yield _judgement(Verdict.PASS, subject, lawful, "lawfully", "", standing={})


def _judgement(
    verdict: Verdict,
    subject: Subject,
    partitions: list[int],
    how: str,
    remedy: str,
    *,
    standing: dict[int, dict[str, int]],
) -> Judgement:
    counts = [subject.counts[partition] for partition in partitions]
    superseded = sum(c.superseded for c in counts)
    rolled = sum(c.superseded_rolled for c in counts)
    cleanable = sum(c.superseded_cleanable for c in counts)
    return Judgement(
        verdict,
        f"{superseded:,} of {sum(c.records for c in counts):,} records are superseded by a later one of their key, "
        + how,
        path=("config", "cleanup.policy"),
        partitions=tuple(partitions),
        because=tuple(reasons(subject, partitions)),
        remedy=remedy,
        evidence={
            "keys": sum(c.keys for c in counts),
            "superseded": superseded,
            "not_rolled": superseded - rolled,
            "held_back": rolled - cleanable,
            "cleanable": cleanable,
            "dirty_ratio_at_least": round(max(map(dirty_ratio, counts)), 4),
            "min.cleanable.dirty.ratio": dirty_bound(subject),
        },
        standing=standing,
        rests_on=RESTS_ON,
    )


def _facts(subject: Subject, partition: int) -> dict[str, int] | None:
    """The pair that the next look has to see again, and whether the ratio is exceeded by bytes."""
    pair = first_pair(subject, partition)
    if pair is None or pair.superseded_by >= subject.horizons[partition].cleanable:
        return None
    exceeded = _ratio_by_bytes(subject, partition) > dirty_bound(subject)
    facts = {"offset": pair.offset, "superseded_by": pair.superseded_by, "by_bytes": int(exceeded)}
    return facts | starts(subject, partition)


def _proven(subject: Subject, partition: int, facts: dict[str, int]) -> bool:
    stood, grace = subject.stood_for(CHECK, partition, facts, RESTS_ON), cleaner_grace_ms(subject)
    return (
        bool(facts["by_bytes"])
        and stood is not None
        and grace is not None
        and stood > grace
        and rolled_since(subject, partition)
        and rolled_for_all(subject, partition, stood)
    )


def _ratio_by_bytes(subject: Subject, partition: int) -> float:
    """A lower bound of ``cleanableRatio``: the log's bytes on disk less all that may be clean or not cleanable yet."""
    log, counts, horizon = extent(subject, partition), subject.counts[partition], subject.horizons[partition]
    if log is None or log.log_bytes is None:
        return 0.0
    head = _RECORD_BYTES
    if counts.records:  # headers are not counted: where they are what the log is made of, they are here
        head = max(head, 2 * (log.log_bytes - counts.payload_bytes) // counts.records)
    segment = subject.number("segment.bytes") or 0
    read = subject.reading.get(partition)
    start, end = (read.start, read.end) if read is not None else (log.start, log.end)
    gaps = max(0, end - start - counts.records)
    clean = counts.clean_bytes_at_most + counts.keys * head + gaps * _MARKER_BYTES + (segment if log.start else 0)
    behind = counts.payload_bytes - counts.cleanable_bytes + (counts.records - counts.cleanable) * head
    behind += segment if horizon.held_by == "an open transaction" else 0
    if read is not None and read.end < log.end:  # all else but the active segment is cleanable, if nothing holds it
        if log.last_stable < log.end or subject.number("min.compaction.lag.ms") != 0:
            return 0.0
        behind += segment
    dirty = log.log_bytes - clean - behind
    return dirty / (dirty + clean) if dirty > 0 else 0.0
