"""The totals of a partition's age bands, made into its counts."""

from __future__ import annotations

from collections import Counter

from topicwarden.audit.algorithms import ALGORITHMS
from topicwarden.audit.counts import BANDS, Counts, Pair
from topicwarden.audit.groups import Counted
from topicwarden.audit.notes import faults_of, last_gap_of, stamped_of

_LOTS = 4
"""Of ``counting/KeyTotals.java``: each gives one key that was deleted."""


def merge(told: list[Counted], notes: list[str], max_late: int | None) -> Counts:
    """The counts of a partition, of what was told of its age bands and of its keys, and of what the reader noticed in
    it; see ``faults_of``.
    """

    def known(name: str) -> list[int]:
        return [one[name] for one in told if name in one]

    def total(name: str) -> int:
        return sum(known(name))

    def least(name: str) -> int | None:
        return min(known(name), default=None)

    ages: Counter[int | None] = Counter()
    for one in told:
        ages[one.get("band")] += one.get("records", 0)
    by_key = any("hottest" in one for one in told)
    hottest = max(told, key=heat)
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
        keys_rolled=total("keys_rolled"),
        keys_cleanable=total("keys_cleanable"),
        earliest_pair=_pair(told),
        deleted=_keys(told, *((f"deleted_key_{lot}", f"deleted_offset_{lot}") for lot in range(_LOTS))),
        risen=_keys(told, ("risen_key", "risen_offset")),
        first_superseded=least("first_superseded"),
        expired=total("expired"),
        expired_behind_future=total("expired_behind_future"),
        first_timestamp=least("first_timestamp"),
        last_timestamp=max(known("last_timestamp"), default=None),
        ages=tuple(ages.get(number, 0) for number in range(len(BANDS) + 1)),
        fits=tuple(total(algorithm.name) for algorithm in ALGORITHMS) if by_key else (),
        hottest=hottest.get("hottest", 0),
        hottest_offset=hottest.get("hottest_offset"),
        hottest_key=hottest.get("hottest_key"),
        faults=faults_of(notes, max_late),
        stamped=stamped_of(notes),
        last_gap=last_gap_of(notes),
    )


def heat(keys: Counted) -> tuple[int, int]:
    """What the hottest key is told by: of those with as many records, it is the one that comes first."""
    return keys.get("hottest", 0), -keys.get("hottest_offset", 0)


def _pair(told: list[Counted]) -> Pair | None:
    pairs = [Pair(one["pair_first"], one["pair_last"], one["pair_key"]) for one in told if "pair_last" in one]
    return min(pairs, key=lambda pair: pair.superseded_by, default=None)


def _keys(told: list[Counted], *names: tuple[str, str]) -> tuple[tuple[int, int], ...]:
    """Hashes of keys, each with an offset: of each pair of names the least hash, where there is one."""
    found = (min(((one[key], one[offset]) for one in told if key in one), default=None) for key, offset in names)
    return tuple(one for one in found if one is not None)
