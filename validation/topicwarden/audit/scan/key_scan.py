"""Read the keys again of topics whose placement no known partitioner explains.

All work is done by Spark's own operators, except for a partitioner that is declared as a Python function. That function
runs on the executors, once for each distinct key.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from topicwarden.audit.scan.contracts import Contracts
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.scan.key_placement import (
    KeyPlacement,
    MisplacedKey,
    PlacementStudy,
    ScatteredKey,
    key_placement,
    scores,
)
from topicwarden.audit.scan.offset_ranges import READ_COMMITTED, OffsetRange, pack_tasks, read_ranges
from topicwarden.audit.scan.partitioner_bits import ALGORITHMS, ALGORITHMS_BY_NAME, DECLARED_ALGORITHMS, HASHES
from topicwarden.audit.scan.spark_source import SparkSource
from topicwarden.kafka.connect.connection import Connection
from topicwarden.model.contents import Contents
from topicwarden.policies.custom_partitioners import refusal_reason


class UnusableModule(Exception):
    """Raised if the module of a declared partition function cannot be imported; the message has the reason."""


@dataclass(frozen=True)
class TopicKeys:
    """The keys of one topic: the declared contents, the counts of the scan, and the committed offset ranges."""

    topic: str
    partitions: int
    contents: Contents
    counts: Mapping[int, PartitionCounts]
    ranges: tuple[OffsetRange, ...]
    proven_ends: Mapping[int, int] = field(default_factory=dict)
    """By partition, the offset from which on producers knew all partitions; see ``partition_growth.py``."""

    @property
    def needs_study(self) -> bool:
        """Return whether the scan's counts do not suffice, so that the keys must be read again."""
        score = scores(self.counts.values())
        custom = self.contents.key.partition_expression or self.contents.key.partition_function
        declared = DECLARED_ALGORITHMS.get(self.contents.key.partitioner or "")
        inconclusive = bool(custom) or score.get(declared or "", 1) < 1 or 1 not in score.values()
        return bool(score) and bool(self.ranges) and inconclusive


def key_placements(
    spark: SparkSource, connection: Connection, topics: Iterable[TopicKeys], root: Path, functions: frozenset[str]
) -> dict[str, KeyPlacement]:
    """Return the placement of the keys of each topic; read keys again only if the scan's counts do not suffice.

    The module of a Python function is first searched in ``root``, then among the installed packages. ``functions`` are
    the functions (``module:name``) that may be imported.
    """
    all_keys = list(topics)
    studies = _studies(spark, connection, [keys for keys in all_keys if keys.needs_study], root, functions)
    return {
        keys.topic: key_placement(keys.partitions, keys.counts.values(), studies.get(keys.topic)) for keys in all_keys
    }


def _studies(
    spark: SparkSource, connection: Connection, topics: list[TopicKeys], root: Path, functions: frozenset[str]
) -> dict[str, PlacementStudy]:
    if not topics:
        return {}
    placed = _placed_keys(spark(), connection, topics).persist(StorageLevel.DISK_ONLY)
    try:
        totals, scattered = _totals(placed), _scattered(placed)
        studies = {}
        for number, keys in enumerate(topics):
            wrong, failed = misplaced(placed.where(F.col("topic") == number), keys, root, functions)
            scattered_keys, examples, hottest = scattered.get(number, (0, (), None))
            distinct, fits = totals.get(number, (0, ()))
            studies[keys.topic] = PlacementStudy(distinct, fits, scattered_keys, examples, wrong, failed, hottest)
        return studies
    finally:
        placed.unpersist()


