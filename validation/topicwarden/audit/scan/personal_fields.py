"""Merge the fields that look like personal data (``PersonalFields.java``)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from topicwarden.audit.scan.counts import PersonalField


def personal_fields(notes: Iterable[str]) -> tuple[tuple[PersonalField, ...], int]:
    """Return the fields by path and kind, and the number of records that the reader looked at.

    ``notes`` are the reader's notes of one partition.
    """
    found: Counter[tuple[str, str] | None] = Counter()
    for note in notes:
        if '"personal"' in note:
            for _, path, kind, records in json.loads(note).get("personal", ()):
                found[None if path is None else (path, kind)] += records
    sampled = found.pop(None, 0)
    fields = (PersonalField(*key, records) for key, records in found.items() if key is not None)
    return tuple(sorted(fields, key=lambda field: (field.path, field.kind))), sampled
