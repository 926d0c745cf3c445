"""Save the groups of an audit's scan, so that the next audit only reads new records (``--since last``).

A part of the history has a row of counts for each key, identified by its hash, and for each block of offsets. The
counts of a key are the sum over all parts. The first part of a partition has the counts of all records at that time;
later parts have those of newer records. Later parts are merged before there are many. Once they are large, the first
part is merged, too.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from topicwarden.audit.history.store import HistoryPart, HistoryStore
from topicwarden.audit.history.stored_partitions import StoredPartition, merged_name
from topicwarden.audit.scan.aggregate import GROUP, Counted, RangeTotals, add_up, merge_groups
from topicwarden.audit.scan.counts import METRICS
from topicwarden.audit.scan.literal_rows import literal
from topicwarden.audit.scan.merge import hottest_rank
from topicwarden.audit.scan.partition_reads import BANDS_AT_MOST, BLOCK
from topicwarden.audit.scan.partitioner_bits import ALGORITHMS

_ADDED = ("keys", "superseded", "clean_bytes_at_most", *(algorithm.name for algorithm in ALGORITHMS))
_PAIR = ("pair_second", "pair_first", "pair_key")
_HOTTEST = ("hottest", "hottest_offset", "hottest_key")


FOLDER = "keys"
MOST_LOOKED_UP = 1_000_000
"""The number of keys that are looked up at a time, because these keys are kept in memory."""
_BY_BORDER = tuple(name for name, metric in METRICS.items() if metric.by_border)
"""Counts by the borders of one audit; for records of earlier audits, ``Checkpoint`` has these counts."""
_KNOWN_COUNTS = ("records", "largest_record", "first_offset")
"""The counts that are needed of a known key; merged parts only keep these."""
_KNOWN_KEY = "topic_id string, partition int, bucket long, records long, largest_record int, first_offset long"
_READ_KEY = (
    f"{_KNOWN_KEY}, rolled long, cleanable long, last_offset long, last_tombstone long, fits int, second_offset long"
)
"""The columns of known keys and of keys that were read, in the order of ``KeyBatch.java``."""
_COLUMNS = ", ".join(
    (
        "topic_id string, partition int, note string, bucket long",
        "first_offset long, second_offset long, last_offset long, last_tombstone long, fits int",
        *(f"{name} {metric.column}" for name, metric in METRICS.items() if metric.column),
    )
)


@dataclass(frozen=True)
class KeyTotals:
    """The counts of ``KeyTotals.java`` that do not depend on the time of the audit, of all keys of a partition.

    Each audit updates them without reading every key again. While nothing is cleaned or deleted, the counts of a key
    only grow, and a key with new records is counted again. So the new totals are the old totals, minus the old counts
    of the changed keys, plus their new counts.
    """

    counted: Counted = field(default_factory=dict)

    @staticmethod
    def from_json(text: str) -> KeyTotals:
        return KeyTotals(json.loads(text)) if text else KeyTotals()

    @staticmethod
    def time_independent(keys: Counted) -> KeyTotals:
        """Return the totals among the reader's counts that do not depend on the time of the audit."""
        names = {*_ADDED, *_PAIR, *_HOTTEST, "first_superseded"}
        return KeyTotals({name: number for name, number in keys.items() if name in names})

    def to_json(self) -> str:
        return json.dumps(self.counted)

    def row(self) -> Counted:
        """Return the counts as the reader reports them, for keys with a record before every border."""
        keys = self.counted.get("keys", 0)
        return {**self.counted, "keys_rolled": keys, "keys_cleanable": keys}

    def without(self, changed: KeyTotals) -> KeyTotals:
        """Return the totals minus the counts of ``changed`` keys.

        Minima and maxima stay, because none of these keys has been removed.
        """
        remaining = {name: self.counted.get(name, 0) - number for name, number in changed.counted.items()}
        return KeyTotals({**self.counted, **remaining})

    def plus(self, more: KeyTotals) -> KeyTotals:
        """Return the totals plus the counts of other keys."""
        both = self.counted, more.counted
        sums = {
            name: sum(counted.get(name, 0) for counted in both)
            for name in _ADDED
            if any(name in counted for counted in both)
        }
        superseded = [counted["first_superseded"] for counted in both if "first_superseded" in counted]
        earlier = min(both, key=lambda counted: counted.get("pair_second", float("inf")))
        hotter = max(both, key=hottest_rank)
        pair = {name: earlier[name] for name in _PAIR if name in earlier}
        hottest = {name: hotter[name] for name in _HOTTEST if name in hotter}
        least = {"first_superseded": min(superseded)} if superseded else {}
        return KeyTotals({**sums, **least, **pair, **hottest})


