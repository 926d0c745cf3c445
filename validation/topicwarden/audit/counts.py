"""What the scans found out about a partition; plain numbers, so that checks need no Spark."""

from __future__ import annotations

from dataclasses import dataclass

_HOUR, _DAY = 3_600_000, 86_400_000
BANDS: tuple[int, ...] = (0, _HOUR, 6 * _HOUR, _DAY, 7 * _DAY, 30 * _DAY, 90 * _DAY, 365 * _DAY, 3 * 365 * _DAY)
"""Lower bounds of the age bands in milliseconds; the band before the first lies in the future."""


@dataclass(frozen=True)
class Counts:
    """What was counted in one partition; ``ages`` by band, from the future to the oldest."""

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
    cleanable: int = 0
    first_superseded: int | None = None
    expired: int = 0
    expired_behind_future: int = 0
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    ages: tuple[int, ...] = (0,) * (len(BANDS) + 1)


@dataclass(frozen=True)
class Pair:
    """A record and the next one of its key, by offset."""

    offset: int
    superseded_by: int
