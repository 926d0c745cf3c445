"""The result of reading retained records with a new schema, and the protocol of its readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from topicwarden.model.subject import RegisteredSchema


@dataclass(frozen=True)
class SchemaScan:
    """A scan of the retained keys or values (``part``) of ``topic`` with the schema that readers will have.

    ``references`` are the texts of the schemas that it refers to, by reference name, in dependency order. ``message``
    is the message type of a ``.proto`` file; None for the first. ``subject`` is that of the schema. ``earlier`` are
    other subjects under which readers of the topic may have its records, such as before it was renamed.
    """

    topic: str
    part: str
    subject: str
    schema: RegisteredSchema
    references: Mapping[str, str] = field(default_factory=dict)
    message: str | None = None
    earlier: tuple[str, ...] = ()


@dataclass(frozen=True)
class UnreadablePartition:
    """The unreadable records of one partition: their number, and the first and last of them.

    ``newest`` is the highest timestamp (ms) of any of them; None if it is not known.
    """

    partition: int
    records: int
    first_offset: int
    last_offset: int
    newest: int | None = None


@dataclass(frozen=True)
class Readability:
    """The result of a scan.

    ``retained`` is the number of records that consumers with isolation level ``read_committed`` still get, and
    ``scanned`` how many of them were read: fewer if the scan is a bounded sample of the newest. ``reasons`` are counts
    by reason, such as ``/amount: missing, and the new schema has no default``. ``undecided`` are counts by reason of
    records that could not be judged; 0 if their number is not known. ``unaffected`` are counts by reason of records
    that the new schema does not concern: records of other subjects, and records that consumers cannot read by the
    schema of their writer either. ``error``: nothing could be read; then the other fields mean nothing.

    With a sample, ``retained`` is an upper bound: it counts the offsets of records that were not read.
    """

    topic: str
    part: str
    retained: int = 0
    scanned: int = 0
    partitions: tuple[UnreadablePartition, ...] = ()
    reasons: Mapping[str, int] = field(default_factory=dict)
    undecided: Mapping[str, int] = field(default_factory=dict)
    unaffected: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None

    @property
    def unreadable(self) -> int:
        """The number of scanned records that a reader with the new schema cannot read."""
        return sum(each.records for each in self.partitions)

    @property
    def complete(self) -> bool:
        """True if every retained record was judged."""
        return self.error is None and self.scanned >= self.retained and not self.undecided


class RetainedRecords(Protocol):
    """Reads retained records with new schemas."""

    def read(self, scans: Sequence[SchemaScan]) -> Sequence[Readability]:
        """Return the result of each scan, in the same order. Nothing is raised for a topic that cannot be read."""
        ...
