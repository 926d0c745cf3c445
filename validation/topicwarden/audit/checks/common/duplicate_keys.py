"""Why duplicates of a key may lawfully stand, in words and numbers; for the checks of compaction."""

from collections.abc import Callable, Iterable

from topicwarden.audit.checks.common.dirty_ratio import dirty_bound, dirty_ratio
from topicwarden.audit.collect.horizon import Horizon, roll_time
from topicwarden.audit.scan.counts import SupersededPair
from topicwarden.audit.subject import AuditedTopic

_DEFAULT_BACKOFF_MS = 15_000
_MOST_RUNS = 8


def reasons(subject: AuditedTopic, partitions: list[int]) -> Iterable[str]:
    """A line for each reason that keeps superseded records of these partitions, with how many and, for one, which."""
    assert subject.live
    counts = {partition: subject.counts[partition] for partition in partitions}
    if not_rolled := sum(c.superseded - c.superseded_rolled for c in counts.values()):
        yield (
            f"{not_rolled:,}{_which(subject, partitions, _not_rolled)}: the segment of the superseding record has not "
            "rolled for certain; it rolls only on an append more than "
            f"{roll_time(subject.live.topic):,} ms after its first record, and an idle partition never does"
        )
    if held := sum(c.superseded_rolled - c.superseded_cleanable for c in counts.values()):
        by = sorted({reason for partition in partitions if (reason := subject.horizons[partition].blocked_by)})
        yield f"{held:,}{_which(subject, partitions, _held)}: held back by {' and '.join(by)}"
    if subject.snapshot.broker_config.get("log.cleaner.enable") == "false":
        yield "log.cleaner.enable is false on the brokers: nothing is ever cleaned"
    if cleanable := sum(c.superseded_cleanable for c in counts.values()):
        backoff = subject.snapshot.broker_number("log.cleaner.backoff.ms", _DEFAULT_BACKOFF_MS)
        often = "at intervals that the brokers do not tell" if backoff is None else f"every {backoff:,} ms"
        yield (
            f"{cleanable:,}{_which(subject, partitions, _cleanable)}: their segments have rolled, and the cleaner has "
            f"not come by; it looks {often} for the log with the highest dirty ratio above "
            f"{dirty_bound(subject):g} "
            f"(here, by bytes, at least {max(dirty_ratio(subject, one) for one in partitions):.2f}), in no set time"
        )


def _not_rolled(pair: SupersededPair, horizon: Horizon) -> bool:
    return pair.superseded_by >= horizon.rolled


def _held(pair: SupersededPair, horizon: Horizon) -> bool:
    return horizon.cleanable <= pair.superseded_by < horizon.rolled


def _cleanable(pair: SupersededPair, horizon: Horizon) -> bool:
    return pair.superseded_by < horizon.cleanable


def _which(subject: AuditedTopic, partitions: list[int], wanted: Callable[[SupersededPair, Horizon], bool]) -> str:
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
