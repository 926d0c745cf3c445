"""The groups of an audit's scan, kept, so that the next one reads only what is new (``--since last``).

A part holds a row for each key (by its hash) and block of offsets that the audit read, with what it counted of it: what
is known of a key is what all parts tell of it, together. The first part of a partition holds all of it, the later
ones what came to it; they are brought together before they are many, with the first one once they are no small thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from topicwarden.audit.groups import BEFORE, GREATEST, GROUP, LEAST, Counted, Totals
from topicwarden.audit.history.store import Part, Store, literal
from topicwarden.audit.history.totals import KeyTotals
from topicwarden.audit.slices import BANDS_AT_MOST, BLOCK

FOLDER = "keys"
MOST_PARTS = 8
"""Of one partition; then the later ones, or all, become one."""

_MOST_BROADCAST = 2_000_000
"""Offsets that are new; with more, Spark joins as it sees fit."""

_SUMS = ("records", "payload_bytes", "null_keys", "tombstones", "empty_values")
_BORDERED = ("rolled", "cleanable", "cleanable_bytes", "expired", "expired_behind_future")
"""Counted by borders of the moment: of what was read before, they are told by ``Checkpoint``."""

_OF_A_KEY = ("topic_id", "partition", "bucket", "records", "largest_record", "first_offset")
"""What is asked of a key that was known: the rest only adds up, in the totals. Each column read costs as much."""

_COLUMNS = (
    "topic_id string, partition int, note string, bucket long, records long, rolled long, cleanable long, "
    "largest_record int, first_offset long, last_offset long, last_tombstone long, fits int, payload_bytes long, "
    "null_keys long, first_null_key long, tombstones long, empty_values long, first_empty_value long, "
    "cleanable_bytes long, expired long, expired_behind_future long, first_timestamp long, last_timestamp long"
)


@dataclass(frozen=True)
class Held:
    """A partition of the scan: its topic's id, and, where its past is known, the parts that hold it.

    ``read`` is how many records each of them tells of. ``start`` is where its log begins now: blocks that begin before
    are counted anew. ``totals`` are those of its keys.
    """

    topic_id: str
    partition: int
    parts: tuple[str, ...] = ()
    read: tuple[int, ...] = ()
    start: int = 0
    totals: str = ""

    @property
    def kept(self) -> int:
        """How many of the parts, the oldest, stay; the others are brought together with the next one."""
        if len(self.parts) < MOST_PARTS:
            return len(self.parts)
        first, *later = self.read
        return 1 if sum(later) < first // 2 else 0

    def then(self, name: str, read: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """The parts that hold it when ``name`` was added, of ``read`` records, and how many each tells of."""
        if self.kept == len(self.parts):
            return (*self.parts, name), (*self.read, read)
        together = sum(self.read[self.kept :]) + read
        return (*self.parts[: self.kept], _joined(name)), (*self.read[: self.kept], together)


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
        self._few = new <= _MOST_BROADCAST
        self.read: dict[int, int] = {}
        """The records that this audit read itself, by part."""
        self.totals: dict[int, str] = {}
        """Of the keys of each partition, for the next audit."""

    def changed(self, read: DataFrame) -> DataFrame:
        """Writes what the next audit needs; see ``scan.Remembering``."""
        self._write(self._name, read)
        first = {part: one for part, one in self._held.items() if not one.parts}
        groups = [_all_new(self._rows([self._name], first))] if first else []
        if self._known:
            new = self._rows([self._name], self._known)
            buckets = new.where("keyed").select("bucket")
            old = self._old(self._known, F.broadcast(buckets) if self._few else buckets)
            groups.append(_together(new, old).where("not keyed or read > 0"))
        return reduce(DataFrame.unionByName, groups).select(*read.columns, *BEFORE)

    def unchanged(self, changed: list[Totals]) -> Mapping[int, Counted]:
        """Totals of the keys that were known and did not change; see ``scan.Remembering``."""
        self.read = dict.fromkeys(self._held, 0)
        fresh, before = ({part: KeyTotals() for part in self._held} for _ in range(2))
        for one in changed:
            self.read[one.part] += one.read
            fresh[one.part] = fresh[one.part].plus(KeyTotals.lasting(one.keys))
            before[one.part] = before[one.part].plus(KeyTotals(one.before))
        rest = {part: KeyTotals.of(held.totals).without(before[part]) for part, held in self._held.items()}
        self.totals = {part: one.plus(fresh[part]).told() for part, one in rest.items()}
        return {part: rest[part].row() for part in self._known}

    def tidy(self) -> None:
        """Brings together what lies in many parts."""
        many = {
            part: replace(one, parts=one.parts[one.kept :])
            for part, one in self._known.items()
            if one.kept < len(one.parts)
        }
        if many:
            self._write(_joined(self._name), _together(self._rows([self._name], many), self._old(many, None)))

    def _write(self, name: str, groups: DataFrame) -> None:
        rows = groups.join(F.broadcast(self._places(self._held)), "part")
        # Keys and blocks lie apart, as blocks are few and read each time.
        self._spark.conf.set("spark.sql.maxConcurrentOutputFileWriters", "4")
        self._store.write(FOLDER, name, rows.select(*_cast(), "keyed"), apart_by="keyed")

    def _rows(self, names: list[str], places: Mapping[int, Held]) -> DataFrame:
        """All that the parts ``names`` tell of these partitions, with their numbers in this scan."""
        return self._numbered(self._kind(names, True).unionByName(self._kind(names, False)), places)

    def _kind(self, names: list[str], keyed: bool) -> DataFrame:
        parts = [Part(name, 0) for name in names]
        rows = self._store.read(FOLDER, parts, _COLUMNS, f"keyed={str(keyed).lower()}")
        return rows.withColumn("keyed", F.lit(keyed))

    def _old(self, places: Mapping[int, Held], buckets: DataFrame | None) -> DataFrame:
        """What was known of partitions: their blocks, and their keys, or such as may be of ``buckets``."""
        alike: dict[frozenset[int], list[str]] = {}
        for name in sorted({name for one in places.values() for name in one.parts}):
            alike.setdefault(frozenset(part for part, one in places.items() if name in one.parts), []).append(name)
        every = []
        for parts, names in alike.items():
            keys = self._kind(names, True).select(*_OF_A_KEY, "keyed")
            # By one number, which is fast; what else has this number goes when it is brought together.
            keys = keys if buckets is None else keys.join(buckets, "bucket", "left_semi")
            blocks = self._kind(names, False).drop(*_BORDERED)
            held = {part: places[part] for part in parts}
            every.append(self._numbered(blocks.unionByName(keys, allowMissingColumns=True), held, since_start=True))
        return reduce(DataFrame.unionByName, every)

    def _numbered(self, rows: DataFrame, places: Mapping[int, Held], *, since_start: bool = False) -> DataFrame:
        """With the number of the partition in this scan; ``since_start``: without blocks that retention took or cut."""
        numbered = rows.join(F.broadcast(self._places(places)), ["topic_id", "partition"])
        if since_start:
            block = F.floor(F.col("bucket") / BANDS_AT_MOST) * BLOCK
            numbered = numbered.where(F.col("keyed") | F.col("note").isNotNull() | (block >= F.col("log_start")))
        return numbered.drop("topic_id", "partition", "log_start")

    def _places(self, held: Mapping[int, Held]) -> DataFrame:
        rows = [
            {"part": part, "topic_id": one.topic_id, "partition": one.partition, "log_start": one.start}
            for part, one in held.items()
        ]
        return literal(self._spark, rows, "part int, topic_id string, partition int, log_start long")


def _together(new: DataFrame, old: DataFrame) -> DataFrame:
    """What was read, with what was known: a row a group, see ``_was`` for what it tells of before."""
    both = new.withColumn("new", F.lit(True)).unionByName(old.withColumn("new", F.lit(False)), allowMissingColumns=True)
    return both.groupBy(*GROUP).agg(
        *(F.sum(name).alias(name) for name in _SUMS),
        *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in _BORDERED),
        *(F.max(name).alias(name) for name in GREATEST),
        *(F.min(name).alias(name) for name in LEAST),
        *_was(F.col("new")),
    )


def _all_new(read: DataFrame) -> DataFrame:
    """Groups of which nothing was known; see ``scan.Remembering``."""
    nothing = F.lit(None)
    was = {"was_records": nothing.cast("long"), "was_largest_record": nothing.cast("int")}
    return read.withColumns({"read": F.col("records"), **was})


def _was(new: Column) -> Iterable[Column]:
    """What stands beside a group; see ``scan.Remembering``."""
    yield F.coalesce(F.sum(F.when(new, F.col("records"))), F.lit(0)).alias("read")
    yield F.sum(F.when(~new, F.col("records"))).alias("was_records")
    yield F.max(F.when(~new, F.col("largest_record"))).alias("was_largest_record")


def _joined(name: str) -> str:
    return f"{name}-joined"


def _cast() -> Iterable[Column]:
    pairs = (column.strip().split(" ") for column in _COLUMNS.split(","))
    return [F.col(name).cast(kind) for name, kind in pairs]
