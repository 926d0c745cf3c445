"""Compare a report's facts about partitions with the disk. Counts and boundaries must match exactly."""

from __future__ import annotations

from collections.abc import Iterator

from tests.soundness.broker import INTERVAL_MS
from tests.soundness.logs import Log
from tests.soundness.scene import Scene
from tests.soundness.workload import Truth
from topicwarden.model.finding import PartitionFacts


def inexact(scene: Scene) -> Iterator[str]:
    """Yield every wrong number. If a log changed during the audit, check only boundaries, which only increase.

    Boundaries are only certain for the current settings and for readable records. Three cases are skipped: topics with
    changed settings, topics that this user may not read, and logs with hidden records. Hidden records are before the
    log start after DeleteRecords, but still on disk.
    """
    for facts in scene.report.topics:
        for reported in facts.partitions:
            truth = scene.truths[facts.name]
            wrong: list[str] = []
            if truth.denied:
                continue
            if log := scene.steady(facts.name, reported.partition):
                wrong += _counts(reported, log)
            if (after := scene.after.get((facts.name, reported.partition))) and _as_written(after, truth):
                wrong += _borders(reported, after, scene, truth)
            yield from (f"{facts.name}-{reported.partition}: {one}" for one in wrong)


def _as_written(log: Log, truth: Truth) -> bool:
    return not truth.changed and not any(batch.first < log.start for one in log.segments for batch in one.batches)


def counted(scene: Scene) -> int:
    """Return the number of partitions that did not change during the audit.

    Only the counts of these partitions can be checked exactly.
    """
    return sum(scene.steady(*topic_partition) is not None for topic_partition in scene.after)


def _counts(reported: PartitionFacts, log: Log) -> Iterator[str]:
    entries = log.entries
    keyed = [entry.key for entry in entries if entry.key is not None]
    sizes = [len(entry.key or b"") + len(entry.value or b"") for entry in entries]
    expected = {
        "log_start": log.start,
        "log_end": log.end,
        "log_bytes": log.size,
        "records": len(entries),
        "payload_bytes": sum(sizes),
        "largest_record": max(sizes, default=0),
        "null_keys": len(entries) - len(keyed),
        "tombstones": sum(entry.value is None for entry in entries),
        "empty_values": sum(entry.value == b"" for entry in entries),
        "first_timestamp": min((entry.time for entry in entries if entry.time >= 0), default=None),
        "last_timestamp": max((entry.time for entry in entries if entry.time >= 0), default=None),
    }
    if reported.keys is not None:
        expected |= {"keys": len(set(keyed)), "superseded": len(keyed) - len(set(keyed))}
    for name, value in expected.items():
        if getattr(reported, name) != value:
            yield f"{name} is reported as {getattr(reported, name)}, and is {value}"


def _borders(reported: PartitionFacts, log: Log, scene: Scene, truth: Truth) -> Iterator[str]:
    if reported.rolled is not None and reported.rolled > max(log.active, log.start):
        yield f"rolled is reported as {reported.rolled}, and the active segment begins at {log.active}"
    if reported.cleanable is not None:
        lag = int(truth.config.get("min.compaction.lag.ms", "0"))
        dirty = log.dirty(reported.last_stable or 0, lag, scene.report.finished)
        reached = max([log.cleaned, *(log.end_of(one) for one in dirty)])
        if reported.cleanable > max(reached, log.start):
            yield f"cleanable is reported as {reported.cleanable}, and the cleaner may go up to {reached}"
    if reported.overdue is not None:
        limit = scene.report.finished - int(truth.config.get("retention.ms", 7 * 86_400_000)) - INTERVAL_MS
        standing = [one for one in log.segments[:-1] if one.base < reported.overdue and log.end_of(one) > log.start]
        if any(one.time >= limit for one in standing) or reported.overdue > max(log.active, log.start):
            yield f"overdue is reported as {reported.overdue}, and segments below have not expired"
