"""What the scans found out about a partition; plain numbers, so that checks need no Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_HOUR, _DAY = 3_600_000, 86_400_000
BANDS: tuple[int, ...] = (0, _HOUR, 6 * _HOUR, _DAY, 7 * _DAY, 30 * _DAY, 90 * _DAY, 365 * _DAY, 3 * 365 * _DAY)
"""Lower bounds of the age bands in milliseconds; the band before the first lies in the future."""


@dataclass(frozen=True)
class ContentFault:
    """What is wrong with some records of a partition, for one reason.

    ``rule`` is a check's id, or ``expression:<id>``. ``reason`` and ``excerpt`` tell of structure alone, never of
    what a record holds. ``offsets`` are the first few. ``undecided`` where it could not be told: no registry
    answered, an expression does not fit the record.

    ``at_least``: ``count`` is a lower bound. ``at_most``: ``count`` may include records of aborted and open
    transactions. ``unconfirmed``: at most, and no record of it is known to be committed.
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
    """Records with a type of timestamp: how many, and the offset of the last."""

    records: int
    last_offset: int


@dataclass(frozen=True)
class PartitionCounts:
    """What was counted in one partition; ``ages`` by band, from the future to the oldest.

    ``fits``: of ``keys``, how many lie where each of ``algorithms.ALGORITHMS`` puts them today; empty where
    nobody asked. ``hottest``: the records of the key that has most, where keys are counted. ``last_gap``: the last
    offset that was read and holds no record. ``at_most``: asked for committed records alone, the numbers may include
    those of aborted and open transactions.
    """

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
    """Records below the border of what has rolled."""
    cleanable: int = 0
    cleanable_bytes: int = 0
    """Of keys and values, below the same border."""
    clean_bytes_at_most: int = 0
    """Of keys and values, if nothing stood but the largest record of each key."""
    keys_rolled: int = 0
    """Keys with a record below the border; counted where a part of the records is known from before."""
    keys_cleanable: int = 0
    earliest_pair: SupersededPair | None = None
    """Of keys with several records, the one whose last record lies lowest: its first and its last one."""
    deleted: tuple[tuple[int, int], ...] = ()
    """Of keys whose last record is a tombstone, some: the key's hash and the tombstone's offset."""
    risen: tuple[tuple[int, int], ...] = ()
    """Of keys that were remembered as deleted, those whose last record lies below: the hash and that offset."""
    first_superseded: int | None = None
    expired: int = 0
    expired_behind_future: int = 0
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    ages: tuple[int, ...] = (0,) * (len(BANDS) + 1)
    fits: tuple[int, ...] = ()
    hottest: int = 0
    hottest_offset: int | None = None
    hottest_key: int | None = None
    """The 64-bit hash of that key."""
    faults: tuple[ContentFault, ...] = ()
    stamped: Mapping[str, TimestampTypeCount] = field(default_factory=dict)
    last_gap: int | None = None
    at_most: bool = False


@dataclass(frozen=True)
class SupersededPair:
    """A record and the next one of its key, by offset."""

    offset: int
    superseded_by: int
    key: int = 0
    """The 64-bit hash of the key that both have."""
