"""Limits for the number of records that an audit reads, and for its read rate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # its module needs Spark, and these limits are options of the Python API
    from topicwarden.audit.scan.partition_reads import PartitionRead


@dataclass(frozen=True)
class ReadLimits:
    """Limits of one audit; None means no limit.

    ``sample``: the share of each partition to read, from 0 to 1. ``max_records``: the number of offsets over all
    partitions. ``rate``: bytes a second over all tasks.

    An audit with limits reads the newest records, the same share of each partition, because current producers can
    still be fixed. Old records are always judged by what the brokers report about them.
    """

    sample: float | None = None
    max_records: int | None = None
    rate: int | None = None

    def share(self, offsets: int) -> float:
        """Return the share of ``offsets`` that may be read, from 0 to 1."""
        shares = [1.0]
        if self.sample is not None:
            shares.append(self.sample)
        if self.max_records is not None and offsets > self.max_records:
            shares.append(self.max_records / offsets)
        return min(shares)

    def apply(self, reads: Iterable[PartitionRead]) -> list[PartitionRead]:
        """Return the reads, cut to the newest offsets of each partition; empty reads are left out."""
        unlimited = list(reads)
        share = self.share(sum(read.range.size for read in unlimited))
        if share >= 1:
            return unlimited
        cut = [replace(read, range=replace(read.range, start=_start(read, share))) for read in unlimited]
        return [read for read in cut if read.range.start < read.range.end]


def _start(read: PartitionRead, share: float) -> int:
    """Return the start offset of the newest ``share`` of a partition.

    The number of offsets is rounded down, so that the limit holds over all partitions; it is at least one.
    """
    size = read.range.size
    return read.range.end - max(1, int(size * share)) if share > 0 else read.range.end
