"""A rule that all records of a topic meet, and the number of records that it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

RulePath: TypeAlias = tuple[str, ...]
"""The path of a setting below ``contents:``, such as ``("key", "required")``."""

LEAST_RECORDS: Final = 1_000
"""A rule rests on this number of records by default."""


@dataclass(frozen=True)
class InferredRule:
    """A setting below ``contents:`` that the records meet.

    ``evidence``: on how many records it rests, and how many break the next stricter rule, without a value of a record.
    ``value`` None: no rule, only the evidence why there is none. ``doubt``: why it should not be a rule; empty if it
    should.
    """

    path: RulePath
    value: Any
    evidence: str
    doubt: str = ""

    @property
    def holds(self) -> bool:
        """True if it is a rule, and no suggestion."""
        return self.value is not None and not self.doubt


@dataclass(frozen=True)
class InferenceContext:
    """The facts about a topic besides its records, and what a rule needs.

    ``read_at``: the time of the snapshot (ms). ``partition_count``: the partitions of the topic. ``whole``: all
    retained committed records were read. ``producers``: the number of producers that the brokers remember; None if
    unknown. ``late``: the records that are more than ``max_late`` (ms) older than an earlier one, as text; empty
    without any. ``registered``: the format by schema id, of the subject that ``registry`` would use, by part; or why it
    is not known.
    ``records_needed``: what a rule rests on at least. ``shows_values``: values of records may be written.
    """

    read_at: int
    partition_count: int
    whole: bool = True
    producers: int | None = None
    late: str = ""
    registered: Mapping[str, Mapping[int, str] | str] = field(default_factory=dict)
    records_needed: int = LEAST_RECORDS
    shows_values: bool = False

    def doubt(self, records: int) -> str:
        """Return why a rule that rests on ``records`` should only be a comment; empty if it should be a rule."""
        if records < self.records_needed:
            return f"rests on fewer than {self.records_needed:,} records"
        if not self.whole:
            return "rests on the newest records only"
        return "rests on the records of one producer" if self.producers == 1 else ""
