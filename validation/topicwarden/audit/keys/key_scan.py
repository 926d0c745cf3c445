"""The closer look at keys: once more through the keys alone of topics that no known partitioner explains.

Everything is said in Spark's own code, but for a partitioner that is declared as a Python function, which runs on
the executors over distinct keys.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from topicwarden.audit.contents.contracts import Contracts
from topicwarden.audit.keys.key_placement import (
    KeyPlacement,
    MisplacedKey,
    PlacementStudy,
    SampledKey,
    conclude,
    scores,
)
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.scan.offset_ranges import COMMITTED, OffsetRange, pack, read
from topicwarden.audit.scan.partitioner_bits import ALGORITHMS, BY_NAME, DECLARED, HASHES
from topicwarden.kafka.connection import Connection
from topicwarden.model.topic import Contents
from topicwarden.policies.custom_partitioners import refusal_reason

SAMPLE_KEYS = 10_000
"""Of a topic, about: enough to tell one in a thousand."""


class UnusableModule(Exception):
    """The module of a declared partition function, which cannot be imported; the message says why."""


@dataclass(frozen=True)
class TopicKeys:
    """The keys of one topic: what is declared of them, what the scan counted, and the ranges that are committed."""

    topic: str
    partitions: int
    contents: Contents
    counts: Mapping[int, PartitionCounts]
    ranges: tuple[OffsetRange, ...]

    @property
    def distinct(self) -> int:
        return sum(each.keys for each in self.counts.values())

    @property
    def open(self) -> bool:
        """Whether the scan's counts leave something to ask."""
        score = scores(self.counts.values())
        own = self.contents.partition_expression or self.contents.partition_function
        declared = DECLARED.get(self.contents.partitioner or "")
        asked = bool(own) or score.get(declared or "", 1) < 1 or 1 not in score.values()
        return bool(score) and bool(self.ranges) and asked


def placements(
    spark: SparkSession, connection: Connection, topics: Iterable[TopicKeys], root: Path, functions: frozenset[str]
) -> dict[str, KeyPlacement]:
    """The conclusion on each topic; reads the keys again of those that need a closer look, and of no other.

    ``root`` is where the module of a Python function is looked for, before what is installed; ``functions`` are those
    that may be imported.
    """
    held = list(topics)
    studies = _studies(spark, connection, [keys for keys in held if keys.open], root, functions)
    return {keys.topic: conclude(keys.partitions, keys.counts.values(), studies.get(keys.topic)) for keys in held}


def _studies(
    spark: SparkSession, connection: Connection, topics: list[TopicKeys], root: Path, functions: frozenset[str]
) -> dict[str, PlacementStudy]:
    if not topics:
        return {}
    places = _places(spark, connection, topics).persist(StorageLevel.DISK_ONLY)
    try:
        totals, several, samples = _totals(places), _several(places), _samples(places)
        found = {}
        for number, keys in enumerate(topics):
            elsewhere, failed = misplaced(places.where(F.col("topic") == number), keys, root, functions)
            count, at = several.get(number, (0, ()))
            distinct, fits = totals.get(number, (0, ()))
            found[keys.topic] = PlacementStudy(
                distinct, fits, count, at, tuple(samples.get(number, ())), elsewhere, failed
            )
        return found
    finally:
        places.unpersist()


