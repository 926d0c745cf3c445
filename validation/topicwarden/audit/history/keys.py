"""The groups of an audit's scan, kept, so that the next one reads only what is new (``--since last``).

A part holds a row for each key (by its hash) and block of offsets that the audit read, with what it counted of it: what
is known of a key is what all parts tell of it, together. The first part of a partition holds all of it, the later
ones what came to it; they are brought together before they are many, with the first one once they are no small thing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from topicwarden.audit.groups import GROUP, Totals, added_up, grouped
from topicwarden.audit.history.held import Held, joined
from topicwarden.audit.history.store import Part, Store, literal
from topicwarden.audit.history.totals import KeyTotals
from topicwarden.audit.slices import BANDS_AT_MOST, BLOCK

FOLDER = "keys"
MOST_LOOKED_FOR = 1_000_000
"""Keys at a time, as they are held in memory."""

_BORDERED = ("rolled", "cleanable", "cleanable_bytes", "expired", "expired_behind_future")
"""Counted by borders of the moment: of what was read before, they are told by ``Checkpoint``."""

_KNOWN = "topic_id string, partition int, bucket long, records long, largest_record int, first_offset long"
_ASKED = ("records", "largest_record", "first_offset")
_READ = f"{_KNOWN}, rolled long, cleanable long, last_offset long, last_tombstone long, fits int"
"""What is asked of keys that were known, and of those that were read, as ``counting/KeyBatch.java`` takes them."""

_COLUMNS = (
    "topic_id string, partition int, note string, bucket long, records long, rolled long, cleanable long, "
    "largest_record int, first_offset long, last_offset long, last_tombstone long, fits int, payload_bytes long, "
    "null_keys long, first_null_key long, tombstones long, empty_values long, first_empty_value long, "
    "cleanable_bytes long, expired long, expired_behind_future long, first_timestamp long, last_timestamp long"
)


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
        self._lots = max(1, -(-new // MOST_LOOKED_FOR))
        self.read: dict[int, int] = {}
        """The records that this audit read itself, by part."""
        self.totals: dict[int, str] = {}
        """Of the keys of each partition, for the next audit."""

    def totalled(self, read: DataFrame, cut: Collection[int], counting: str) -> list[Totals]:
        """Writes what the next audit needs; see ``scan.Remembering``."""
        self._write(self._name, read)
        told = self._added_up(self._blocks(read.columns), counting)
        keys = self._files([self._name], _READ, keyed=True)
        if keys is not None:
            whole = {part: one for part, one in self._held.items() if not one.parts and part not in cut}
            told += _told(self._lookup.totalsOfNewKeys(keys._jdf, _numbers(whole), counting)) if whole else []
            shared = {
                part: replace(one, parts=(self._name,))
                for part, one in self._held.items()
                if not one.parts and part in cut
            }
            if shared:
                told += self._added_up(grouped(self._rows(shared, keyed=True).select(read.columns)), counting)
            for lot in range(self._lots if self._known else 0):
                told += self._found(keys, counting, lot)
        return told + self._unchanged(told)

    def _added_up(self, groups: DataFrame, counting: str) -> list[Totals]:
        return [Totals.of(row[0]) for row in added_up(self._spark, groups, counting).collect()]

    def _found(self, read: DataFrame, counting: str, lot: int) -> list[Totals]:
        """Of a lot of the keys that were read of known partitions, with what was known of them."""
        lookup = self._lookup(read._jdf, _numbers(self._known), counting, lot, self._lots)
        for parts, names in _alike(self._known):
            known = self._files(names, _KNOWN, keyed=True)
            if known is not None:
                lookup.find(known._jdf, _numbers({part: self._known[part] for part in parts}))
        return _told(lookup.totals())

    @property
    def _lookup(self) -> Any:
        jvm: Any = self._spark._jvm
        return jvm.io.topicwarden.reader.counting.KeyLookup

    def _unchanged(self, changed: list[Totals]) -> list[Totals]:
        """Of the keys that were known and did not change."""
        self.read = dict.fromkeys(self._held, 0)
        fresh, before = ({part: KeyTotals() for part in self._held} for _ in range(2))
        for one in changed:
            self.read[one.part] += one.read
            fresh[one.part] = fresh[one.part].plus(KeyTotals.lasting(one.keys))
            before[one.part] = before[one.part].plus(KeyTotals(one.before))
        rest = {part: KeyTotals.of(held.totals).without(before[part]) for part, held in self._held.items()}
        self.totals = {part: one.plus(fresh[part]).told() for part, one in rest.items()}
        return [Totals(part, 0, [], [], rest[part].row()) for part in self._known]

    def tidy(self) -> None:
        """Brings together what lies in many parts."""
        many = {
            part: replace(one, parts=(*one.parts[one.kept :], self._name))
            for part, one in self._known.items()
            if one.kept < len(one.parts)
        }
        if many:
            keys = self._rows(many, keyed=True).select(*GROUP, *_ASKED)
            groups = grouped(keys).unionByName(grouped(self._rows(many, keyed=False)), allowMissingColumns=True)
            self._write(joined(self._name), groups)

    def _write(self, name: str, groups: DataFrame) -> None:
        rows = groups.join(F.broadcast(self._places(self._held)), "part")
        # Keys and blocks lie apart, as blocks are few and read each time.
        self._spark.conf.set("spark.sql.maxConcurrentOutputFileWriters", "4")
        self._store.write(FOLDER, name, rows.select(*_cast(), "keyed"), apart_by="keyed")

    def _blocks(self, columns: Iterable[str]) -> DataFrame:
        """Blocks and notes, of this audit and of those before it, and how many of their records were ``read`` now."""
        new = {part: replace(one, parts=(self._name,), start=0) for part, one in self._held.items()}
        blocks = self._rows(new, keyed=False).withColumn("read", F.col("records"))
        if self._known:
            nothing = {name: F.lit(0).cast("long") for name in (*_BORDERED, "read")}
            blocks = blocks.unionByName(self._rows(self._known, keyed=False).withColumns(nothing))
        return blocks.select(*columns, "read")

    def _rows(self, places: Mapping[int, Held], *, keyed: bool) -> DataFrame:
        """What is held of these partitions, with their numbers in this scan; no block that retention took or cut."""
        every = []
        for parts, names in _alike(places):
            held = self._files(names, _COLUMNS, keyed=keyed)
            rows = literal(self._spark, [], _COLUMNS) if held is None else held
            numbers = self._places({part: places[part] for part in parts})
            rows = rows.withColumn("keyed", F.lit(keyed)).join(F.broadcast(numbers), ["topic_id", "partition"])
            block = F.floor(F.col("bucket") / BANDS_AT_MOST) * BLOCK
            stands = F.col("keyed") | F.col("note").isNotNull() | (block >= F.col("log_start"))
            every.append(rows.where(stands).drop("topic_id", "partition", "log_start"))
        return reduce(DataFrame.unionByName, every)

    def _files(self, names: list[str], columns: str, *, keyed: bool) -> DataFrame | None:
        """What the parts ``names`` hold of keys, or of blocks; None where none of them holds any."""
        folder = f"keyed={str(keyed).lower()}"
        held = [Part(name, 0) for name in names if self._store.has(FOLDER, name, folder)]
        return self._store.read(FOLDER, held, columns, folder) if held else None

    def _places(self, held: Mapping[int, Held]) -> DataFrame:
        rows = [
            {"part": part, "topic_id": one.topic_id, "partition": one.partition, "log_start": one.start}
            for part, one in held.items()
        ]
        return literal(self._spark, rows, "part int, topic_id string, partition int, log_start long")


def _alike(places: Mapping[int, Held]) -> list[tuple[frozenset[int], list[str]]]:
    """Partitions that lie in the same parts, with these."""
    alike: dict[frozenset[int], list[str]] = {}
    for name in sorted({name for one in places.values() for name in one.parts}):
        alike.setdefault(frozenset(part for part, one in places.items() if name in one.parts), []).append(name)
    return list(alike.items())


def _numbers(places: Mapping[int, Held]) -> str:
    """As ``counting/PartitionIds.java`` takes it."""
    return json.dumps([[one.topic_id, one.partition, part] for part, one in places.items()])


def _told(lines: str) -> list[Totals]:
    return [Totals.of(line) for line in lines.splitlines()]


def _cast() -> Iterable[Column]:
    pairs = (column.strip().split(" ") for column in _COLUMNS.split(","))
    return [F.col(name).cast(kind) for name, kind in pairs]
