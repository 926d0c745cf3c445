"""Read the logs on the broker's disk, without any of the code under test."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.support.log_files import LogBatch, LogRecord, batches, log_start_checkpoint, uncleanable
from topicwarden.extensions.sandbox.scenarios.compaction import cleaner_checkpoint


@dataclass(frozen=True)
class Segment:
    """A segment. ``modified`` is the time of its file's last change, in milliseconds.

    ``born`` is the timestamp of its first batch, which decides when the segment rolls; -1 if there is none.
    """

    base: int
    size: int
    batches: tuple[LogBatch, ...]
    modified: int = 0

    @property
    def time(self) -> int:
        """Return the largest timestamp; without any, the last change (``LogSegment.largestTimestamp``)."""
        latest = max((batch.time for batch in self.batches), default=-1)
        return latest if latest >= 0 else self.modified

    @property
    def born(self) -> int:
        return self.batches[0].time if self.batches else -1


@dataclass(frozen=True)
class Log:
    """The log of one partition. ``cleaned`` is the cleaner's checkpoint.

    ``given_up`` means that the cleaner marked the partition as uncleanable.
    """

    start: int
    cleaned: int
    given_up: bool
    segments: tuple[Segment, ...]

    @property
    def active(self) -> int:
        """Return the base offset of the active segment."""
        return self.segments[-1].base

    @property
    def end(self) -> int:
        return max((batch.last + 1 for one in self.segments for batch in one.batches), default=self.active)

    def end_of(self, segment: Segment) -> int:
        """Return the end offset of a segment."""
        return next((one.base for one in self.segments if one.base > segment.base), self.end)

    @property
    def size(self) -> int:
        return sum(one.size for one in self.segments)

    @cached_property
    def entries(self) -> tuple[LogRecord, ...]:
        """Return the records that consumers can read."""
        batch_entries = (e for one in self.segments for batch in one.batches for e in batch.entries)
        return tuple(entry for entry in batch_entries if entry.offset >= self.start)

    @cached_property
    def _fates(self) -> tuple[frozenset[int], dict[int, int]]:
        """Return the offsets of aborted records, and by producer the start of each transaction without a marker."""
        aborted: set[int] = set()
        of: dict[int, list[int]] = defaultdict(list)
        for batch in (batch for one in self.segments for batch in one.batches):
            if batch.commits is None and batch.transactional:
                of[batch.producer] += [batch.first, *(entry.offset for entry in batch.entries)]
            elif batch.commits is not None:
                offsets_of = of.pop(batch.producer, [])
                aborted.update([] if batch.commits else offsets_of)
        return frozenset(aborted), {producer: min(offsets) for producer, offsets in of.items()}

    @property
    def aborted(self) -> frozenset[int]:
        """Return the offsets of the records of aborted transactions."""
        return self._fates[0]

    def committed(self, last_stable: int) -> list[LogRecord]:
        """Return the records that a ``read_committed`` consumer reads."""
        return [entry for entry in self.entries if entry.offset < last_stable and entry.offset not in self.aborted]

    @property
    def unfinished(self) -> list[int]:
        """Return the first offsets of transactions without a marker.

        Compaction may have removed the marker. Such a transaction is not open.
        """
        return list(self._fates[1].values())

    def dirty(self, last_stable: int, lag: int, now: int) -> list[Segment]:
        """Return the segments that the cleaner may clean (``LogCleanerManager.cleanableOffsets``)."""
        found = []
        for one, following in zip(self.segments, self.segments[1:], strict=False):
            if one.base < self.cleaned and following.base <= self.cleaned:
                continue
            if following.base > last_stable or (lag > 0 and one.time > now - lag):
                break
            found.append(one)
        return found

    def dirty_ratio(self, dirty: Iterable[Segment]) -> float:
        """Return the dirty ratio as ``LogToClean.cleanableRatio`` computes it."""
        clean = sum(one.size for one in self.segments if one.base < self.cleaned)
        cleanable = sum(one.size for one in dirty)
        return cleanable / (clean + cleanable) if cleanable else 0.0


Logs = dict[tuple[str, int], Log]


def read_logs(data: Path, prefix: str) -> Logs:
    """Return every log of the topics with this prefix. A log that changes during the read is read again."""
    starts, cleaned, given_up = log_start_checkpoint(data), cleaner_checkpoint(data), uncleanable(data)
    found: Logs = {}
    for folder in sorted(data.glob(f"{prefix}*-[0-9]*")):
        topic, _, partition = folder.name.rpartition("-")
        if not partition.isdigit():  # a topic that is being deleted: its folder's name ends with a UUID
            continue
        topic_partition = topic, int(partition)
        batch_entries = _segments(folder)
        if batch_entries:
            start = max(batch_entries[0].base, starts.get(topic_partition, 0))
            found[topic_partition] = Log(
                start, cleaned.get(topic_partition, 0), topic_partition in given_up, batch_entries
            )
    return found


def _segments(folder: Path) -> tuple[Segment, ...]:
    for _ in range(50):
        try:
            names = _names(folder)
            contents = [(folder / name).read_bytes() for name in names]
            changed = [(folder / name).stat().st_mtime_ns // 1_000_000 for name in names]
            if names == _names(folder) and not list(folder.glob("*.swap")):
                return tuple(
                    Segment(int(name[:20]), len(content), tuple(batches(content)), modified)
                    for name, content, modified in zip(names, contents, changed, strict=True)
                )
        except FileNotFoundError:
            pass
        if not folder.exists():
            return ()
        time.sleep(0.02)
    return ()


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.log"))
