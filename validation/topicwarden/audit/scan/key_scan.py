"""Read the keys again of topics that no known partitioner explains.

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

from topicwarden.audit.scan.complete_since import complete_since
from topicwarden.audit.scan.contracts import Contracts
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.scan.key_placement import (
    KeyPlacement,
    MisplacedKey,
    PlacementStudy,
    SampledKey,
    ScatteredKey,
    conclude,
    scores,
)
from topicwarden.audit.scan.offset_ranges import READ_COMMITTED, OffsetRange, pack_tasks, read_ranges
from topicwarden.audit.scan.partitioner_bits import ALGORITHMS, ALGORITHMS_BY_NAME, DECLARED_ALGORITHMS, HASHES
from topicwarden.audit.scan.spark_source import SparkSource
from topicwarden.kafka.connect.connection import Connection
from topicwarden.model.contents import Contents
from topicwarden.policies.custom_partitioners import refusal_reason

SAMPLE_KEYS = 10_000
"""The approximate size of a topic's sample; enough to notice one key in a thousand."""


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
    earlier_ends: Mapping[int, int] = field(default_factory=dict)
    """The log ends in the previous audit: later records were written when there were at least these partitions."""

    @property
    def distinct(self) -> int:
        return sum(each.keys for each in self.counts.values())

    @property
    def needs_study(self) -> bool:
        """Return whether the scan's counts do not suffice for a conclusion, so that the keys must be read again."""
        score = scores(self.counts.values())
        custom = self.contents.key.partition_expression or self.contents.key.partition_function
        declared = DECLARED_ALGORITHMS.get(self.contents.key.partitioner or "")
        inconclusive = bool(custom) or score.get(declared or "", 1) < 1 or 1 not in score.values()
        return bool(score) and bool(self.ranges) and inconclusive


def key_placements(
    spark: SparkSource, connection: Connection, topics: Iterable[TopicKeys], root: Path, functions: frozenset[str]
) -> dict[str, KeyPlacement]:
    """Return the conclusion about each topic; reads the keys again only if the scan's counts do not suffice.

    The module of a Python function is first searched in ``root``, then among the installed packages. ``functions`` are
    the functions (``module:name``) that may be imported.
    """
    all_keys = list(topics)
    studies = _studies(spark, connection, [keys for keys in all_keys if keys.needs_study], root, functions)
    return {keys.topic: conclude(keys.partitions, keys.counts.values(), studies.get(keys.topic)) for keys in all_keys}


def _studies(
    spark: SparkSource, connection: Connection, topics: list[TopicKeys], root: Path, functions: frozenset[str]
) -> dict[str, PlacementStudy]:
    if not topics:
        return {}
    placed = _placed_keys(spark(), connection, topics).persist(StorageLevel.DISK_ONLY)
    try:
        totals, scattered, samples = _totals(placed), _scattered(placed), _samples(placed)
        studies = {}
        for number, keys in enumerate(topics):
            sample = tuple(samples.get(number, ()))
            wrong, failed = misplaced(placed.where(F.col("topic") == number), keys, root, functions, sample)
            scattered_keys, examples, hottest = scattered.get(number, (0, (), None))
            distinct, fits = totals.get(number, (0, ()))
            studies[keys.topic] = PlacementStudy(
                distinct, fits, scattered_keys, examples, sample, wrong, failed, hottest
            )
        return studies
    finally:
        placed.unpersist()


