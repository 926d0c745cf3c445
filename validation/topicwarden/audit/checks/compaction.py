"""Duplicates of a key in a compacted topic are there lawfully, and here is why.

A record is superseded when its key has a later one in the partition. It may still stand because the
later one's segment has not rolled (roll certificate), is held back by an open transaction or by
``min.compaction.lag.ms``, or because the cleaner has not come by: it takes a log only when its dirty
ratio exceeds ``min.cleanable.dirty.ratio``, and there is no bound in time.

**pass**, with the reasons: no superseded record could have been removed for certain, or the dirty ratio
does not provably exceed its bound. **suspect**: it does; the cleaner should come soon, and if the same
records stand at the next audit it is late or dead. Never **fail** from one look.

Source: ``LogCleanerManager.grabFilthiestCompactedLog``, ``LogSegment.shouldRoll``.
"""

from collections.abc import Callable, Iterable

from topicwarden.audit.counts import Counts, Pair
from topicwarden.audit.horizon import Horizon, roll_time
from topicwarden.audit.subject import Judgement, Subject
from topicwarden.finding import Verdict

_DEFAULT_BACKOFF_MS = 15_000
_MOST_RUNS = 8


def applies(subject: Subject) -> bool:
    return subject.compacted


def judge(subject: Subject) -> Iterable[Judgement]:
    repeated = {partition: counts for partition, counts in sorted(subject.counts.items()) if counts.superseded}
    due = [partition for partition, counts in repeated.items() if _ratio(counts) > _bound(subject)]
    lawful = [partition for partition in repeated if partition not in due]
    if due:
        yield _judgement(
            Verdict.SUSPECT,
            subject,
            due,
            "and the cleaner is due",
            "audit again: if they still stand, look at the cleaner (uncleanable-partitions-count, log-cleaner.log)",
        )
    if lawful:
        yield _judgement(Verdict.PASS, subject, lawful, "lawfully", "")


def _judgement(verdict: Verdict, subject: Subject, partitions: list[int], how: str, remedy: str) -> Judgement:
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
        because=tuple(_reasons(subject, partitions)),
        remedy=remedy,
        evidence={
            "keys": sum(c.keys for c in counts),
            "superseded": superseded,
            "not_rolled": superseded - rolled,
            "held_back": rolled - cleanable,
            "cleanable": cleanable,
            "dirty_ratio_at_least": round(max(map(_ratio, counts)), 4),
            "min.cleanable.dirty.ratio": _bound(subject),
        },
    )


def _reasons(subject: Subject, partitions: list[int]) -> Iterable[str]:
    assert subject.live
    counts = {partition: subject.counts[partition] for partition in partitions}
    if not_rolled := sum(c.superseded - c.superseded_rolled for c in counts.values()):
        yield (
            f"{not_rolled:,}{_which(subject, partitions, _not_rolled)}: the segment of the superseding record has not "
            "rolled for certain; it rolls only on an append more than "
            f"{roll_time(subject.live.topic):,} ms after its first record, and an idle partition never does"
        )
    if held := sum(c.superseded_rolled - c.superseded_cleanable for c in counts.values()):
        by = sorted({reason for partition in partitions if (reason := subject.horizons[partition].held_by)})
        yield f"{held:,}{_which(subject, partitions, _held)}: held back by {' and '.join(by)}"
    if cleanable := sum(c.superseded_cleanable for c in counts.values()):
        backoff = subject.snapshot.broker_number("log.cleaner.backoff.ms", _DEFAULT_BACKOFF_MS)
        yield (
            f"{cleanable:,}{_which(subject, partitions, _cleanable)}: their segments have rolled, and the cleaner has "
            f"not come by; it looks every {backoff:,} ms for the log with the highest dirty ratio above "
            f"{_bound(subject):g} "
            f"(here at least {max(map(_ratio, counts.values())):.2f}), in no set time"
        )


def _not_rolled(pair: Pair, horizon: Horizon) -> bool:
    return pair.superseded_by >= horizon.rolled


def _held(pair: Pair, horizon: Horizon) -> bool:
    return horizon.cleanable <= pair.superseded_by < horizon.rolled


def _cleanable(pair: Pair, horizon: Horizon) -> bool:
    return pair.superseded_by < horizon.cleanable


def _which(subject: Subject, partitions: list[int], wanted: Callable[[Pair, Horizon], bool]) -> str:
    """The offsets, as far as they were looked at, where it is about one partition; else nothing."""
    if len(partitions) > 1:
        return ""
    horizon = subject.horizons[partitions[0]]
    return _offsets(pair.offset for pair in subject.pairs.get(partitions[0], ()) if wanted(pair, horizon))


def _offsets(offsets: Iterable[int]) -> str:
    """`` (offsets 0-4, 7)``; at most eight runs, nothing for none."""
    runs: list[list[int]] = []
    for offset in offsets:
        if runs and offset == runs[-1][1] + 1:
            runs[-1][1] = offset
        else:
            runs.append([offset, offset])
    if not runs:
        return ""
    shown = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs[:_MOST_RUNS])
    return f" (offsets {shown}{', …' if len(runs) > _MOST_RUNS else ''})"


def _ratio(counts: Counts) -> float:
    """A lower bound: cleaning leaves one record a key, so each repeat below the border lies in the dirty part."""
    return counts.superseded_cleanable / counts.cleanable if counts.cleanable else 0.0


def _bound(subject: Subject) -> float:
    assert subject.live
    return float(subject.live.topic.config.get("min.cleanable.dirty.ratio", "0.5"))