def _places(spark: SparkSession, connection: Connection, topics: list[TopicKeys]) -> DataFrame:
    """A row a key and partition that it lies in; topics by their number in ``topics``."""
    ranges = [(number, keys, one) for number, keys in enumerate(topics) for one in keys.ranges]
    known = [
        {
            "part": one.part,
            "topic": number,
            "partition": one.partition,
            "rate": max(1, keys.distinct // SAMPLE_KEYS),
        }
        for number, keys, one in ranges
    ]
    schema = "array<struct<part:int,topic:int,partition:int,rate:int>>"
    numbered = spark.range(1).select(F.inline(F.from_json(F.lit(json.dumps(known)), schema)))
    contracts = Contracts(
        {keys.topic: {"partitions": keys.partitions} for keys in topics}
    )  # the reader then tells fits
    return (
        read(spark, connection, pack(spark, (one for _, _, one in ranges)), COMMITTED, contracts)
        .where(F.col("key").isNotNull())
        .groupBy("part", "key")
        .agg(
            F.min("offset").alias("first"),
            F.max("offset").alias("last"),
            *(F.min(name).alias(name) for name in ("fits", *HASHES)),
        )
        .join(F.broadcast(numbered), "part")
    )


def _totals(places: DataFrame) -> dict[int, tuple[int, tuple[int, ...]]]:
    """By topic: how many keys there are, by partition, and how many lie where each of ``ALGORITHMS`` puts them."""
    bits = [F.sum(F.getbit("fits", F.lit(bit))).alias(each.name) for bit, each in enumerate(ALGORITHMS)]
    rows = places.groupBy("topic").agg(F.count("*").alias("keys"), *bits).collect()
    return {row["topic"]: (row["keys"], tuple(int(row[each.name]) for each in ALGORITHMS)) for row in rows}


def _several(places: DataFrame) -> dict[int, tuple[int, tuple[tuple[tuple[int, int], ...], ...]]]:
    """By topic: how many keys lie in more than one partition, and where one does."""
    found = (
        places.groupBy("topic", "key")
        .agg(
            F.count("*").alias("places"),
            F.min("partition").alias("here"),
            F.min_by("first", "partition").alias("at"),
            F.max("partition").alias("there"),
            F.max_by("first", "partition").alias("also_at"),
        )
        .where(F.col("places") > 1)
        .groupBy("topic")
        .agg(
            F.count("*").alias("keys"),
            F.min(F.struct("here", "at", "there", "also_at")).alias("one"),
        )
        .collect()
    )
    return {
        row["topic"]: (
            row["keys"],
            (((row["one"]["here"], row["one"]["at"]), (row["one"]["there"], row["one"]["also_at"])),),
        )
        for row in found
    }


def _samples(places: DataFrame) -> dict[int, list[SampledKey]]:
    """By topic a fair sample: the keys whose hash falls into one of as many classes as make it small enough."""
    # An empty key is no key to librdkafka: it lies anywhere, and tells nothing.
    chosen = places.where((F.length("key") > 0) & (F.pmod(F.xxhash64("key"), F.col("rate")) == 0))
    found: dict[int, list[SampledKey]] = {}
    for row in chosen.select("topic", "partition", "first", "last", *HASHES).collect():
        hashes = {name: row[name] for name in HASHES}
        found.setdefault(row["topic"], []).append(SampledKey(row["partition"], row["first"], row["last"], hashes))
    return found


def misplaced(
    places: DataFrame, keys: TopicKeys, root: Path, functions: frozenset[str]
) -> tuple[dict[int, MisplacedKey], str]:
    """The keys that lie elsewhere than declared, by partition; or why a partitioner of one's own did not answer."""
    if not keys.contents.places_keys:
        return {}, ""
    if message := refusal_reason(keys.contents, functions):
        return {}, message
    try:
        wanted = _wanted(keys.contents, root)
        named = places.withColumn("raw", F.col("key"))
        if keys.contents.partition_expression:
            named = named.withColumn("key", F.col("key").cast("string"))
        elsewhere = named.withColumn("partitions", F.lit(keys.partitions)).where(~_agrees(wanted))
        smaller = F.explode_outer(F.sequence(F.lit(1), F.lit(keys.partitions - 1))) if keys.partitions > 1 else F.lit(0)
        once = (
            elsewhere.withColumn("partitions", smaller)
            .withColumn("lawful", (F.col("partitions") > F.col("partition")) & _agrees(wanted))
            .groupBy("partition", "raw")
            .agg(F.min("first").alias("first"), F.max("lawful").alias("lawful"))
        )
        rows = (
            once.groupBy("partition")
            .agg(
                F.count("*").alias("keys"),
                F.count_if(~F.col("lawful")).alias("never"),
                F.coalesce(F.min(F.when(~F.col("lawful"), F.col("first"))), F.min("first")).alias("offset"),
            )
            .collect()
        )
    except UnusableModule as error:
        return {}, f"the declared partitioner gave no answer: {error}"
    except (PySparkException, Py4JJavaError, AttributeError) as error:
        return {}, f"the declared partitioner gave no answer: {type(error).__name__}"
    return {row["partition"]: MisplacedKey(row["keys"], row["never"], row["offset"]) for row in rows}, ""


def _agrees(wanted: Callable[[], Column]) -> Column:
    """Whether the partitioner puts the key where it is; an answer that is none is no agreement."""
    return F.coalesce(wanted() == F.col("partition"), F.lit(False))


def _wanted(contents: Contents, root: Path) -> Callable[[], Column]:
    """The partition by the declared partitioner, as a column over the key, its hashes and ``partitions``."""
    if contents.partition_function:
        function = _function(contents.partition_function, root)
        placed = F.udf(lambda key, partitions: int(function(bytes(key), partitions)), "int", useArrow=False)
        return lambda: placed(F.col("key"), F.col("partitions"))
    if expression := contents.partition_expression:
        return lambda: F.expr(expression)
    name = DECLARED[contents.partitioner or "murmur2"]
    hashed = F.col(BY_NAME[name].hash_column).cast("long")
    own = F.pmod(F.abs(hashed) if name == "fnv1a" else hashed, F.greatest(F.col("partitions"), F.lit(1)))
    return lambda: F.when(F.length("key") == 0, F.col("partition")).otherwise(own) if name == "crc32" else own


def _function(name: str, root: Path) -> Callable[[bytes, int], int]:
    """Return the function ``module:name``; it travels to the executors by value, as they may lack the module.

    Raises ``UnusableModule`` for whatever the module raises, and ``AttributeError`` if it has no such function.
    """
    module_name, _, attribute = name.partition(":")
    sys.path.insert(0, str(root))
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise UnusableModule(f"importing {module_name} ended with {type(error).__name__}") from error
    finally:
        sys.path.remove(str(root))
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    function: Callable[[bytes, int], int] = getattr(module, attribute)
    return function
