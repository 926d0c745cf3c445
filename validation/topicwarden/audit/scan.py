"""The one scan: every record of every topic read once, and counted where it is read.

The reader counts records of a compacted topic, and of one with rules for keys, by the hash of their key, all
others by the age band that they fall into (``reader/GroupReader.java``): no record enters Spark. Spark brings the
rows of a key together; a second, small aggregation makes one row for each partition and band of them. What
the reader noticed of records (``reader/Notes.java``) comes along in rows of its own.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from topicwarden.audit.algorithms import ALGORITHMS
from topicwarden.audit.contracts import NO_CONTRACTS, Contracts
from topicwarden.audit.counts import BANDS, Counts, Pair
from topicwarden.audit.horizon import Horizon, PartitionOf
from topicwarden.audit.notes import faults_of, stamped_of
from topicwarden.audit.ranges import Range, pack, read
from topicwarden.kafka.connection import Connection
from topicwarden.kafka.snapshot import LiveTopic

_LEAST_REDUCERS = 4
BLOCK = 8_192
"""Offsets that are counted together, where records are not counted by key."""
BANDS_AT_MOST = 16
_LOTS = 4
"""Into so many lots keys are drawn by their hash, for a sample of those that were deleted."""

Buried = tuple[str, int, int, int]
"""Topic, partition, a key's hash, and the offset of the tombstone that was its last record."""


Totals = dict[str, int | None]
"""What was counted of the groups of one age band of a partition; see ``_totals``."""


class Remembering(Protocol):
    """What is known of records that are not read again."""

    def changed(self, read: DataFrame) -> DataFrame:
        """Takes the groups of what was read; gives them as they are with what was known of the same ones before."""

    def unchanged(
        self, changed: list[Row], totals: Callable[[DataFrame], list[Row]], now: int
    ) -> Mapping[int, list[Totals]]:
        """Totals of everything else, by part; takes those of what changed, and how they are made of groups."""


@dataclass(frozen=True)
class Slice:
    """What is to be read of one partition, and the borders to count by."""

    range: Range
    compacted: bool
    horizon: Horizon
    again: Range | None = None
    """What is read beside it: the rest of a block of which retention took a part."""

    @property
    def place(self) -> PartitionOf:
        return self.range.topic, self.range.partition


def slices(topics: Iterable[LiveTopic], horizons: Mapping[PartitionOf, Horizon]) -> list[Slice]:
    """Every partition that holds anything, as the snapshot saw it."""
    held = [
        (live.topic, partition, extent)
        for live in topics
        for partition, extent in live.extents.items()
        if extent.start < extent.end
    ]
    return [
        Slice(
            Range(number, topic.name, partition, extent.start, extent.end),
            topic.compacted,
            horizons[topic.name, partition],
        )
        for number, (topic, partition, extent) in enumerate(held)
    ]


def scan(
    spark: SparkSession,
    connection: Connection,
    parts: list[Slice],
    now: int,
    contracts: Contracts = NO_CONTRACTS,
    *,
    buried: Iterable[Buried] = (),
    remembering: Remembering | None = None,
    rate: int | None = None,
) -> dict[PartitionOf, Counts]:
    """Reads ``parts`` to the offset, counts, and judges by ``contracts``; ``now`` in milliseconds is what ages are
    measured from. ``buried`` are keys that were seen deleted: whether one has risen again is looked for.
    With ``remembering``, ``parts`` are what is new, and it knows the rest. ``rate`` bounds the bytes a second.
    """
    if not parts:
        return {}
    graves = _graves(spark, parts, buried)
    # A consumer has one position in each partition, so that what is read again has tasks of its own.
    tasks = pack(spark, (part.range for part in parts)) + pack(spark, (part.again for part in parts if part.again))
    # As many reducers as readers: each then holds about the groups of one reader's records.
    spark.conf.set("spark.sql.shuffle.partitions", str(max(len(tasks), _LEAST_REDUCERS)))
    counting = _counting(parts, contracts, now)
    groups = _grouped(read(spark, connection, tasks, contracts=contracts, rate=rate, counting=counting))

    def totals(groups: DataFrame) -> list[Row]:
        if remembering is not None:
            groups = groups.join(F.broadcast(_borders(spark, parts, contracts)), "part")
        return _totals(groups, now, contracts, graves).collect()

    bands: dict[int, list[Totals]] = {}
    if remembering is not None:
        rows = totals(remembering.changed(groups))
        for number, known in remembering.unchanged(rows, totals, now).items():
            bands.setdefault(number, []).extend(known)
    else:
        rows = totals(groups)
    notes: dict[int, list[str]] = {}
    for row in rows:
        if row["note"] is None:
            bands.setdefault(row["part"], []).append(row.asDict())
        else:
            notes.setdefault(row["part"], []).append(row["note"])
    return {
        part.place: _merge(bands[number], notes.get(number, []), contracts.topics.get(part.range.topic, {}).get("late"))
        for part in parts
        if (number := part.range.part) in bands
    }


def _counting(parts: list[Slice], contracts: Contracts, now: int) -> str:
    """How the reader counts; see ``reader/Counting.java``."""
    rules = {"now": now, "bands": BANDS, "block": BLOCK, "bands_at_most": BANDS_AT_MOST}
    return json.dumps({**rules, "parts": _border_rows(parts, contracts)})


