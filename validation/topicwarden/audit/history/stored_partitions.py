"""The parts of the history that contain a partition; their number stays small, however many audits there are."""

from __future__ import annotations

from dataclasses import dataclass

MOST_PARTS = 8
"""The most parts of one partition; then the later parts, or all of them, are merged."""


@dataclass(frozen=True)
class StoredPartition:
    """A partition of the scan: its topic's id and, if earlier audits counted it, the parts that contain its counts.

    ``read``: how many records were read for each part. ``start``: the current log start offset, or 0 if it does
    not matter, because records are counted by key. ``totals``: the totals of its keys, as JSON.
    """

    topic_id: str
    partition: int
    parts: tuple[str, ...] = ()
    read: tuple[int, ...] = ()
    start: int = 0
    totals: str = ""

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
