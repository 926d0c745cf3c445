"""The totals that the reader reports for the offset ranges of a partition."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from topicwarden.audit.scan.reader_notes import Note

Counted = dict[str, int]
"""Counts by the field names of ``PartitionCounts``; a count is absent if there is nothing to count."""


@dataclass(frozen=True)
class RangeTotals:
    """The totals that one task reports for the partition with the number ``part`` in the scan.

    ``bands``: the counts of each age band. ``notes``: the reader's notes on the records. ``keys``: the counts of the
    keys. ``before``: what earlier audits had counted for the same keys. ``read``: the records that this audit read, if
    blocks of earlier audits are added.
    """

    part: int
    bands: list[Counted]
    notes: list[Note]
    keys: Counted = field(default_factory=dict)
    before: Counted = field(default_factory=dict)
    read: int = 0

    @staticmethod
    def from_json(text: str) -> RangeTotals:
        """Return the totals that ``PartitionTotals.java`` wrote as ``text``."""
        totals: dict[str, Any] = json.loads(text)
        keys = totals.pop("keys", {})
        notes = [json.loads(note) for note in totals.pop("notes")]
        return RangeTotals(**totals, notes=notes, keys=keys, before=keys.pop("before", {}))
