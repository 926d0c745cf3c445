"""Compute which records the brokers may remove under the settings before a step. No plan needs to predict these.

Written from Kafka's rules and the logs on disk, without the code under test: ``UnifiedLog.deleteOldSegments``,
``LogSegment.shouldRoll``, ``LogConfig.maxSegmentMs``, ``LogCleanerManager.grabFilthiestCompactedLog``,
``Cleaner.shouldRetainRecord``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tests.campaigns.soundness.logs import Log, Segment

_NUDGE_BYTES = 200
_AT_ONCE_MS = 120_000
"""Longer than a step takes. Records that become removable within this time may be gone after the step."""


def removable(logs: Iterable[Log], config: Mapping[str, str], now: int) -> frozenset[int]:
    """Return the offsets that any replica of a partition may remove under ``config`` until ``now`` (milliseconds).

    ``logs`` is the state before the step. During the step, one small record is appended.
    """
    policies = {policy.strip() for policy in config["cleanup.policy"].split(",")}
    found = set[int]()
    for log in logs:
        if "delete" in policies:
            found |= _expired(log, config, now) | _oversized(log, config, now)
        if "compact" in policies:
            found |= _superseded(log, config, now)
    return frozenset(found)


def _expired(log: Log, config: Mapping[str, str], now: int) -> set[int]:
    """Return the records of the oldest segments that have expired as a whole; a younger record keeps its segment."""
    kept, found = int(config["retention.ms"]), set[int]()
    for segment in log.segments:
        if kept < 0 or segment.time >= now - kept:
            break
        found.update(_offsets(segment))
    return found


def _oversized(log: Log, config: Mapping[str, str], now: int) -> set[int]:
    limit = int(config["retention.bytes"])
    closed, size, found = _closed(log, config, now), log.size + _NUDGE_BYTES, set[int]()
    for segment in closed:
        if limit < 0 or size - segment.size < limit:
            break
        size -= segment.size
        found.update(_offsets(segment))
    return found


def _closed(log: Log, config: Mapping[str, str], now: int) -> list[Segment]:
    """Return the segments that are no longer active after one more append."""
    *closed, active = log.segments
    longest = int(config["segment.ms"])
    if "compact" in config["cleanup.policy"]:
        longest = min(longest, int(config["max.compaction.lag.ms"]))
    waited = now - active.born if active.born >= 0 else _AT_ONCE_MS
    rolls = active.size + _NUDGE_BYTES > int(config["segment.bytes"]) or (
        active.batches and waited > longest - int(config["segment.jitter.ms"])
    )
    return [*closed, active] if rolls else closed


def _superseded(log: Log, config: Mapping[str, str], now: int) -> set[int]:
    lag, most = int(config["min.compaction.lag.ms"]), int(config["max.compaction.lag.ms"])
    cleanable: list[Segment] = []
    for segment in _closed(log, config, now):
        if lag > 0 and segment.time > now - lag:
            break
        cleanable.append(segment)
    dirty = [segment for segment in cleanable if _last(segment) >= log.cleaned]
    total = sum(segment.size for segment in cleanable)
    if not dirty:
        due = False
    else:
        ratio = sum(segment.size for segment in dirty) / total
        due = ratio > float(config["min.cleanable.dirty.ratio"]) or now - dirty[0].born > most
    # Tombstones in cleaned segments only wait for ``delete.retention.ms``.
    tombstones_go = int(config["delete.retention.ms"]) < _AT_ONCE_MS
    if not due and not tombstones_go:
        return set()
    entries = [entry for segment in cleanable for batch in segment.batches for entry in batch.entries]
    newest = {entry.key: entry.offset for entry in entries if entry.offset not in log.aborted}
    return {
        entry.offset
        for entry in entries
        if entry.key is None or newest.get(entry.key, log.end) > entry.offset or (entry.value is None and tombstones_go)
    }


def _last(segment: Segment) -> int:
    return max((batch.last for batch in segment.batches), default=segment.base)


def _offsets(segment: Segment) -> Iterator[int]:
    return (entry.offset for batch in segment.batches for entry in batch.entries)
