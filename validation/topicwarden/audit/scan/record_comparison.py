"""The result of a comparison of records: plain values, without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter

from topicwarden.audit.scan.counts import ContentFault


@dataclass(frozen=True)
class BrokenRule:
    """The records of one partition that break a rule, and the first of them, with the earlier record that it repeats.

    A reference to a key that no record has comes with no other record. ``confirmed``: the records were read again, and
    break the rule. ``resent``: they have the same bytes and timestamp. ``identity``: the 64-bit hash that they share.
    """

    records: int
    offset: int
    other_partition: int | None = None
    other_offset: int | None = None
    identity: int = 0
    confirmed: bool = False
    resent: bool = False

    def plus(self, others: BrokenRule) -> BrokenRule:
        """Return the records of both, with the first of all."""
        return replace(min(self, others, key=attrgetter("offset")), records=self.records + others.records)


@dataclass(frozen=True)
class ComparedRecords:
    """The result of one rule: how many records it judged, and those that break it, by partition.

    ``moved_keys``: pairs of a key and a further partition with records of the key. ``unjudged``: the records that have
    no value to compare, by reason. ``unread``: why partitions could not be read to the end.

    Of references only: ``young`` records refer to a key that no record has, and are not judged yet; ``deleted`` records
    refer to a key whose last record is a tombstone. ``incomplete``: why the keys that were read need not be all.
    """

    judged: int = 0
    broken: Mapping[int, BrokenRule] = field(default_factory=dict)
    moved_keys: int = 0
    unjudged: tuple[ContentFault, ...] = ()
    unread: Mapping[int, str] = field(default_factory=dict)
    young: int = 0
    deleted: int = 0
    incomplete: str | None = None