def _placed_keys(spark: SparkSession, connection: Connection, topics: list[TopicKeys]) -> DataFrame:
    """Return a row for each key and partition that contains the key; topics by their number in ``topics``."""
    ranges = [(number, keys, offsets) for number, keys in enumerate(topics) for offsets in keys.ranges]
    rows = [{"part": offsets.part, "topic": number, "partition": offsets.partition} for number, _, offsets in ranges]
    schema = "array<struct<part:int,topic:int,partition:int>>"
    numbered = spark.range(1).select(F.inline(F.from_json(F.lit(json.dumps(rows)), schema)))
    # The reader only computes ``fits`` for topics with a number of partitions in their contract.
    contracts = Contracts({keys.topic: {"partitions": keys.partitions} for keys in topics})
    tasks = pack_tasks(spark, (offsets for _, _, offsets in ranges))
    return (
        read_ranges(spark, connection, tasks, READ_COMMITTED, contracts)
        .where(F.col("key").isNotNull())
        .groupBy("part", "key")
        .agg(
            F.count("*").alias("records"),
            F.min("offset").alias("first"),
            F.max("offset").alias("last"),
            *(F.min(name).alias(name) for name in ("fits", *HASHES)),
        )
        .join(F.broadcast(numbered), "part")
    )


def _totals(placed: DataFrame) -> dict[int, tuple[int, tuple[int, ...]]]:
    """Return the number of keys of each topic, and how many of them each of ``ALGORITHMS`` explains.

    A key counts once for each partition that contains the key.
    """
    fits = {algorithm.name: F.getbit("fits", F.lit(bit)) for bit, algorithm in enumerate(ALGORITHMS)}
    # librdkafka's consistent_random puts an empty key into any partition, like no key.
    fits["crc32"] = F.when(F.length("key") == 0, 1).otherwise(fits["crc32"])
    bits = [F.sum(fit).alias(name) for name, fit in fits.items()]
    rows = placed.groupBy("topic").agg(F.count("*").alias("keys"), *bits).collect()
    return {row["topic"]: (row["keys"], tuple(int(row[algorithm.name]) for algorithm in ALGORITHMS)) for row in rows}


_Scattered = tuple[int, tuple[tuple[tuple[int, int], ...], ...], ScatteredKey | None]


def _scattered(placed: DataFrame) -> dict[int, _Scattered]:
    """Return how many keys of each topic are in more than one partition, an example, and the one with most records."""
    found = (
        placed.groupBy("topic", "key")
        .agg(
            F.count("*").alias("partitions"),
            F.sum("records").alias("records"),
            F.min("partition").alias("lowest"),
            F.min_by("first", "partition").alias("lowest_offset"),
            F.max("partition").alias("highest"),
            F.max_by("first", "partition").alias("highest_offset"),
        )
        .where(F.col("partitions") > 1)
        .groupBy("topic")
        .agg(
            F.count("*").alias("keys"),
            F.min(F.struct("lowest", "lowest_offset", "highest", "highest_offset")).alias("example"),
            F.max(F.struct("records", "lowest", "lowest_offset")).alias("hottest"),
        )
        .collect()
    )
    scattered: dict[int, _Scattered] = {}
    for row in found:
        key = row["example"]
        lowest, highest = (key["lowest"], key["lowest_offset"]), (key["highest"], key["highest_offset"])
        scattered[row["topic"]] = row["keys"], ((lowest, highest),), ScatteredKey(*row["hottest"])
    return scattered


