"""The logs as they lie on the broker's disk, read without any of the code under test."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.support.log_files import LogBatch, LogRecord, batches, log_start_checkpoint, uncleanable
from topicwarden.sandbox.log_files import cleaner_checkpoint


@dataclass(frozen=True)
class Segment:
    """``time`` is the largest timestamp, ``born`` that of its first batch, by which it rolls."""

    base: int
    size: int
    batches: tuple[LogBatch, ...]

    @property
    def time(self) -> int:
        return max((batch.time for batch in self.batches), default=-1)

    @property
    def born(self) -> int:
        return self.batches[0].time if self.batches else -1


@dataclass(frozen=True)
class Log:
    """One partition. ``cleaned`` is the cleaner's checkpoint, ``given_up`` whether it is uncleanable."""

    start: int
    cleaned: int
    given_up: bool
    segments: tuple[Segment, ...]

    @property
    def active(self) -> int:
        """Where the active segment begins."""
        return self.segments[-1].base

    @property
    def end(self) -> int:
        return max((batch.last + 1 for one in self.segments for batch in one.batches), default=self.active)

    @property
    def size(self) -> int:
        return sum(one.size for one in self.segments)

    @cached_property
    def entries(self) -> tuple[LogRecord, ...]:
        """The records that can be read."""
        held = (e for one in self.segments for batch in one.batches for e in batch.entries)
        return tuple(entry for entry in held if entry.offset >= self.start)

    @cached_property
    def _fates(self) -> tuple[frozenset[int], dict[int, int]]:
        """Offsets of records of aborted transactions, and where each transaction begins that has no marker."""
        aborted: set[int] = set()
        of: dict[int, list[int]] = defaultdict(list)
        for batch in (batch for one in self.segments for batch in one.batches):
            if batch.commits is None and batch.transactional:
                of[batch.producer] += [batch.first, *(entry.offset for entry in batch.entries)]
            elif batch.commits is not None:
                told = of.pop(batch.producer, [])
                aborted.update([] if batch.commits else told)
        return frozenset(aborted), {producer: min(offsets) for producer, offsets in of.items()}

    def committed(self, last_stable: int) -> list[LogRecord]:
        """What a consumer sees that reads committed."""
        aborted, _ = self._fates
        return [entry for entry in self.entries if entry.offset < last_stable and entry.offset not in aborted]

    @property
    def unfinished(self) -> list[int]:
        """Where transactions begin that have no marker (behind one that compaction took, that is no open one)."""
        return list(self._fates[1].values())

    def dirty(self, last_stable: int, lag: int, now: int) -> list[Segment]:
        """The segments that the cleaner may take (``LogCleanerManager.cleanableOffsets``)."""
        found = []
        for one, following in zip(self.segments, self.segments[1:], strict=False):
            if one.base < self.cleaned and following.base <= self.cleaned:
                continue
            if following.base > last_stable or (lag > 0 and one.time > now - lag):
                break
            found.append(one)
        return found

    def dirty_ratio(self, dirty: Iterable[Segment]) -> float:
        """``LogToClean.cleanableRatio``."""
        clean = sum(one.size for one in self.segments if one.base < self.cleaned)
        cleanable = sum(one.size for one in dirty)
        return cleanable / (clean + cleanable) if cleanable else 0.0


Logs = dict[tuple[str, int], Log]


def read_logs(data: Path, prefix: str) -> Logs:
    """Every log of a topic that begins so; one that changes while it is read is read again."""
    starts, cleaned, given_up = log_start_checkpoint(data), cleaner_checkpoint(data), uncleanable(data)
    found: Logs = {}
    for folder in sorted(data.glob(f"{prefix}*-[0-9]*")):
        topic, _, partition = folder.name.rpartition("-")
        if not partition.isdigit():  # a topic that is being deleted: its folder's name ends with a uuid
            continue
        place = topic, int(partition)
        held = _segments(folder)
        if held:
            start = max(held[0].base, starts.get(place, 0))
            found[place] = Log(start, cleaned.get(place, 0), place in given_up, held)
    return found


def _segments(folder: Path) -> tuple[Segment, ...]:
    for _ in range(50):
        try:
            names = _names(folder)
            contents = [(folder / name).read_bytes() for name in names]
            if names == _names(folder) and not list(folder.glob("*.swap")):
                return tuple(
                    Segment(int(name[:20]), len(content), tuple(batches(content)))
                    for name, content in zip(names, contents, strict=True)
                )
        except FileNotFoundError:
            pass
        if not folder.exists():
            return ()
        time.sleep(0.02)
    return ()


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.log"))
