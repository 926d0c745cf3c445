"""The counts of a partition as plain numbers, so that checks need no Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from types import MappingProxyType
from typing import Any

_HOUR, _DAY = 3_600_000, 86_400_000
BANDS: tuple[int, ...] = (0, _HOUR, 6 * _HOUR, _DAY, 7 * _DAY, 30 * _DAY, 90 * _DAY, 365 * _DAY, 3 * 365 * _DAY)
"""Lower bounds of the age bands in milliseconds; the band before the first one is for timestamps in the future."""


@dataclass(frozen=True)
class ContentFault:
    """One kind of fault in the records of a partition.

    ``rule``: the id of a check, or ``expression:<id>``. ``reason`` and ``excerpt`` describe structure only, never the
    contents of a record. ``offsets``: the first few offsets. ``undecided``: the records could not be judged, because
    no registry answered or an expression does not fit the record.

    ``at_least``: ``count`` is a lower bound. ``at_most``: ``count`` may include records of aborted and open
    transactions. ``unconfirmed``: like ``at_most``, and none of the records is known to be committed.

    ``last_offset`` and ``newest``, the highest timestamp (ms), are known only of records that a new schema concerns.
    """

    rule: str
    reason: str
    count: int
    offsets: tuple[int, ...]
    excerpt: str = ""
    undecided: bool = False
    at_least: bool = False
    at_most: bool = False
    unconfirmed: bool = False
    last_offset: int | None = None
    newest: int | None = None


@dataclass(frozen=True)
class TimestampTypeCount:
    """The number of records with one timestamp type, and the offset of the last of them."""

    records: int
    last_offset: int


@dataclass(frozen=True)
class SchemaIdCount:
    """The records of a partition whose keys or values (``part``) name the same schema id in Confluent's wire format.

    ``id``: None for records that are not in the wire format. ``others``: the records have several further ids, because
    the reader counts a bounded number of ids one by one. ``invalid``: the records break the declared format or schema.
    ``first``: the offset of the first of them. ``at_most`` and ``unconfirmed`` as in ``ContentFault``.
    """

    part: str
    id: int | None
    records: int
    first: int
    invalid: bool = False
    others: bool = False
    at_most: bool = False
    unconfirmed: bool = False


@dataclass(frozen=True)
class PersonalField:
    """A field that looks like personal data of a ``kind`` (``PersonalData.java``) in a number of records."""

    path: str
    kind: str
    records: int


class Merge(Enum):
    """The operation that combines the numbers of two groups of records."""

    SUM = "sum"
    MIN = "min"
    MAX = "max"

    def of(self, numbers: Iterable[int]) -> int | None:
        """Return the merged number; None if there is none."""
        present = list(numbers)
        if not present:
            return None
        match self:
            case Merge.SUM:
                return sum(present)
            case Merge.MIN:
                return min(present)
            case Merge.MAX:
                return max(present)


@dataclass(frozen=True)
class Metric:
    """One number that the reader counts, under the name of its field in ``PartitionCounts``.

    ``column``: its Spark SQL type among the saved counts of blocks; None if it is counted from keys.
    ``by_border``: it depends on the borders of one audit, such as ``Horizon.rolled``.
    """

    merge: Merge = Merge.SUM
    column: str | None = "long"
    by_border: bool = False


def _metric(default: int | None = 0, **traits: Any) -> Any:
    return field(default=default, metadata={"metric": Metric(**traits)})


@dataclass(frozen=True)
class PartitionCounts:
    """The counts of one partition.

    A number of the reader is declared here once: its column in the history and its merging follow from the metric.
    """

    records: int = _metric()
    payload_bytes: int = _metric()
    largest_record: int = _metric(merge=Merge.MAX, column="int")
    null_keys: int = _metric()
    first_null_key: int | None = _metric(None, merge=Merge.MIN)
    tombstones: int = _metric()
    empty_values: int = _metric()
    first_empty_value: int | None = _metric(None, merge=Merge.MIN)
    keys: int = _metric(column=None)
    superseded: int = _metric(column=None)
    superseded_rolled: int = _metric(column=None)
    superseded_cleanable: int = _metric(column=None)
    rolled: int = _metric(by_border=True)
    """Records before ``Horizon.rolled``."""
    cleanable: int = _metric(by_border=True)
    """Records before ``Horizon.cleanable``."""
    cleanable_bytes: int = _metric(by_border=True)
    """Bytes of keys and values of these records."""
    clean_bytes_at_most: int = _metric(column=None)
    """Bytes of keys and values if only the largest record of each key remained."""
    keys_rolled: int = _metric(column=None)
    """Keys with a record before ``Horizon.rolled``; counted if an earlier audit has read a part of the records."""
    keys_cleanable: int = _metric(column=None)
    """Keys with a record before ``Horizon.cleanable``; counted under the same condition."""
    first_superseded: int | None = _metric(None, merge=Merge.MIN, column=None)
    expired: int = _metric(by_border=True)
    expired_behind_future: int = _metric(by_border=True)
    first_timestamp: int | None = _metric(None, merge=Merge.MIN)
    last_timestamp: int | None = _metric(None, merge=Merge.MAX)
    earliest_pair: SupersededPair | None = None
    """The first and the second record of the key whose second record has the lowest offset.

    A cleaning that covers any record with an earlier record of the same key removes the first record of this pair.
    """
    renewed: SupersededPair | None = None
    """The same among the keys that earlier audits counted: the first known record, and the first new record."""
    deleted: tuple[tuple[int, int], ...] = ()
    """Keys whose last record is a tombstone, by hash, with its offset: the first such tombstone and some others."""
    resurrected: tuple[tuple[int, int], ...] = ()
    """Keys known as deleted whose last record is before the tombstone: the key's hash and that record's offset."""
    ages: tuple[int, ...] = (0,) * (len(BANDS) + 1)
    """Records by age band, from the future to the oldest."""
    undated: int = 0
    """Records without a timestamp (-1). The broker takes the time at which it last wrote to their segment instead."""
    fits: tuple[int, ...] = ()
    """How many of ``keys`` each of ``partitioner_bits.ALGORITHMS`` assigns to this partition; empty if not counted."""
    hottest: int = 0
    """The number of records of the most frequent key; 0 if keys are not counted."""
    hottest_offset: int | None = None
    hottest_key: int | None = None
    """The 64-bit hash of that key."""
    faults: tuple[ContentFault, ...] = ()
    schema_ids: tuple[SchemaIdCount, ...] = ()
    """Counted where the YAML declares the subject of the schemas."""
    arrivals: Mapping[int, int] = field(default_factory=dict)
    """Records by interval of their timestamps (its start in ms), if the YAML declares how many arrive in a period."""
    scattered: int = 0
    """Records that were counted without their interval: the reader counts a bounded number of intervals."""
    personal: tuple[PersonalField, ...] = ()
    """Fields of JSON values that look personal and are not declared so, in a sample of the records."""
    sampled: int = 0
    """The number of records in this sample."""
    timestamp_types: Mapping[str, TimestampTypeCount] = field(default_factory=dict)
    """Counts by Kafka's name of the timestamp type."""
    last_gap: int | None = None
    """The last offset in the read range without a record."""
    at_most: bool = False
    """In counts of committed records: the numbers may include records of aborted and open transactions."""
    unread: str | None = None
    """Why the reader gave up the partition before its end; the counts are then incomplete."""


METRICS = MappingProxyType({each.name: each.metadata["metric"] for each in fields(PartitionCounts) if each.metadata})
"""The metrics by field name, in the order of the fields."""


@dataclass(frozen=True)
class SupersededPair:
    """The offsets of a record and of the next record with the same key."""

    offset: int
    superseded_by: int
    key: int = 0
    """The 64-bit hash of the key that both records have."""
