"""The groups of an audit's scan, kept, so that the next one reads only what is new (``--since last``).

A part holds a row for each key (by its hash) or block of offsets that the audit read, as it was then known: a key
that occurs in several parts is as the last of them says. The first part of a partition holds all of it, the later
ones what changed; they are brought together before they are many.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from topicwarden.audit.history.store import Part, Store, literal
from topicwarden.audit.history.totals import HOUR_MS, KeyTotals, key_totals
from topicwarden.audit.scan import BANDS_AT_MOST, BLOCK, Totals

FOLDER = "keys"
MOST_PARTS = 8
"""Of one partition; then all of it is written anew."""

_MOST_BROADCAST = 2_000_000
"""Offsets that are new; with more, Spark joins as it sees fit."""

_SUMS = ("records", "payload_bytes", "null_keys", "tombstones", "empty_values")
_GREATEST = ("largest_record", "last_offset", "last_tombstone", "last_timestamp")
_LEAST = ("first_null_key", "first_empty_value", "first_offset", "first_timestamp", "fits")
_BORDERED = ("rolled", "cleanable", "cleanable_bytes", "expired", "expired_behind_future")
"""Counted by borders of the moment: of what was read before, they are told by ``Checkpoint``."""

_FIELDS = (*_SUMS, *_GREATEST, *_LEAST)
_PLACE = ("topic_id", "partition", "keyed", "bucket")
_COLUMNS = (
    "topic_id string, partition int, note string, bucket long, records long, payload_bytes long, "
    "null_keys long, tombstones long, empty_values long, largest_record int, last_offset long, last_tombstone long, "
    "last_timestamp long, first_null_key long, first_empty_value long, first_offset long, first_timestamp long, "
    "fits int, rolled long, cleanable long, cleanable_bytes long, expired long, expired_behind_future long, "
    "keyed boolean"
)


@dataclass(frozen=True)
class Held:
    """A partition of the scan: its topic's id, and, where its past is known, the parts that hold it.

    ``start`` is where its log begins now: blocks that begin before are counted anew. ``totals`` are those of its keys.
    """

    topic_id: str
    partition: int
    parts: tuple[str, ...] = ()
    start: int = 0
    totals: str = ""

    @property
    def anew(self) -> bool:
        """Whether all of it is to be written into the next part."""
        return len(self.parts) >= MOST_PARTS


class Keys:
    """What is known of the partitions of one scan, by their number in it, and what this audit adds as part ``name``.

    ``new`` is how many offsets are read of what is known otherwise.
    """

    def __init__(self, spark: SparkSession, store: Store, held: Mapping[int, Held], name: str, new: int) -> None:
        self._spark = spark
        self._store = store
        self._held = held
        self._known = {part: one for part, one in held.items() if one.parts}
        self._name = name
        self._small: Callable[[DataFrame], DataFrame] = F.broadcast if new <= _MOST_BROADCAST else _as_it_is
        self._touched: DataFrame | None = None
        self.totals: dict[int, str] = {}
        """Of the keys of each partition, for the next audit."""

    def changed(self, read: DataFrame) -> DataFrame:
        """Writes what the next audit needs; see ``scan.Remembering``."""
        if not self._known:
            return self._written(self._name, read)
        self._written(f"{self._name}-read", read)
        new = self._rows(f"{self._name}-read")
        asked = self._small(new.where("note is null").select(*_PLACE).distinct())
        self._touched = self._lately(True, asked).persist()
        blocks = self._lately(False, None).persist()
        merged = _merged(self._touched.unionByName(blocks.where("note is null")), new)
        rest = blocks.join(asked, list(_PLACE), "left_anti")
        whole = self._whole(asked)
        kept = merged if whole is None else merged.unionByName(whole)
        return self._written(self._name, kept, numbered=True).unionByName(self._numbered(rest, anew=False))

    def unchanged(
        self, changed: list[Row], totals: Callable[[DataFrame], list[Row]], now: int
    ) -> Mapping[int, list[Totals]]:
        """Totals of the keys that were known and did not change; see ``scan.Remembering``."""
        rows = _by_part(row for row in changed if row["keyed"])
        hours = _hours(self._numbered(self._rows(self._name).where("keyed")))
        before = self._touched_totals(totals)
        found: dict[int, list[Totals]] = {}
        for part, held in self._held.items():
            fresh = key_totals(rows.get(part, ()), hours.get(part, {}))
            if held.parts and not held.anew:
                rest = KeyTotals.of(held.totals).without(before.get(part, KeyTotals()))
                if rest.counted:
                    found[part] = rest.bands(now)
                fresh = rest.plus(fresh)
            self.totals[part] = fresh.told(now)
        return found

    def read_records(self) -> int:
        """The records that this audit read itself."""
        name = f"{self._name}-read" if self._known else self._name
        (row,) = self._rows(name).where("note is null").agg(F.sum("records").alias("records")).collect()
        return int(row["records"] or 0)

    def tidy(self) -> None:
        """Takes away what only this audit needed."""
        if self._known:
            self._spark.catalog.clearCache()
            self._store.delete(FOLDER, Part(f"{self._name}-read", 0))

    def _touched_totals(self, totals: Callable[[DataFrame], list[Row]]) -> dict[int, KeyTotals]:
        if self._touched is None:
            return {}
        old = self._numbered(self._touched, anew=False)
        hours = _hours(old)
        return {part: key_totals(rows, hours.get(part, {})) for part, rows in _by_part(totals(old)).items()}

    def _written(self, name: str, groups: DataFrame, *, numbered: bool = False) -> DataFrame:
        rows = groups
        if not numbered:
            fits = [] if "fits" in groups.columns else [F.lit(None).cast("int").alias("fits")]
            rows = groups.select("*", *fits).join(F.broadcast(self._places(self._held)), "part")
        # Keys and blocks lie apart, as blocks are few and read each time.
        self._spark.conf.set("spark.sql.maxConcurrentOutputFileWriters", "4")
        self._store.write(FOLDER, name, rows.select(*_cast()), apart_by="keyed")
        return self._numbered(self._rows(name))

    def _rows(self, name: str) -> DataFrame:
        return self._store.read(FOLDER, [Part(name, 0)], _COLUMNS)

    def _lately(self, keyed: bool, asked: DataFrame | None) -> DataFrame:
        """What the parts tell of keys (those that are ``asked`` for) or blocks: of each, what the last one tells."""
        lists = [
            {"topic_id": one.topic_id, "partition": one.partition, "name": name, "age": age, "log_start": one.start}
            for one in self._known.values()
            for age, name in enumerate(one.parts)
        ]
        wanted = literal(self._spark, lists, "topic_id string, partition int, name string, age int, log_start long")
        every = []
        for name in sorted({name for one in self._known.values() for name in one.parts}):
            rows = self._rows(name).where(F.col("keyed") == keyed)
            rows = rows if asked is None else _those(rows, asked)
            every.append(rows.withColumn("name", F.lit(name)))
        rows = reduce(DataFrame.unionByName, every).join(F.broadcast(wanted), ["topic_id", "partition", "name"])
        if not keyed:
            block = F.floor(F.col("bucket") / BANDS_AT_MOST) * BLOCK
            rows = rows.where(F.col("note").isNotNull() | (block >= F.col("log_start")))
        rows = rows.drop("name", "log_start").withColumns({name: F.lit(0).cast("long") for name in _BORDERED})
        if all(len(one.parts) == 1 for one in self._known.values()):
            return rows.drop("age")
        fields = [name for name in rows.columns if name not in (*_PLACE, "note", "age")]
        # A note stands for itself: each is of a reading of its own.
        own = F.when(F.col("note").isNotNull(), F.col("age")).alias("own")
        latest = rows.groupBy(*_PLACE, "note", own).agg(F.max_by(F.struct(*fields), "age").alias("row"))
        return latest.select(*_PLACE, "note", "row.*")

    def _whole(self, changed: DataFrame) -> DataFrame | None:
        """Everything else of partitions that are written anew; None where there is none."""
        anew = {part: one for part, one in self._known.items() if one.anew}
        if not anew:
            return None
        places = F.broadcast(self._places(anew).drop("part"))
        rows = self._lately(True, None).unionByName(self._lately(False, None)).join(places, ["topic_id", "partition"])
        return rows.join(changed, list(_PLACE), "left_anti")

    def _numbered(self, rows: DataFrame, *, anew: bool = True) -> DataFrame:
        """With the number of the partition in this scan; ``anew``: also of those that are written anew."""
        held = self._held if anew else {part: one for part, one in self._held.items() if not one.anew}
        return rows.join(F.broadcast(self._places(held)), ["topic_id", "partition"]).drop("topic_id", "partition")

    def _places(self, held: Mapping[int, Held]) -> DataFrame:
        rows = [{"part": part, "topic_id": one.topic_id, "partition": one.partition} for part, one in held.items()]
        return literal(self._spark, rows, "part int, topic_id string, partition int")


def _merged(old: DataFrame, read: DataFrame) -> DataFrame:
    """What was read, with what was known of the same keys and blocks; both are small, or Spark makes them so."""
    before = old.select(*_PLACE, *(F.col(name).alias(f"old_{name}") for name in _FIELDS))
    new = read.where("note is null").join(before, list(_PLACE), "left")
    fields: dict[str, Column] = {name: F.col(name) + F.coalesce(f"old_{name}", F.lit(0)) for name in _SUMS}
    fields |= {name: F.greatest(name, f"old_{name}") for name in _GREATEST}
    fields |= {name: F.least(name, f"old_{name}") for name in _LEAST}
    merged = new.withColumns(fields).drop(*(f"old_{name}" for name in _FIELDS))
    return merged.unionByName(read.where("note is not null"))


def _those(rows: DataFrame, asked: DataFrame) -> DataFrame:
    """The rows that are asked for: found by one number each, which is fast, and then by what it stands for."""
    number = F.xxhash64("topic_id", "partition", "bucket").alias("number")
    likely = rows.select("*", number).join(F.broadcast(asked.select(number)), "number", "left_semi").drop("number")
    return likely.join(asked, list(_PLACE), "left_semi")


def _by_part(rows: object) -> dict[int, list[Totals]]:
    found: dict[int, list[Totals]] = {}
    for row in rows:  # type: ignore[attr-defined]
        found.setdefault(row["part"], []).append(row.asDict())
    return found


def _hours(rows: DataFrame) -> dict[int, dict[int, int]]:
    """By partition: how many records there are of keys whose last record is of an hour."""
    hour = F.floor(F.col("last_timestamp") / HOUR_MS).alias("hour")
    found: dict[int, dict[int, int]] = {}
    for row in rows.groupBy("part", hour).agg(F.sum("records").alias("records")).collect():
        found.setdefault(row["part"], {})[row["hour"]] = row["records"]
    return found


def _cast() -> list[Column]:
    pairs = (column.strip().split(" ") for column in _COLUMNS.split(","))
    return [F.col(name).cast(kind) for name, kind in pairs]


def _as_it_is(rows: DataFrame) -> DataFrame:
    return rows