def misplaced(
    placed: DataFrame, keys: TopicKeys, root: Path, functions: frozenset[str]
) -> tuple[dict[int, MisplacedKey], str]:
    """Return the keys by partition that the declared partitioner puts elsewhere, and why a custom one failed."""
    if not keys.contents.key.placed:
        return {}, ""
    if message := refusal_reason(keys.contents, functions):
        return {}, message
    try:
        expected = _expected_partition(keys.contents, root)
        with_raw_key = placed.withColumn("raw", F.col("key"))
        if keys.contents.key.partition_expression:
            with_raw_key = with_raw_key.withColumn("key", F.col("key").cast("string"))
        wrong = with_raw_key.withColumn("partitions", F.lit(keys.partitions)).where(~_agrees(expected))
        smaller = (
            F.sequence(F.lit(1), F.lit(keys.partitions - 1)) if keys.partitions > 1 else F.array().cast("array<int>")
        )
        is_possible = F.col("smaller").isNotNull() & (F.col("smaller") > F.col("partition"))
        wrong_keys = (
            wrong.withColumn("smaller", F.explode_outer(smaller))
            .withColumn("partitions", F.coalesce("smaller", F.lit(1)))
            .withColumn("fits_smaller", is_possible & _agrees(expected))
            .groupBy("partition", "raw")
            .agg(
                F.min("first").alias("first"),
                F.max("last").alias("last"),
                F.max("fits_smaller").alias("fits_smaller"),
            )
        )
        fits_none = ~F.col("fits_smaller")
        end = _proven_end(keys.proven_ends)
        proven = F.col("fits_smaller") & F.coalesce(F.col("last") >= end, F.lit(False))
        decisive = F.when(fits_none | (F.col("first") >= end), F.col("first")).when(proven, F.col("last"))
        rows = (
            wrong_keys.groupBy("partition")
            .agg(
                F.count("*").alias("keys"),
                F.count_if(fits_none).alias("fit_none"),
                F.count_if(proven).alias("proven"),
                F.coalesce(F.min(decisive), F.min("first")).alias("offset"),
            )
            .collect()
        )
    except UnusableModule as error:
        return {}, f"the declared partitioner returned no result: {error}"
    except (PySparkException, Py4JJavaError, AttributeError) as error:
        return {}, f"the declared partitioner returned no result: {type(error).__name__}"
    return {
        row["partition"]: MisplacedKey(row["keys"], row["fit_none"], row["proven"], row["offset"]) for row in rows
    }, ""


def _proven_end(ends: Mapping[int, int]) -> Column:
    """Return a column: the offset in ``ends`` for the partition of the row; null if there is none."""
    if not ends:
        return F.lit(None).cast("long")
    return F.try_element_at(
        F.create_map(*(F.lit(number) for entry in ends.items() for number in entry)), F.col("partition")
    )


def _agrees(expected: Callable[[], Column]) -> Column:
    """Return a column: whether the key is in the expected partition; false if the partitioner returns null."""
    return F.coalesce(expected() == F.col("partition"), F.lit(False))


def _expected_partition(contents: Contents, root: Path) -> Callable[[], Column]:
    """Return the partition by the declared partitioner, as a column over ``key``, its hashes and ``partitions``."""
    if contents.key.partition_function:
        function = _function(contents.key.partition_function, root)
        call = F.udf(lambda key, partitions: int(function(bytes(key), partitions)), "int", useArrow=False)
        return lambda: call(F.col("key"), F.col("partitions"))
    if expression := contents.key.partition_expression:
        return lambda: F.expr(expression)
    name = DECLARED_ALGORITHMS[contents.key.partitioner or "murmur2"]
    key_hash = F.col(ALGORITHMS_BY_NAME[name].hash_column).cast("long")
    by_hash = F.pmod(F.abs(key_hash) if name == "fnv1a" else key_hash, F.greatest(F.col("partitions"), F.lit(1)))
    if name != "crc32":
        return lambda: by_hash
    return lambda: F.when(F.length("key") == 0, F.col("partition")).otherwise(by_hash)


def _function(name: str, root: Path) -> Callable[[bytes, int], int]:
    """Return the function ``module:name``, pickled by value, because the executors may not have the module.

    Raises ``UnusableModule`` if the import fails for any reason, and ``AttributeError`` if the function is missing.
    """
    module_name, _, attribute = name.partition(":")
    sys.path.insert(0, str(root))
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise UnusableModule(f"the import of {module_name} failed with {type(error).__name__}") from error
    finally:
        sys.path.remove(str(root))
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    function: Callable[[bytes, int], int] = getattr(module, attribute)
    return function
