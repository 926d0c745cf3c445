"""Merge the numbers of records that arrived (``ArrivalCounts.java``) by interval of their timestamps."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable


def arrivals(notes: Iterable[str]) -> tuple[dict[int, int], int]:
    """Return the records of each interval, by its start (ms), and the number of records without an interval.

    ``notes`` are the reader's notes of one partition.
    """
    records: Counter[int | None] = Counter()
    for note in notes:
        if '"arrivals"' in note:
            for _, interval, number in json.loads(note).get("arrivals", ()):
                records[interval] += number
    scattered = records.pop(None, 0)
    return {start: number for start, number in sorted(records.items()) if start is not None}, scattered
