"""Compute a lower bound of a log's dirty ratio, in bytes on disk as in ``LogToClean.cleanableRatio``."""

from __future__ import annotations

from topicwarden.audit.checks.common.persistence import extent
from topicwarden.audit.evidence import Counts

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
