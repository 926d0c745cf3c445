"""The counts of offset blocks: the driver keeps, reads and adds them up itself, because they are few.

A part of ``keys/`` has a file with a line for each partition whose records the audit read: the counts of each age band
in each block of offsets, and the reader's notes. The number of a group is the block, times ``BANDS_AT_MOST``, plus the
age band at that time. The counts of a partition are the sum over all its parts. Only the ages and the borders depend on
the time of an audit: ages are counted again by the youngest record of each group, and counts by border start at 0.
"""

from __future__ import annotations

import gzip
import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from topicwarden.audit.scan.counts import BANDS, METRICS
from topicwarden.audit.scan.partition_reads import BANDS_AT_MOST, BLOCK
from topicwarden.audit.scan.reader_notes import Counted, Note, RangeTotals, without_blocks_before, without_timestamps

MOST_PARTS = 8
"""The most parts of one partition; then the later parts, or all of them, are merged."""


@dataclass(frozen=True)
class StoredPartition:
    """A partition of the scan: its topic's id and, if earlier audits counted it, the parts that contain its counts.

    ``read``: how many records were read for each part. ``start``: the current log start offset, or 0 if it does
    not matter, because records are counted by key. ``totals``: the totals of its keys, as JSON. ``end``: earlier audits
    read the records before this offset.
    """

    topic_id: str
    partition: int
    parts: tuple[str, ...] = ()
    read: tuple[int, ...] = ()
    start: int = 0
    totals: str = ""
    end: int = 0

    @property
    def unmerged(self) -> int:
        """The number of parts, from the oldest on, that stay; the others are merged with the next part."""
        if len(self.parts) < MOST_PARTS:
            return len(self.parts)
        first, *later = self.read
        return 1 if sum(later) < first // 2 else 0

    def with_part(self, name: str, read: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Return the parts, and the records read for each, after part ``name`` with ``read`` records is added."""
        if self.unmerged == len(self.parts):
            return (*self.parts, name), (*self.read, read)
        merged_read = sum(self.read[self.unmerged :]) + read
        return (*self.parts[: self.unmerged], merged_name(name)), (*self.read[: self.unmerged], merged_read)


def merged_name(name: str) -> str:
    """Return the name of the merged part that the audit writes which adds part ``name``."""
    return f"{name}-joined"


FILE = "blocks.json.gz"

_GROUP = "bucket"
"""The column with the number of a group."""
_METRICS = {name: metric.merge for name, metric in METRICS.items() if metric.column}
_SAVED = (_GROUP, *(name for name, metric in METRICS.items() if metric.column and not metric.by_border))
"""The columns of a saved group. Counts by the borders of one audit mean nothing to later audits."""
_UNDATED = len(BANDS) + 1
"""The age band of records without a timestamp."""

_PartitionId = tuple[str, int]
"""The topic's id and the number of a partition."""


@dataclass
class OffsetBlocks:
    """The groups and the notes of one partition. Counts that are 0, or that have no value, may be missing.

    ``log_start``: the first offset that the audit saw which counted them.
    """

    groups: list[Counted] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    log_start: int = 0

    def add(self, row: Mapping[str, Any], known_end: int = 0) -> None:
        """Add a row of the reader: a group, or a note. A note that begins before ``known_end`` is of a second read."""
        if row.get("note") is not None:
            note = json.loads(row["note"])
            self.notes.append(without_timestamps(note) if note.get("start", 0) < known_end else note)
        else:
            self.groups.append({name: row[name] for name in (_GROUP, *_METRICS) if row.get(name) is not None})

    def extend(self, other: OffsetBlocks) -> None:
        """Add the groups and notes of another part."""
        self.groups += other.groups
        self.notes += other.notes

    def since(self, log_start: int) -> OffsetBlocks:
        """Return the blocks without deleted records; all notes, without the schema ids and the arrivals of such blocks.

        The block that contains the log start is counted again when the log start has moved. So its earlier counts are
        left out.
        """
        first = log_start if log_start > self.log_start else 0
        first_block = -(-first // BLOCK)
        kept = [group for group in self.groups if group[_GROUP] // BANDS_AT_MOST * BLOCK >= first]
        notes = [without_blocks_before(note, first_block) for note in self.notes] if first else self.notes
        return OffsetBlocks(kept, notes, log_start)

    def merged(self) -> OffsetBlocks:
        """Return the blocks with one group for each number."""
        merged: dict[int, list[Counted]] = {}
        for group in self.groups:
            merged.setdefault(group[_GROUP], []).append(group)
        groups = [{_GROUP: number, **_sum(each)} for number, each in merged.items()]
        return OffsetBlocks(groups, self.notes, self.log_start)


def block_totals(number: int, earlier: OffsetBlocks, read: OffsetBlocks, now: int) -> RangeTotals:
    """Return the totals of the partition with this number in the scan, by the age at ``now`` (ms).

    ``earlier`` are the blocks of earlier audits, ``read`` those of this one.
    """
    bands: dict[int, list[Counted]] = {}
    for group in (*earlier.groups, *read.groups):
        bands.setdefault(_age_band(group.get("last_timestamp"), now), []).append(group)
    return RangeTotals(
        number,
        [{"band": band, **_sum(groups)} for band, groups in sorted(bands.items())],
        [*earlier.notes, *read.notes],
        read=sum(group.get("records", 0) for group in read.groups),
    )


def _age_band(timestamp: int | None, now: int) -> int:
    """Return the age band as ``CountingRules.java`` does: 0 is the future, higher bands are older."""
    return _UNDATED if timestamp is None or timestamp < 0 else bisect_right(BANDS, now - timestamp)


def _sum(groups: Iterable[Counted]) -> Counted:
    groups = list(groups)
    if len(groups) == 1:
        return {name: value for name, value in groups[0].items() if name != _GROUP}
    sums = {name: merge.of(group[name] for group in groups if name in group) for name, merge in _METRICS.items()}
    return {name: number for name, number in sums.items() if number is not None}


def to_bytes(blocks: Mapping[_PartitionId, OffsetBlocks]) -> bytes:
    """Return the content of the file of a part."""
    lines = [json.dumps(_SAVED)]
    for (topic, partition), each in blocks.items():
        groups = [[group.get(name) for name in _SAVED] for group in each.groups]
        notes = [json.dumps(note) for note in each.notes]
        lines.append(f"{json.dumps([topic, partition])}\t{json.dumps([groups, notes, each.log_start])}")
    return gzip.compress("\n".join(lines).encode(), 1)


def from_bytes(content: bytes, selected: frozenset[_PartitionId]) -> Iterator[tuple[_PartitionId, OffsetBlocks]]:
    """Yield the ``selected`` partitions in the file of a part. Raises ValueError and others for a damaged file."""
    columns, *lines = gzip.decompress(content).decode().split("\n")
    names = json.loads(columns)
    for line in lines:
        head, _, counts = line.partition("\t")
        topic, partition = json.loads(head)
        if (topic, partition) in selected:
            groups, notes, log_start = json.loads(counts)
            known = [{n: v for n, v in zip(names, group, strict=True) if v is not None} for group in groups]
            yield (topic, partition), OffsetBlocks(known, [json.loads(note) for note in notes], log_start)