class KeyStore:
    """The saved counts of the partitions of one scan, and the part ``name`` that this audit adds.

    ``stored``: the partitions by their number in the scan. ``new_offsets``: how many offsets of partitions that earlier
    audits have counted are read now.
    """

    def __init__(
        self,
        spark: SparkSession,
        store: HistoryStore,
        stored: Mapping[int, StoredPartition],
        name: str,
        new_offsets: int,
    ) -> None:
        self._spark = spark
        self._store = store
        self._stored = stored
        self._known = {number: partition for number, partition in stored.items() if partition.parts}
        self._name = name
        self._lookups = max(1, -(-new_offsets // MOST_LOOKED_UP))
        self.read: dict[int, int] = {}
        """The number of records that this audit read, by the partition's number in the scan."""
        self.totals: dict[int, str] = {}
        """The totals of the keys of each partition for the next audit, as JSON, by the same number."""

    def add_up(self, read: DataFrame, cut: Collection[int], counting: str) -> list[RangeTotals]:
        """Save the groups in ``read``, and return the totals of all records; see ``full_scan.IncrementalReads``."""
        self._write(self._name, read)
        totals = self._add_up(self._blocks(read.columns), counting)
        keys = self._read([self._name], _READ_KEY, keyed=True)
        if keys is not None:
            new = {number: partition for number, partition in self._stored.items() if not partition.parts}
            by_one_task = {number: partition for number, partition in new.items() if number not in cut}
            if by_one_task:
                totals += _parse(self._lookup.totalsOfNewKeys(keys._jdf, _numbers(by_one_task), counting))
            by_several_tasks = {
                number: replace(partition, parts=(self._name,)) for number, partition in new.items() if number in cut
            }
            if by_several_tasks:
                rows = self._rows(by_several_tasks, keyed=True).select(read.columns)
                totals += self._add_up(merge_groups(rows), counting)
            for index in range(self._lookups if self._known else 0):
                totals += self._look_up(keys, counting, index)
        return totals + self._unchanged(totals)

    def _add_up(self, groups: DataFrame, counting: str) -> list[RangeTotals]:
        return [RangeTotals.from_json(row[0]) for row in add_up(self._spark, groups, counting).collect()]

    def _look_up(self, read: DataFrame, counting: str, index: int) -> list[RangeTotals]:
        """Return the totals of the keys read with their earlier counts, for the ``index``-th share of these keys."""
        lookup = self._lookup(read._jdf, _numbers(self._known), counting, index, self._lookups)
        for partitions, names in _by_parts(self._known):
            known = self._read(names, _KNOWN_KEY, keyed=True)
            if known is not None:
                lookup.find(known._jdf, _numbers({number: self._known[number] for number in partitions}))
        return _parse(lookup.totals())

    @property
    def _lookup(self) -> Any:
        jvm: Any = self._spark._jvm
        return jvm.io.topicwarden.reader.counting.KeyLookup

    def _unchanged(self, changed: list[RangeTotals]) -> list[RangeTotals]:
        """Return the totals of known keys without new records; set ``read`` and ``totals``."""
        self.read = dict.fromkeys(self._stored, 0)
        after, before = ({number: KeyTotals() for number in self._stored} for _ in range(2))
        for total in changed:
            self.read[total.part] += total.read
            after[total.part] = after[total.part].plus(KeyTotals.time_independent(total.keys))
            before[total.part] = before[total.part].plus(KeyTotals(total.before))
        unchanged = {
            number: KeyTotals.from_json(partition.totals).without(before[number])
            for number, partition in self._stored.items()
        }
        self.totals = {number: totals.plus(after[number]).to_json() for number, totals in unchanged.items()}
        return [RangeTotals(number, 0, [], [], unchanged[number].row()) for number in self._known]

    def merge_parts(self) -> None:
        """Merge the parts of partitions that have too many."""
        to_merge = {
            number: replace(partition, parts=(*partition.parts[partition.unmerged :], self._name))
            for number, partition in self._known.items()
            if partition.unmerged < len(partition.parts)
        }
        if to_merge:
            keys = merge_groups(self._rows(to_merge, keyed=True).select(*GROUP, *_KNOWN_COUNTS))
            blocks = merge_groups(self._rows(to_merge, keyed=False))
            self._write(merged_name(self._name), keys.unionByName(blocks, allowMissingColumns=True))

    def _write(self, name: str, groups: DataFrame) -> None:
        rows = groups.join(F.broadcast(self._partition_rows(self._stored)), "part")
        # Keys and blocks have separate folders, because blocks are few, and every audit reads all of them.
        self._spark.conf.set("spark.sql.maxConcurrentOutputFileWriters", "4")
        self._store.write(FOLDER, name, rows.select(*_cast_columns(), "keyed"), partition_by="keyed")

    def _blocks(self, columns: Iterable[str]) -> DataFrame:
        """Return the blocks and notes of this audit and of earlier ones; ``read`` is 0 for those of earlier ones."""
        new = {number: replace(partition, parts=(self._name,), start=0) for number, partition in self._stored.items()}
        blocks = self._rows(new, keyed=False).withColumn("read", F.col("records"))
        if self._known:
            zeros = {name: F.lit(0).cast("long") for name in (*_BY_BORDER, "read")}
            blocks = blocks.unionByName(self._rows(self._known, keyed=False).withColumns(zeros))
        return blocks.select(*columns, "read")

    def _rows(self, partitions: Mapping[int, StoredPartition], *, keyed: bool) -> DataFrame:
        """Return the stored rows of these partitions, with their numbers in this scan.

        Blocks that begin before the log start are left out.
        """
        tables = []
        for parts, names in _by_parts(partitions):
            stored = self._read(names, _COLUMNS, keyed=keyed)
            rows = literal(self._spark, [], _COLUMNS) if stored is None else stored
            numbers = self._partition_rows({number: partitions[number] for number in parts})
            rows = rows.withColumn("keyed", F.lit(keyed)).join(F.broadcast(numbers), ["topic_id", "partition"])
            block_start = F.floor(F.col("bucket") / BANDS_AT_MOST) * BLOCK
            in_log = F.col("keyed") | F.col("note").isNotNull() | (block_start >= F.col("log_start"))
            tables.append(rows.where(in_log).drop("topic_id", "partition", "log_start"))
        return reduce(DataFrame.unionByName, tables)

    def _read(self, names: list[str], columns: str, *, keyed: bool) -> DataFrame | None:
        """Return the rows of keys, or of blocks, in the parts ``names``; None if there are none."""
        folder = f"keyed={str(keyed).lower()}"
        parts = [HistoryPart(name, 0) for name in names if self._store.has(FOLDER, name, folder)]
        return self._store.read(FOLDER, parts, columns, folder) if parts else None

    def _partition_rows(self, partitions: Mapping[int, StoredPartition]) -> DataFrame:
        rows = [
            {
                "part": number,
                "topic_id": partition.topic_id,
                "partition": partition.partition,
                "log_start": partition.start,
            }
            for number, partition in partitions.items()
        ]
        return literal(self._spark, rows, "part int, topic_id string, partition int, log_start long")


def _by_parts(partitions: Mapping[int, StoredPartition]) -> list[tuple[frozenset[int], list[str]]]:
    """Return groups of partitions that are in the same parts, with the names of these parts."""
    groups: dict[frozenset[int], list[str]] = {}
    for name in sorted({name for partition in partitions.values() for name in partition.parts}):
        members = frozenset(number for number, partition in partitions.items() if name in partition.parts)
        groups.setdefault(members, []).append(name)
    return list(groups.items())


def _numbers(partitions: Mapping[int, StoredPartition]) -> str:
    """Return the numbers of the partitions as the JSON that ``PartitionIds.java`` parses."""
    return json.dumps([[partition.topic_id, partition.partition, number] for number, partition in partitions.items()])


def _parse(lines: str) -> list[RangeTotals]:
    return [RangeTotals.from_json(line) for line in lines.splitlines()]


def _cast_columns() -> Iterable[Column]:
    pairs = (column.strip().split(" ") for column in _COLUMNS.split(","))
    return [F.col(name).cast(kind) for name, kind in pairs]
