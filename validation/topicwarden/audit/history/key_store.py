"""Save the groups of an audit's scan, so that the next audit only reads new records (``--since last``).

A part of the history has a row of counts for each key, identified by its hash, and the counts of each block of offsets
(``offset_blocks.py``). The counts of a key are the sum over all parts. The first part of a partition has the counts of
all records at that time; later parts have those of newer records. Later parts are merged before there are many. Once
they are large, the first part is merged, too. An audit that reads no records adds no part.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, cast

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from topicwarden.audit.history.offset_blocks import (
    FILE,
    OffsetBlocks,
    StoredPartition,
    block_totals,
    from_bytes,
    merged_name,
    to_bytes,
)
from topicwarden.audit.history.store import FAILURES, HistoryStore, HistoryUnavailable, reason_of
from topicwarden.audit.scan.full_scan import GROUP, add_up, merge_groups
from topicwarden.audit.scan.merge import hottest_rank
from topicwarden.audit.scan.partitioner_bits import ALGORITHMS
from topicwarden.audit.scan.reader_notes import Counted, RangeTotals
from topicwarden.audit.scan.spark_source import SparkSource, literal
from topicwarden.usage.history_files import HistoryPart

_ADDED = ("keys", "superseded", "clean_bytes_at_most", *(algorithm.name for algorithm in ALGORITHMS))
_PAIR = ("pair_second", "pair_first", "pair_key")
_HOTTEST = ("hottest", "hottest_offset", "hottest_key")


FOLDER = "keys"
MOST_LOOKED_UP = 2_000_000
"""The number of keys that are looked up at a time, because these keys are kept in memory."""
_KNOWN_COUNTS = ("records", "largest_record", "first_offset")
"""The counts that are needed of a known key; merged parts only keep these."""
_KNOWN_KEY = "topic_id string, partition int, bucket long, records long, largest_record int, first_offset long"
_READ_KEY = (
    f"{_KNOWN_KEY}, rolled long, cleanable long, last_offset long, last_tombstone long, fits int, second_offset long"
)
"""The columns of known keys and of keys that were read, in the order of ``KeyBatch.java``."""
_BLOCK = "topic_id string, partition int, block string"
"""The columns of blocks of offsets. ``block`` has their counts as JSON, so that keys have one column for them."""


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

    ``stored``: the partitions by their number in the scan. ``new_offsets``: how many offsets this audit reads of each
    partition, by the same number, whose records earlier audits have counted by key. ``now``: the time of the audit in
    milliseconds.
    """

    def __init__(
        self,
        spark: SparkSource,
        store: HistoryStore,
        stored: Mapping[int, StoredPartition],
        name: str,
        *,
        new_offsets: Mapping[int, int],
        now: int,
    ) -> None:
        self._source = spark
        self._store = store
        self._stored = stored
        self._known = {number: partition for number, partition in stored.items() if partition.parts}
        self._renewed = {number: partition for number, partition in self._known.items() if number in new_offsets}
        self._name = name
        self._lookups = max(1, -(-sum(new_offsets.values()) // MOST_LOOKED_UP))
        self._now = now
        self._earlier: dict[int, OffsetBlocks] | None = None
        self._written: dict[int, OffsetBlocks] = {}
        self.read: dict[int, int] = {}
        """The number of records that this audit read, by the partition's number in the scan."""
        self.totals: dict[int, str] = {}
        """The totals of the keys of each partition for the next audit, as JSON, by the same number."""

    @property
    def _spark(self) -> SparkSession:
        return self._source()

    def known_totals(self) -> list[RangeTotals]:
        """Return the totals of all records if this audit reads none. Adds no part, and needs no Spark."""
        totals = self._block_totals()
        return totals + self._unchanged(totals)

    def add_up(self, read: DataFrame, cut: Collection[int], counting: str) -> list[RangeTotals]:
        """Save the groups in ``read``, and return the totals of all records; see ``full_scan.IncrementalReads``."""
        self._write_rows(self._name, read)
        with ThreadPoolExecutor(1) as executor:  # short jobs, which leave cores idle one after another
            reading = executor.submit(self._totals_of_blocks)
            totals = self._totals_of_keys(read.schema, cut, counting)
            totals += reading.result()
        self._require_known_parts()
        self._complete(self._name, self._written)
        return totals + self._unchanged(totals)

    def _require_known_parts(self) -> None:
        """Raise ``HistoryUnavailable`` if another audit has deleted a part whose keys this one has looked up."""
        names = {name for partition in self._known.values() for name in partition.parts}
        if not all(self._store.is_complete(FOLDER, name) for name in names):
            raise HistoryUnavailable("another audit has deleted a part meanwhile")

    def _totals_of_blocks(self) -> list[RangeTotals]:
        """Return the totals of all blocks in the log, with those that the tasks of this audit have written."""
        self._written = self._read_blocks()
        return self._block_totals()

    def _totals_of_keys(self, schema: StructType, cut: Collection[int], counting: str) -> list[RangeTotals]:
        """Return the totals of the keys that the tasks of this audit have written, with their earlier counts."""
        keys, totals = self._read([self._name], _READ_KEY), []
        if keys is not None:
            new = {number: partition for number, partition in self._stored.items() if not partition.parts}
            by_one_task = {number: partition for number, partition in new.items() if number not in cut}
            if by_one_task:
                totals += _parse(self._lookup.totalsOfNewKeys(keys._jdf, _numbers(by_one_task), counting))
            by_several_tasks = {
                number: replace(partition, parts=(self._name,)) for number, partition in new.items() if number in cut
            }
            if by_several_tasks:
                keys_of_all = merge_groups(self._rows(by_several_tasks))
                groups = keys_of_all.select(*_with_columns(schema, keys_of_all.columns))
                totals += [RangeTotals.from_json(row[0]) for row in add_up(self._spark, groups, counting).collect()]
            for index in range(self._lookups if self._renewed else 0):
                totals += self._look_up(keys, counting, index)
        return totals

    def _look_up(self, read: DataFrame, counting: str, index: int) -> list[RangeTotals]:
        """Return the totals of the keys read with their earlier counts, for the ``index``-th share of these keys."""
        lookup = self._lookup(read._jdf, _numbers(self._renewed), counting, index, self._lookups)
        for partitions, names in _by_parts(self._renewed):
            selected = _numbers({number: self._renewed[number] for number in partitions})
            for name in names:  # one at a time, because the driver holds what it finds
                known = self._read([name], _KNOWN_KEY)
                if known is not None:
                    lookup.find(known._jdf, selected)
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
        return [RangeTotals(number, [], [], unchanged[number].row()) for number in self._known]

    def merge_parts(self) -> None:
        """Merge the parts of partitions that have too many."""
        to_merge = {
            number: replace(partition, parts=(*partition.parts[partition.unmerged :], self._name))
            for number, partition in self._known.items()
            if partition.unmerged < len(partition.parts)
        }
        if to_merge:
            name = merged_name(self._name)
            self._write_rows(name, merge_groups(self._rows(to_merge).select(*GROUP, *_KNOWN_COUNTS)))
            self._complete(name, {number: blocks.merged() for number, blocks in self._blocks(to_merge).items()})

    def _write_rows(self, name: str, groups: DataFrame) -> None:
        """Write the rows of a part. Keys and blocks have separate folders."""
        rows = groups.withColumns({name: self._partition_id[name] for name in ("topic_id", "partition")})
        self._spark.conf.set("spark.sql.maxConcurrentOutputFileWriters", "4")
        read_key = cast(StructType, StructType.fromDDL(_READ_KEY))
        columns = [F.col(each.name).cast(each.dataType) for each in read_key if each.name in rows.columns]
        counts = [column for column in groups.columns if column not in {"part", "keyed"}]
        block = F.when(~F.col("keyed"), F.to_json(F.struct(*counts))).alias("block")
        self._store.write(FOLDER, name, rows.select(*columns, block, "keyed"), partition_by="keyed")

    @property
    def _partition_id(self) -> Column:
        """A column: the topic's id and the partition of the row, by its number in the scan, from one SQL literal."""
        ids = [
            None
            if (each := self._stored.get(number)) is None
            else {"topic_id": each.topic_id, "partition": each.partition}
            for number in range(max(self._stored) + 1)
        ]
        schema = "array<struct<topic_id string, partition int>>"
        return F.get(F.from_json(F.lit(json.dumps(ids)), F.lit(schema)), F.col("part"))

    def _complete(self, name: str, blocks: Mapping[int, OffsetBlocks]) -> None:
        """Add the blocks to a part, and mark it as valid."""
        by_id = {
            (self._stored[number].topic_id, self._stored[number].partition): each for number, each in blocks.items()
        }
        self._store.write_bytes(FOLDER, name, FILE, to_bytes(by_id))
        self._store.complete(FOLDER, name)

    def _read_blocks(self) -> dict[int, OffsetBlocks]:
        """Return the blocks that the tasks of this audit have written, and delete their files."""
        numbers = {(each.topic_id, each.partition): number for number, each in self._stored.items()}
        blocks: dict[int, OffsetBlocks] = {}
        rows = self._read([self._name], _BLOCK, keyed=False)
        for topic_id, partition, block in () if rows is None else rows.collect():
            number = numbers[topic_id, partition]
            stored = self._stored[number]
            blocks.setdefault(number, OffsetBlocks(log_start=stored.start)).add(json.loads(block), stored.end)
        self._store.delete_within(FOLDER, self._name, _folder(keyed=False))
        return blocks

    def _block_totals(self) -> list[RangeTotals]:
        """Return the totals of all blocks in the log, read now or by earlier audits."""
        if self._earlier is None:
            self._earlier = self._blocks(self._known)
        none = OffsetBlocks()
        return [
            block_totals(
                number,
                self._earlier.get(number, none),
                self._written.get(number, none),
                self._now,
            )
            for number in self._stored
            if number in self._earlier or number in self._written
        ]

    def _blocks(self, partitions: Mapping[int, StoredPartition]) -> dict[int, OffsetBlocks]:
        """Return the stored blocks of these partitions that are in the log. Raises HistoryUnavailable."""
        found: dict[int, OffsetBlocks] = {}
        for numbers, names in _by_parts(partitions):
            by_id = {(partitions[number].topic_id, partitions[number].partition): number for number in numbers}
            for name in names:
                try:
                    content = self._store.read_bytes(FOLDER, name, FILE)
                    if content is None:
                        raise HistoryUnavailable(f"the part {name} is incomplete")
                    for partition, blocks in from_bytes(content, frozenset(by_id)):
                        number, start = by_id[partition], partitions[by_id[partition]].start
                        found.setdefault(number, OffsetBlocks(log_start=start)).extend(blocks.since(start))
                except FAILURES as error:
                    raise HistoryUnavailable(reason_of(error)) from error
        return found

    def _rows(self, partitions: Mapping[int, StoredPartition]) -> DataFrame:
        """Return the stored rows of the keys of these partitions, with their numbers in this scan."""
        tables = []
        for parts, names in _by_parts(partitions):
            stored = self._read(names, _READ_KEY)
            rows = literal(self._spark, [], _READ_KEY) if stored is None else stored
            numbers = self._partition_rows({number: partitions[number] for number in parts})
            rows = rows.withColumns({"keyed": F.lit(True), "note": F.lit(None).cast("string")})
            rows = rows.join(F.broadcast(numbers), ["topic_id", "partition"])
            tables.append(rows.drop("topic_id", "partition"))
        return reduce(DataFrame.unionByName, tables)

    def _read(self, names: list[str], columns: str, *, keyed: bool = True) -> DataFrame | None:
        """Return the rows of keys, or of blocks, in the parts ``names``; None if there are none."""
        folder = _folder(keyed=keyed)
        parts = [HistoryPart(name, 0) for name in names if self._store.has(FOLDER, name, folder)]
        return self._store.read(FOLDER, parts, columns, folder) if parts else None

    def _partition_rows(self, partitions: Mapping[int, StoredPartition]) -> DataFrame:
        rows = [
            {"part": number, "topic_id": partition.topic_id, "partition": partition.partition}
            for number, partition in partitions.items()
        ]
        return literal(self._spark, rows, "part int, topic_id string, partition int")


def _folder(*, keyed: bool) -> str:
    return f"keyed={str(keyed).lower()}"


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


def _with_columns(schema: StructType, columns: Collection[str]) -> Iterator[Column]:
    """Yield the columns of ``schema``; those that are not among ``columns`` are null."""
    for field_ in schema:
        found = field_.name in columns
        yield F.col(field_.name) if found else F.lit(None).cast(field_.dataType).alias(field_.name)