def _border_rows(parts: list[Slice], contracts: Contracts) -> list[dict[str, int | bool | None]]:
    """A row a partition; what is None is no border."""
    return [
        {
            "part": part.range.part,
            "by_key": part.compacted or part.range.topic in contracts.by_key,
            "rolled_border": part.horizon.rolled,
            "cleanable_border": part.horizon.cleanable,
            "expired_time": part.horizon.expired_time,
            "future_offset": part.horizon.future_offset,
        }
        for part in parts
    ]


def _borders(spark: SparkSession, parts: list[Slice], contracts: Contracts) -> DataFrame:
    """Made of a literal: what Python hands over row by row would start Python on the executors."""
    schema = "array<struct<part:int,rolled_border:long,cleanable_border:long>>"
    rows = json.dumps(_border_rows(parts, contracts))
    return spark.range(1).select(F.inline(F.from_json(F.lit(rows), schema)))


def _graves(spark: SparkSession, parts: list[Slice], buried: Iterable[Buried]) -> DataFrame | None:
    """A row for each key that was seen deleted, with the offset of its tombstone; None where there are none."""
    numbers = {part.place: part.range.part for part in parts}
    rows = [
        {"part": numbers[topic, partition], "bucket": key, "grave": offset}
        for topic, partition, key, offset in buried
        if (topic, partition) in numbers
    ]
    if not rows:
        return None
    schema = "array<struct<part:int,bucket:long,grave:long>>"
    return spark.range(1).select(F.inline(F.from_json(F.lit(json.dumps(rows)), schema)))


def _grouped(counted: DataFrame) -> DataFrame:
    """One row for each key, or for each age band of a block of offsets, and one for each note."""
    least = ("fits", "first_null_key", "first_empty_value", "first_offset", "first_timestamp")
    greatest = ("largest_record", "last_offset", "last_tombstone", "last_timestamp")
    together = ("part", "note", "keyed", "bucket")
    return counted.groupBy(*together).agg(
        *(
            (F.min if name in least else F.max if name in greatest else F.sum)(name).alias(name)
            for name in counted.columns
            if name not in together
        )
    )


def _totals(groups: DataFrame, now: int, contracts: Contracts, graves: DataFrame | None) -> DataFrame:
    """One row for each partition and age band that occurs, see ``Counts`` for the columns, and one for each note."""
    known = "rolled_border" in groups.columns
    if graves is not None:
        groups = groups.join(F.broadcast(graves), ["part", "bucket"], "left")
    summed = ("records", "payload_bytes", "null_keys", "tombstones", "empty_values")
    bordered = ("rolled", "cleanable", "cleanable_bytes", "expired", "expired_behind_future")
    return groups.groupBy("part", "note", "keyed", _band(F.col("last_timestamp"), now).alias("band")).agg(
        *(F.sum(name).alias(name) for name in (*summed, *bordered)),
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
        *(_below() if known else ()),
        *_deleted(),
        *(_risen() if graves is not None else ()),
        *(_of_keys() if contracts.by_key else ()),
    )


def _of_keys() -> Iterable[Column]:
    """How many keys each algorithm explains, and the key that has most records."""
    for bit, algorithm in enumerate(ALGORITHMS):
        fits = F.shiftright("fits", bit).bitwiseAND(1)
        yield F.sum(F.when(F.col("keyed"), fits).otherwise(0)).alias(algorithm.name)
    yield F.max(F.when(F.col("keyed"), F.col("records"))).alias("hottest")
    yield F.max_by("first_offset", F.when(F.col("keyed"), F.col("records"))).alias("hottest_offset")


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
    for lot in range(_LOTS):
        chosen = (F.col("last_tombstone") == F.col("last_offset")) & (F.pmod("bucket", F.lit(_LOTS)) == lot)
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


def band_of(time: int, now: int) -> int:
    """The age band of a timestamp; see ``_band``."""
    return sum(now - time >= bound for bound in BANDS)


def _band(time: Column, now: int) -> Column:
    """The age band of a timestamp, as a whole number: 0 the future, then by ``BANDS``."""
    age = F.lit(now) - time
    return sum(((age >= bound).cast("long") for bound in BANDS), F.lit(0).cast("long"))


def _merge(bands: list[Totals], notes: list[str], max_late: int | None) -> Counts:
    def known(name: str) -> list[int]:
        return [value for band in bands if (value := band[name]) is not None]

    def total(name: str) -> int:
        return sum(known(name))

    def least(name: str) -> int | None:
        return min(known(name), default=None)

    ages: Counter[int | None] = Counter()
    for band in bands:
        ages[band["band"]] += band["records"] or 0
    by_key = "hottest" in bands[0]
    hottest = max(bands, key=lambda band: band["hottest"] or 0) if by_key else {}
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
        keys_rolled=total("keys_rolled_border") if "keys_rolled_border" in bands[0] else 0,
        keys_cleanable=total("keys_cleanable_border") if "keys_cleanable_border" in bands[0] else 0,
        earliest_pair=_pair(bands),
        deleted=_keys(bands, *((f"deleted_key_{lot}", f"deleted_offset_{lot}") for lot in range(_LOTS))),
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
        if (first := band["pair_first"]) is not None
        and (last := band["pair_last"]) is not None
        and (key := band["pair_key"]) is not None
    ]
    return min(pairs, key=lambda pair: pair.superseded_by, default=None)


def _keys(bands: list[Totals], *names: tuple[str, str]) -> tuple[tuple[int, int], ...]:
    """Hashes of keys, each with an offset, where a band has one."""
    found = ((band.get(key), band.get(offset)) for band in bands for key, offset in names)
    return tuple((key, offset) for key, offset in found if key is not None and offset is not None)
