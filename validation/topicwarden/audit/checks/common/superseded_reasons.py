"""Explain, with numbers, why superseded records may still be in a compacted log."""

from collections.abc import Callable, Iterable

from topicwarden.audit.checks.common.dirty_ratio import dirty_bound, dirty_ratio
from topicwarden.audit.checks.common.persistence import rolled_under_known_settings
from topicwarden.audit.collect.horizon import Horizon, roll_time
from topicwarden.audit.evidence import Counts
from topicwarden.audit.scan.counts import SupersededPair
from topicwarden.model.units import DURATION

_DEFAULT_BACKOFF_MS = 15_000
_MAX_RANGES = 8


def reasons(subject: Counts, partitions: list[int]) -> Iterable[str]:
    """Yield one line for each reason why superseded records remain, with their number.

    For a single partition, the line also has the offsets.
    """
    counts = {partition: subject.counts[partition] for partition in partitions}
    if not_rolled := sum(c.superseded - c.superseded_rolled for c in counts.values()):
        yield (
            f"{not_rolled:,}{_which(subject, partitions, _not_rolled)}: the segment of the superseding record may "
            "not have rolled yet; it rolls only on an append more than "
            f"{DURATION.text(roll_time(subject.live.topic) or 0)} after its first record, and an idle partition never "
            "rolls"
        )
    if blocked := sum(c.superseded_rolled - c.superseded_cleanable for c in counts.values()):
        causes = sorted({cause for partition in partitions if (cause := subject.horizons[partition].blocked_by)})
        yield f"{blocked:,}{_which(subject, partitions, _blocked)}: held back by {' and '.join(causes)}"
    if subject.snapshot.broker_config.get("log.cleaner.enable") == "false":
        yield "log.cleaner.enable is false on the brokers: the cleaner does not run"
    if cleanable := sum(c.superseded_cleanable for c in counts.values()):
        backoff = subject.snapshot.broker_number("log.cleaner.backoff.ms", _DEFAULT_BACKOFF_MS)
        interval = "at an unknown interval" if backoff is None else f"every {DURATION.text(backoff)}"
        yield (
            f"{cleanable:,}{_which(subject, partitions, _cleanable)}: {_rolled(subject, partitions)}, and the cleaner "
            f"has not cleaned them yet; it looks {interval} for the log with the highest dirty ratio above "
            f"{dirty_bound(subject):g} "
            f"(here, by bytes, at least {max(dirty_ratio(subject, partition) for partition in partitions):.2f}); "
            "Kafka sets no time limit"
        )


def _rolled(subject: Counts, partitions: list[int]) -> str:
    """Return that segments have rolled; with the assumption, if no audit saw the settings when they did."""
    known = all(rolled_under_known_settings(subject, partition) for partition in partitions)
    return "their segments have rolled" + ("" if known else " if segment.ms was not longer when they were written")


def _not_rolled(pair: SupersededPair, horizon: Horizon) -> bool:
    return pair.superseded_by >= horizon.rolled


def _blocked(pair: SupersededPair, horizon: Horizon) -> bool:
    return horizon.cleanable <= pair.superseded_by < horizon.rolled


def _cleanable(pair: SupersededPair, horizon: Horizon) -> bool:
    return pair.superseded_by < horizon.cleanable


def _which(subject: Counts, partitions: list[int], selects: Callable[[SupersededPair, Horizon], bool]) -> str:
    """Return the offsets of the selected pairs if there is only one partition, else an empty string."""
    if len(partitions) > 1:
        return ""
    horizon = subject.horizons[partitions[0]]
    return _offsets(pair.offset for pair in subject.pairs.get(partitions[0], ()) if selects(pair, horizon))


def _offsets(offsets: Iterable[int]) -> str:
    """Return text such as `` (offsets 0-4, 7)``, with at most eight ranges; empty if there are no offsets."""
    ranges: list[list[int]] = []
    for offset in offsets:
        if ranges and offset == ranges[-1][1] + 1:
            ranges[-1][1] = offset
        else:
            ranges.append([offset, offset])
    if not ranges:
        return ""
    shown = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges[:_MAX_RANGES])
    return f" (offsets {shown}{', …' if len(ranges) > _MAX_RANGES else ''})"
