"""The report of a redrive: the records that were copied, or would be."""

from __future__ import annotations

from dataclasses import dataclass

from topicwarden.model.finding import Finding


@dataclass(frozen=True)
class CopyCounts:
    """Records that were copied or would be, the bytes of their keys and values, and others.

    ``dropped``: the repair function returned None. ``gone``: they were deleted before they were read.
    """

    copies: int = 0
    size: int = 0
    dropped: int = 0
    gone: int = 0

    def __add__(self, other: CopyCounts) -> CopyCounts:
        return CopyCounts(
            self.copies + other.copies, self.size + other.size, self.dropped + other.dropped, self.gone + other.gone
        )


@dataclass(frozen=True)
class PartitionRedrive:
    """The records of the finding in one partition. ``first`` and ``last`` are offsets; ``copied`` were done before."""

    partition: int
    records: int
    first: int
    last: int
    copied: int


@dataclass(frozen=True)
class RedriveReport:
    """The records that were copied, or would be.

    - ``missing``: records of the finding that were deleted between the audit and this run.
    - ``name``: the transactional id and the group with the progress.
    - ``done``: true if they were copied.
    - ``remarks``: what was not verified.
    """

    finding: Finding
    target: str
    partitions: tuple[PartitionRedrive, ...]
    missing: int
    counts: CopyCounts
    name: str
    done: bool
    remarks: tuple[str, ...]

    @property
    def deleted(self) -> int:
        """The records of the finding that are no longer in the log."""
        return self.missing + self.counts.gone

    @property
    def records(self) -> int:
        """The records of the finding that are in the log."""
        return sum(each.records for each in self.partitions) - self.counts.gone
