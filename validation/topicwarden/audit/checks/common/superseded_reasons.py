"""Explain, with numbers, why superseded records may still be in a compacted log."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from topicwarden.audit.checks.common.persistence import extent, rolled_under_known_settings
from topicwarden.audit.collect.horizon import Horizon, roll_time
from topicwarden.audit.evidence import Counts
from topicwarden.audit.scan.counts import SupersededPair
from topicwarden.model.units import DURATION

_RECORD_BYTES = 100
"""The maximum overhead of a record besides its key and value: the record header, and the header of a batch of one."""
_MARKER_BYTES = 100
"""The maximum size at an offset without a record: a transaction marker, or a batch that a cleaning emptied.

Both remain after their records are removed, and count as clean.
"""


def dirty_bound(subject: Counts) -> float:
    """Return ``min.cleanable.dirty.ratio``: the cleaner cleans a log if its dirty ratio exceeds this bound."""
    return float(subject.live.topic.config.get("min.cleanable.dirty.ratio", "0.5"))


def dirty_ratio(subject: Counts, partition: int) -> float:
    """Return the share of the cleanable bytes that is certainly dirty, 0 to 1; 0 if nothing is certain.

    The audit does not know the batch boundaries. The clean part of a log contains at most one record of each key. So
    all bytes are dirty except the largest record of each key, records that are not cleanable yet, and transaction
    markers. Keys and values count uncompressed. For a compressed log this only overestimates the clean part.
    """
    log, counts = extent(subject, partition), subject.counts.get(partition)
    if log is None or log.log_bytes is None or counts is None:
        return 0.0
    overhead = _RECORD_BYTES
    if counts.records:
        # Record headers are not in payload_bytes. If they make up most of the log, they raise the overhead here.
        overhead = max(overhead, 2 * (log.log_bytes - counts.payload_bytes) // counts.records)
    segment = subject.number("segment.bytes") or 0
    read = subject.read_ranges.get(partition)
    start, end = (read.start, read.end) if read is not None else (log.start, log.end)
    gaps = max(0, end - start - counts.records)
    clean = counts.clean_bytes_at_most + counts.keys * overhead + gaps * _MARKER_BYTES + (segment if log.start else 0)
    uncleanable = counts.payload_bytes - counts.cleanable_bytes + (counts.records - counts.cleanable) * overhead
    if read is not None and read.end < log.end:
        # Only the beginning was read. Of the rest, only the active segment is certainly not cleanable, unless a
        # transaction or the compaction lag blocks more.
        if log.last_stable < log.end or subject.number("min.compaction.lag.ms") != 0:
            return 0.0
        uncleanable += segment
    dirty = log.log_bytes - clean - uncleanable
    return dirty / (dirty + clean) if dirty > 0 else 0.0


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
