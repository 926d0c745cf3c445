"""The counts of a partition as plain numbers, so that checks need no Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

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


@dataclass(frozen=True)
class TimestampTypeCount:
    """The number of records with one timestamp type, and the offset of the last of them."""

    records: int
    last_offset: int


@dataclass(frozen=True)
class PartitionCounts:
    """The counts of one partition."""

    records: int = 0
    payload_bytes: int = 0
    largest_record: int = 0
    null_keys: int = 0
    first_null_key: int | None = None
    tombstones: int = 0
    empty_values: int = 0
    first_empty_value: int | None = None
    keys: int = 0
    superseded: int = 0
    superseded_rolled: int = 0
    superseded_cleanable: int = 0
    rolled: int = 0
    """Records before ``Horizon.rolled``."""
    cleanable: int = 0
    """Records before ``Horizon.cleanable``."""
    cleanable_bytes: int = 0
    """Bytes of keys and values of these records."""
    clean_bytes_at_most: int = 0
    """Bytes of keys and values if only the largest record of each key remained."""
    keys_rolled: int = 0
    """Keys with a record before ``Horizon.rolled``; counted if an earlier audit has read a part of the records."""
    keys_cleanable: int = 0
    """Keys with a record before ``Horizon.cleanable``; counted under the same condition."""
    earliest_pair: SupersededPair | None = None
    """The first and the last record of the key whose last record has the lowest offset, among keys with several."""
    deleted: tuple[tuple[int, int], ...] = ()
    """Some keys whose last record is a tombstone: the key's hash and the offset of the tombstone."""
    resurrected: tuple[tuple[int, int], ...] = ()
    """Keys known as deleted whose last record is before the tombstone: the key's hash and that record's offset."""
    first_superseded: int | None = None
    expired: int = 0
    expired_behind_future: int = 0
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    ages: tuple[int, ...] = (0,) * (len(BANDS) + 1)
    """Records by age band, from the future to the oldest."""
    fits: tuple[int, ...] = ()
    """How many of ``keys`` each of ``partitioner_bits.ALGORITHMS`` assigns to this partition; empty if not counted."""
    hottest: int = 0
    """The number of records of the most frequent key; 0 if keys are not counted."""
    hottest_offset: int | None = None
    hottest_key: int | None = None
    """The 64-bit hash of that key."""
    faults: tuple[ContentFault, ...] = ()
    timestamp_types: Mapping[str, TimestampTypeCount] = field(default_factory=dict)
    """Counts by Kafka's name of the timestamp type."""
    last_gap: int | None = None
    """The last offset in the read range without a record."""
    at_most: bool = False
    """In counts of committed records: the numbers may include records of aborted and open transactions."""


@dataclass(frozen=True)
class SupersededPair:
    """The offsets of a record and of the next record with the same key."""

    offset: int
    superseded_by: int
    key: int = 0
    """The 64-bit hash of the key that both records have."""
