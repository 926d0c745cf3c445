"""The totals of a partition's age bands, made into its counts."""

from __future__ import annotations

from collections import Counter

from topicwarden.audit.algorithms import ALGORITHMS
from topicwarden.audit.counts import BANDS, Counts, Pair
from topicwarden.audit.groups import LOTS, Totals
from topicwarden.audit.notes import faults_of, stamped_of


def merge(bands: list[Totals], notes: list[str], max_late: int | None) -> Counts:
    """The counts of a partition, of its age bands and of what the reader noticed in it; see ``faults_of``."""

    def known(name: str) -> list[int]:
        return [value for band in bands if (value := band.get(name)) is not None]

    def total(name: str) -> int:
        return sum(known(name))

    def least(name: str) -> int | None:
        return min(known(name), default=None)

    ages: Counter[int | None] = Counter()
    for band in bands:
        ages[band.get("band")] += band.get("records") or 0
    by_key = any("hottest" in band for band in bands)
    hottest = max(bands, key=lambda band: band.get("hottest") or 0)
    return Counts(
        records=total("records"),
        payload_bytes=total("payload_bytes"),
        largest_record=max(known("largest_record"), default=0),
        null_keys=total("null_keys"),
        first_null_key=least("first_null_key"),
        tombstones=total("tombstones"),
        empty_values=total("empty_values"),
        first_empty_value=least("first_empty_value"),
        keys=total("keys"),
        superseded=total("superseded"),
        superseded_rolled=total("superseded_rolled"),
        superseded_cleanable=total("superseded_cleanable"),
        rolled=total("rolled"),
        cleanable=total("cleanable"),
        cleanable_bytes=total("cleanable_bytes"),
        clean_bytes_at_most=total("clean_bytes_at_most"),
        keys_rolled=total("keys_rolled_border"),
        keys_cleanable=total("keys_cleanable_border"),
        earliest_pair=_pair(bands),
        deleted=_keys(bands, *((f"deleted_key_{lot}", f"deleted_offset_{lot}") for lot in range(LOTS))),
        risen=_keys(bands, ("risen_key", "risen_offset")),
        first_superseded=least("first_superseded"),
        expired=total("expired"),
        expired_behind_future=total("expired_behind_future"),
        first_timestamp=least("first_timestamp"),
        last_timestamp=max(known("last_timestamp"), default=None),
        ages=tuple(ages.get(number, 0) for number in range(len(BANDS) + 1)),
        fits=tuple(total(algorithm.name) for algorithm in ALGORITHMS) if by_key else (),
        hottest=hottest.get("hottest") or 0,
        hottest_offset=hottest.get("hottest_offset"),
        faults=faults_of(notes, max_late),
        stamped=stamped_of(notes),
    )


def _pair(bands: list[Totals]) -> Pair | None:
    pairs = [
        Pair(first, last, key)
        for band in bands
        if (first := band.get("pair_first")) is not None
        and (last := band.get("pair_last")) is not None
        and (key := band.get("pair_key")) is not None
    ]
    return min(pairs, key=lambda pair: pair.superseded_by, default=None)


def _keys(bands: list[Totals], *names: tuple[str, str]) -> tuple[tuple[int, int], ...]:
    """Hashes of keys, each with an offset, where a band has one."""
    found = ((band.get(key), band.get(offset)) for band in bands for key, offset in names)
    return tuple((key, offset) for key, offset in found if key is not None and offset is not None)
