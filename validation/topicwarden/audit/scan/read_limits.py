"""How much an audit reads, where that is bounded, and how fast."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from topicwarden.audit.scan.partition_reads import PartitionRead


@dataclass(frozen=True)
class ReadLimits:
    """``sample`` is a share of each partition, ``max_records`` a number of offsets over all of them, ``rate`` bytes a
    second over all tasks; None where there is no bound.

    What is read is the newest part of each partition, the same share of each: what producers do now is what one
    can mend. Old records are judged by what the brokers tell of them, whatever is read.
    """

    sample: float | None = None
    max_records: int | None = None
    rate: int | None = None

    def share(self, offsets: int) -> float:
        """The share of ``offsets`` that may be read."""
        shares = [1.0]
        if self.sample is not None:
            shares.append(self.sample)
        if self.max_records is not None and offsets > self.max_records:
            shares.append(self.max_records / offsets)
        return min(shares)

    def applied(self, parts: Iterable[PartitionRead]) -> list[PartitionRead]:
        """The newest part of each slice; empty ones are left out."""
        held = list(parts)
        share = self.share(sum(part.range.size for part in held))
        if share >= 1:
            return held
        cut = [replace(part, range=replace(part.range, start=_start(part, share))) for part in held]
        return [part for part in cut if part.range.start < part.range.end]


def _start(part: PartitionRead, share: float) -> int:
    """Whole offsets, rounded down, so that a bound holds over all partitions; one offset at the least."""
    size = part.range.size
    return part.range.end - max(1, int(size * share)) if share > 0 else part.range.end
