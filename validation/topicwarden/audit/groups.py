"""The rows that the reader gives, of keys and of blocks of offsets, brought together by partition and age band."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from topicwarden.audit.algorithms import ALGORITHMS
from topicwarden.audit.contracts import Contracts
from topicwarden.audit.counts import BANDS

LOTS = 4
"""Into so many lots keys are drawn by their hash, for a sample of those that were deleted."""

GROUP = ("part", "note", "keyed", "bucket")
LEAST = ("fits", "first_null_key", "first_empty_value", "first_offset", "first_timestamp")
GREATEST = ("largest_record", "last_offset", "last_tombstone", "last_timestamp")
"""What tells one group from another, and what is told of two rows of one; the rest adds up."""

Totals = dict[str, int | None]
"""What was counted of the groups of one age band of a partition; see ``totals``."""


def grouped(counted: DataFrame) -> DataFrame:
    """One row for each key, or for each age band of a block of offsets, and one for each note.

    Needed where several tasks read of one partition; where one did, its keys come in one row each.
    """
    return counted.groupBy(*GROUP).agg(
        *(
            (F.min if name in LEAST else F.max if name in GREATEST else F.sum)(name).alias(name)
            for name in counted.columns
            if name not in GROUP
        )
    )


def totals(groups: DataFrame, now: int, contracts: Contracts, graves: DataFrame | None) -> DataFrame:
    """One row for each partition and age band that occurs, see ``Counts`` for the columns, and one for each note."""
    known = "read" in groups.columns
    if graves is not None:
        groups = groups.join(F.broadcast(graves), ["part", "bucket"], "left")
    of_all = (F.sum(F.when(~F.col("keyed"), F.col(name))).alias(name) for name in ("records", "rolled", "cleanable"))
    of_blocks = ("payload_bytes", "null_keys", "tombstones", "empty_values", "cleanable_bytes")
    expired = ("expired", "expired_behind_future")
    return groups.groupBy("part", "note", "keyed", _band(F.col("last_timestamp"), now).alias("band")).agg(
        *of_all,
        *(F.sum(name).alias(name) for name in (*of_blocks, *expired)),
        F.max("largest_record").alias("largest_record"),
        *(F.min(name).alias(name) for name in ("first_null_key", "first_empty_value", "first_timestamp")),
        F.max("last_timestamp").alias("last_timestamp"),
        F.count_if("keyed").alias("keys"),
        _repeats("records").alias("superseded"),
        _repeats("rolled").alias("superseded_rolled"),
        _repeats("cleanable").alias("superseded_cleanable"),
        F.min(F.when(F.col("keyed") & (F.col("records") > 1), F.col("first_offset"))).alias("first_superseded"),
        F.sum(F.when(F.col("keyed"), F.col("largest_record"))).alias("clean_bytes_at_most"),
        *_earliest_pair(),
        *((*_below(), *_before(contracts)) if known else ()),
        *_deleted(),
        *(_risen() if graves is not None else ()),
        *(_of_keys() if contracts.by_key else ()),
    )


def _of_keys() -> Iterable[Column]:
    """How many keys each algorithm explains, and the key that has most records."""
    yield from _explained(F.col("keyed"))
    yield F.max(F.when(F.col("keyed"), F.col("records"))).alias("hottest")
    yield F.max_by("first_offset", F.when(F.col("keyed"), F.col("records"))).alias("hottest_offset")


def _explained(of: Column, prefix: str = "") -> Iterable[Column]:
    for bit, algorithm in enumerate(ALGORITHMS):
        fits = F.shiftright("fits", bit).bitwiseAND(1)
        yield F.sum(F.when(of, fits).otherwise(0)).alias(prefix + algorithm.name)


def _before(contracts: Contracts) -> Iterable[Column]:
    """How many records were read; and of the keys that changed, what had been counted of them before."""
    was = F.col("keyed") & F.col("was_records").isNotNull()
    yield F.sum(F.when(~F.col("keyed"), F.col("read"))).alias("read")
    yield F.count_if(was).alias("before_keys")
    yield F.sum(F.when(was, F.col("was_records") - 1)).alias("before_superseded")
    yield F.sum(F.when(was, F.col("was_largest_record"))).alias("before_clean_bytes_at_most")
    yield from _explained(was, "before_") if contracts.by_key else ()


def _earliest_pair() -> Iterable[Column]:
    """Of keys with several records, the one whose last record lies lowest: its hash, first and last offset."""
    repeated = F.when(F.col("keyed") & (F.col("records") > 1), F.col("last_offset"))
    yield F.min(repeated).alias("pair_last")
    yield F.min_by("first_offset", repeated).alias("pair_first")
    yield F.min_by("bucket", repeated).alias("pair_key")


def _below() -> Iterable[Column]:
    """How many keys have a record below each border: what is known of a key is where its records begin."""
    for border in ("rolled_border", "cleanable_border"):
        yield F.count_if(F.col("keyed") & (F.col("first_offset") < F.col(border))).alias(f"keys_{border}")


def _deleted() -> Iterable[Column]:
    """A few keys whose last record is a tombstone: those with the smallest hash of each lot, and its offset."""
    for lot in range(LOTS):
        chosen = (F.col("last_tombstone") == F.col("last_offset")) & (F.pmod("bucket", F.lit(LOTS)) == lot)
        key = F.when(F.col("keyed") & chosen, F.col("bucket"))
        yield F.min(key).alias(f"deleted_key_{lot}")
        yield F.min_by("last_offset", key).alias(f"deleted_offset_{lot}")


def _risen() -> Iterable[Column]:
    """A key whose last record lies below the tombstone that was seen of it, and where."""
    key = F.when(F.col("keyed") & (F.col("last_offset") < F.col("grave")), F.col("bucket"))
    yield F.min(key).alias("risen_key")
    yield F.min_by("last_offset", key).alias("risen_offset")


def _repeats(name: str) -> Column:
    """Of a key's records the last stands for all: the others are superseded."""
    return F.sum(F.when(F.col("keyed"), F.greatest(F.col(name) - 1, F.lit(0))).otherwise(0))


def _band(time: Column, now: int) -> Column:
    """The age band of a timestamp, as a whole number: 0 the future, then by ``BANDS``."""
    age = F.lit(now) - time
    return sum(((age >= bound).cast("long") for bound in BANDS), F.lit(0).cast("long"))