def _placed_keys(spark: SparkSession, connection: Connection, topics: list[TopicKeys]) -> DataFrame:
    """Return a row for each key and partition that contains the key; topics by their number in ``topics``."""
    ranges = [(number, keys, offsets) for number, keys in enumerate(topics) for offsets in keys.ranges]
    rows = [
        {
            "part": offsets.part,
            "topic": number,
            "partition": offsets.partition,
            "rate": max(1, keys.distinct // SAMPLE_KEYS),
        }
        for number, keys, offsets in ranges
    ]
    schema = "array<struct<part:int,topic:int,partition:int,rate:int>>"
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


def _samples(placed: DataFrame) -> dict[int, list[SampledKey]]:
    """Return a random sample of each topic's keys: those with a hash of 0 modulo the topic's ``rate``."""
    # librdkafka treats an empty key as no key and puts the record into any partition, so empty keys are left out.
    chosen = placed.where((F.length("key") > 0) & (F.pmod(F.xxhash64("key"), F.col("rate")) == 0))
    found: dict[int, list[SampledKey]] = {}
    for row in chosen.select("topic", "partition", "first", "last", *HASHES).collect():
        hashes = {name: row[name] for name in HASHES}
        found.setdefault(row["topic"], []).append(SampledKey(row["partition"], row["first"], row["last"], hashes))
    return found


def misplaced(
    placed: DataFrame, keys: TopicKeys, root: Path, functions: frozenset[str], sample: tuple[SampledKey, ...] = ()
) -> tuple[dict[int, MisplacedKey], str]:
    """Return the keys by partition that the declared partitioner puts elsewhere, and why a custom one failed.

    ``sample`` is a sample of the keys.
    """
    if not keys.contents.key.placed:
        return {}, ""
    if message := refusal_reason(keys.contents, functions):
        return {}, message
    try:
        expected = _expected_partition(keys.contents, root)
        bounds = _bounds(keys, sample)
        with_raw_key = placed.withColumn("raw", F.col("key"))
        if keys.contents.key.partition_expression:
            with_raw_key = with_raw_key.withColumn("key", F.col("key").cast("string"))
        wrong = with_raw_key.withColumn("partitions", F.lit(keys.partitions)).where(~_agrees(expected))
        smaller = F.explode_outer(
            F.when(
                _fewest_partitions(bounds) < keys.partitions,
                F.sequence(_fewest_partitions(bounds), F.lit(keys.partitions - 1)),
            )
        )
        is_possible = F.col("smaller").isNotNull() & (F.col("smaller") > F.col("partition"))
        wrong_keys = (
            wrong.withColumn("smaller", smaller)
            .withColumn("partitions", F.coalesce("smaller", F.lit(1)))
            .withColumn("fits_smaller", is_possible & _agrees(expected))
            .groupBy("partition", "raw")
            .agg(F.min(_decisive_offset(bounds)).alias("first"), F.max("fits_smaller").alias("fits_smaller"))
        )
        fits_none = ~F.col("fits_smaller")
        rows = (
            wrong_keys.groupBy("partition")
            .agg(
                F.count("*").alias("keys"),
                F.count_if(fits_none).alias("fits_none"),
                F.coalesce(F.min(F.when(fits_none, F.col("first"))), F.min("first")).alias("offset"),
            )
            .collect()
        )
    except UnusableModule as error:
        return {}, f"the declared partitioner returned no result: {error}"
    except (PySparkException, Py4JJavaError, AttributeError) as error:
        return {}, f"the declared partitioner returned no result: {type(error).__name__}"
    return {row["partition"]: MisplacedKey(row["keys"], row["fits_none"], row["offset"]) for row in rows}, ""


@dataclass(frozen=True)
class _Bound:
    """A fewest number of partitions that the topic had from the offsets in ``since`` on, by partition."""

    since: Mapping[int, int]
    partitions: int

    @property
    def offset(self) -> Column:
        """A column: the offset for the partition of the row; null if there is none."""
        return F.try_element_at(
            F.create_map(*(F.lit(number) for entry in self.since.items() for number in entry)), F.col("partition")
        )


def _bounds(keys: TopicKeys, sample: tuple[SampledKey, ...]) -> list[_Bound]:
    """Return the known bounds, that of the most partitions first."""
    by_keys = complete_since(sample, keys.partitions) if keys.contents.key.partitioner == "murmur2" else {}
    bounds = [_Bound(by_keys, keys.partitions), _Bound(keys.earlier_ends, max(keys.earlier_ends, default=0) + 1)]
    return [bound for bound in bounds if bound.since]


def _fewest_partitions(bounds: list[_Bound]) -> Column:
    """Return a column: the fewest partitions that the topic can have had at the last record of a key."""
    possible = [F.when(F.col("last") >= bound.offset, bound.partitions) for bound in bounds]
    return F.coalesce(*possible, F.lit(1))


def _decisive_offset(bounds: list[_Bound]) -> Column:
    """Return a column: the first record of a key, or its last one if only that is within the first bound it is in."""
    decisive = F.col("first")
    for bound in reversed(bounds):
        last, first = F.col("last") >= bound.offset, F.col("first") >= bound.offset
        decisive = F.when(last, F.when(first, F.col("first")).otherwise(F.col("last"))).otherwise(decisive)
    return decisive


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
