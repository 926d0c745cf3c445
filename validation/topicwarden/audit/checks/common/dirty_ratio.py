"""A lower bound of a log's dirty ratio, as ``LogToClean.cleanableRatio`` computes it: by bytes of batches on disk."""

from __future__ import annotations

from topicwarden.audit.checks.common.persistence import extent
from topicwarden.audit.subject import AuditedTopic

_RECORD_BYTES = 100
"""The most that a record takes besides its key and value: its own header, and the header of a batch of one record."""
_MARKER_BYTES = 100
"""The most at an offset without a record: a transaction marker, or a batch that a cleaning emptied.
Both outlive their records, and are clean."""


def dirty_bound(subject: AuditedTopic) -> float:
    """Return ``min.cleanable.dirty.ratio``: the cleaner takes a log whose dirty ratio is above it."""
    assert subject.live
    return float(subject.live.topic.config.get("min.cleanable.dirty.ratio", "0.5"))


def dirty_ratio(subject: AuditedTopic, partition: int) -> float:
    """Return the share of the cleanable bytes that is dirty for certain, 0 to 1; 0 if nothing is certain.

    The audit cannot see where batches begin. A clean part holds at most one record of each key. So all bytes are
    dirty, except the largest record of each key, what the cleaner may not take yet, and transaction markers.
    Keys and values count uncompressed, so that the clean part of a compressed log only looks larger than it is.
    """
    log, counts = extent(subject, partition), subject.counts.get(partition)
    if log is None or log.log_bytes is None or counts is None:
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
    if read is not None and read.end < log.end:  # all else but the active segment is cleanable, if nothing holds it
        if log.last_stable < log.end or subject.number("min.compaction.lag.ms") != 0:
            return 0.0
        behind += segment
    dirty = log.log_bytes - clean - behind
    return dirty / (dirty + clean) if dirty > 0 else 0.0
