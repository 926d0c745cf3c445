"""The parts of the history that hold a partition: few, however often it is audited."""

from __future__ import annotations

from dataclasses import dataclass

MOST_PARTS = 8
"""Of one partition; then the later ones, or all, become one."""


@dataclass(frozen=True)
class StoredPartition:
    """A partition of the scan: its topic's id, and, where its past is known, the parts that hold it.

    ``read`` is how many records each of them tells of. ``start`` is where its log begins now: blocks that begin before
    are counted anew. ``totals`` are those of its keys.
    """

    topic_id: str
    partition: int
    parts: tuple[str, ...] = ()
    read: tuple[int, ...] = ()
    start: int = 0
    totals: str = ""

    @property
    def kept(self) -> int:
        """How many of the parts, the oldest, stay; the others are brought together with the next one."""
        if len(self.parts) < MOST_PARTS:
            return len(self.parts)
        first, *later = self.read
        return 1 if sum(later) < first // 2 else 0

    def then(self, name: str, read: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """The parts that hold it when ``name`` was added, of ``read`` records, and how many each tells of."""
        if self.kept == len(self.parts):
            return (*self.parts, name), (*self.read, read)
        together = sum(self.read[self.kept :]) + read
        return (*self.parts[: self.kept], joined(name)), (*self.read[: self.kept], together)


def joined(name: str) -> str:
    """The name of the part in which others are brought together by the audit that adds ``name``."""
    return f"{name}-joined"
