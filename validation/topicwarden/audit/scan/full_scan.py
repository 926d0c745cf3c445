"""Read every record of every topic once, and count the records inside the reader.

The reader counts all records by age band. It also counts by the hash of the key if a topic is compacted or has rules
for keys (``CountingReader.java``). No record enters Spark; only the counts and the reader's notes
(``RangeSummary.java``) do.

A group of counts is one key, or one age band of a block of offsets. Spark needs the groups if several tasks read one
partition, or if an earlier audit has counted a part of it. Otherwise the reader adds up the groups by partition
(``PartitionTotals.java``), and no key enters Spark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from topicwarden.audit.collect.horizon import TopicPartition
from topicwarden.audit.scan.contracts import NO_CONTRACTS, Contracts
from topicwarden.audit.scan.counts import METRICS, Merge, PartitionCounts
from topicwarden.audit.scan.merge import counts_by_partition
from topicwarden.audit.scan.offset_ranges import pack_tasks, read_ranges
from topicwarden.audit.scan.partition_reads import DeletedKey, PartitionRead, counted_by_key, counting_options
from topicwarden.audit.scan.reader_notes import RangeTotals
from topicwarden.kafka.connect.connection import Connection

GROUP = ("part", "note", "keyed", "bucket")
"""The columns that identify a group."""
_LEAST_REDUCERS = 4
_MERGES: dict[str, Merge] = {
    **{name: metric.merge for name, metric in METRICS.items() if metric.column},
    # Columns of keys: the partitioners that fit, and offsets of the key's records.
    **{"fits": Merge.MIN, "first_offset": Merge.MIN, "last_offset": Merge.MAX, "last_tombstone": Merge.MAX},
    "second_offset": Merge.MIN,
}


def merge_groups(counted: DataFrame) -> DataFrame:
    """Return one row for each key, one for each age band of a block of offsets, and one for each note."""
    merges = {name: getattr(F, _MERGES[name].value)(name) for name in counted.columns if name not in GROUP}
    if "second_offset" in merges:  # the second record of a key may be the first one that another task read
        merges["second_offset"] = F.least(
            merges["second_offset"], F.get(F.sort_array(F.collect_list("first_offset")), F.lit(1))
        )
    merged = counted.groupBy(*GROUP).agg(*(column.alias(name) for name, column in merges.items()))
    return merged.select(counted.columns)


def add_up(spark: SparkSession, groups: DataFrame, counting: str) -> DataFrame:
    """Return rows of ``RangeTotals`` as JSON.

    ``groups`` has the reader's columns in their order. ``counting`` is the JSON that the reader received.

    ``GroupTotals.java`` adds up, with the code that the reader uses, so that each count has one definition.
    """
    jvm: Any = spark._jvm
    strings = jvm.org.apache.spark.sql.Encoders.STRING()
    return DataFrame(
        groups._jdf.mapPartitions(jvm.io.topicwarden.reader.counting.GroupTotals(counting), strings).toDF(), spark
    )


class IncrementalReads(Protocol):
    """The counts of records that earlier audits read and this audit does not read again."""

    def add_up(self, read: DataFrame, cut: Collection[int], counting: str) -> list[RangeTotals]:
        """Return the totals of the groups in ``read`` and of all records that earlier audits counted.

        ``cut`` has the numbers of the partitions that several tasks read by key. ``counting`` is the JSON that the
        reader received.
        """


class ComparesRecords(Protocol):
    """Rules that compare the records while they are counted."""

    @property
    def options(self) -> str | None:
        """The rules as ``FieldRules.java`` reads them; None if there is nothing to compare."""

    def add_up(self, rows: DataFrame) -> list[str]:
        """Compare the rows of ``ComparingReader.java``, and return the totals of the counts in them."""


def scan(
    spark: SparkSession,
    connection: Connection,
    reads: list[PartitionRead],
    now: int,
    contracts: Contracts = NO_CONTRACTS,
    *,
    deleted_keys: Iterable[DeletedKey] = (),
    earlier_reads: IncrementalReads | None = None,
    counted_before: Iterable[PartitionRead] = (),
    compared: ComparesRecords | None = None,
    rate: int | None = None,
    consumer: Mapping[str, str] | None = None,
) -> dict[TopicPartition, PartitionCounts]:
    """Return the counts of ``reads``, with the records judged by ``contracts``.

    Record ages are measured from ``now`` (ms). For each of ``deleted_keys``, the scan looks for a record that was
    resurrected after the key was seen deleted. With ``earlier_reads``, ``reads`` are the new ranges, and it adds the
    counts of the others; ``counted_before`` are the partitions without new ranges. The records are also ``compared``,
    unless several tasks read a partition that is counted by key. ``rate`` limits the bytes a second; ``consumer``
    overrides ``offset_ranges.READ_OPTIONS``.
    """
    if not reads:
        return {}
    by_key = frozenset(read.range.part for read in reads if counted_by_key(read, contracts))
    # A consumer has one position in each partition, so a second range of a partition needs its own tasks.
    rereads = pack_tasks(spark, (read.reread for read in reads if read.reread))
    tasks = pack_tasks(spark, (read.range for read in reads), whole=by_key) + rereads
    pieces = Counter(piece.part for task in tasks for piece in task)
    cut = frozenset(number for number in by_key if pieces[number] > 1)
    counting = counting_options(reads, contracts, now, deleted_keys)
    rows = "totals" if earlier_reads is None and not cut else "groups"
    comparison = compared if compared and compared.options and rows == "totals" else None
    found = read_ranges(
        spark,
        connection,
        tasks,
        consumer,
        contracts,
        rate=rate,
        counted=rows,
        counting=counting,
        compared=comparison.options if comparison else None,
    )
    # As many reducers as readers: each reducer then has about as many groups as one reader produces.
    spark.conf.set("spark.sql.shuffle.partitions", str(max(len(tasks), _LEAST_REDUCERS)))
    if earlier_reads is not None:
        totals = earlier_reads.add_up(found, cut, counting)
    elif comparison is not None:
        totals = [RangeTotals.from_json(text) for text in comparison.add_up(found)]
    else:
        texts = add_up(spark, merge_groups(found), counting) if cut else found
        totals = [RangeTotals.from_json(row[0]) for row in texts.collect()]
    return counts_by_partition([*reads, *counted_before], totals, contracts)
