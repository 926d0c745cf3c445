"""Compare the audit's scan with a plain count of the same records, by our source and by Spark's own source.

The benchmark starts its own broker with one large topic and many small topics. All reads run in turn, in one Spark
session::

    .venv/bin/python benchmarks/scan.py [RECORDS]
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from brokers import create_topics, started, use_spark_kafka
from pyspark.sql import SparkSession
from rounds import in_turn

from topicwarden.audit.collect.horizon import horizons
from topicwarden.audit.scan.contracts import build_contracts
from topicwarden.audit.scan.full_scan import scan
from topicwarden.audit.scan.offset_ranges import pack_tasks, read_ranges
from topicwarden.audit.scan.partition_reads import PartitionRead, partition_reads
from topicwarden.audit.scan.spark_session import spark_session
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.model.project import find_project

LARGE, SMALL_TOPICS, SMALL_RECORDS, PARTITIONS, ROUNDS = "large", 40, 100, 6, 5
VALUE = "x" * 180
LARGE_POLLS = {"max.poll.records": "100000", "max.partition.fetch.bytes": str(32 << 20)}


def main() -> int:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    project = find_project()
    with tempfile.TemporaryDirectory() as folder, started(Path(folder)) as sandbox:
        connection = Connection(tuple(sandbox.bootstrap_servers), tls=False)
        fill(connection.bootstrap_servers, records)
        use_spark_kafka(project)
        with spark_session(project) as spark:
            report(spark, connection)
    return 0


def fill(servers: tuple[str, ...], records: int) -> None:
    """Write the records of all topics, which are compacted but too young to be cleaned.

    A third of the large topic's keys occur twice.
    """
    small = [f"small-{number}" for number in range(SMALL_TOPICS)]
    create_topics(servers, (LARGE, *small), PARTITIONS, {"cleanup.policy": "compact"})
    with writing(servers, timeout_s=300) as writer:
        for number in range(records):
            writer.send(LARGE, f"key-{number % (records * 3 // 4)}", VALUE)
        for name in small:
            for number in range(SMALL_RECORDS):
                writer.send(name, f"key-{number}", VALUE)


def report(spark: SparkSession, connection: Connection) -> None:
    with open_cluster(connection) as cluster:
        snapshot = cluster.snapshot()
        topics = [live for live in snapshot.topics.values() if not live.topic.internal]
        parts = partition_reads(topics, horizons(cluster, snapshot, topics))
        rules = build_contracts(topics, {}, Path(), None, snapshot.taken_at)
    for title, chosen in {
        "one large topic": [part for part in parts if part.range.topic == LARGE],
        f"{SMALL_TOPICS} small topics": [part for part in parts if part.range.topic != LARGE],
    }.items():
        works: dict[str, Callable[[], object]] = {
            "bare count, Spark's source": partial(sparks_own, spark, connection, chosen),
            "bare count, our source": partial(ours, spark, connection, chosen),
            "the audit's whole scan": partial(scan, spark, connection, chosen, snapshot.taken_at, rules),
        }
        seconds = in_turn(works, ROUNDS)
        total = sum(part.range.end - part.range.start for part in chosen)
        print(f"\n{title}: {total:,} records in {len(chosen)} partitions; median of {ROUNDS} rounds, in turn")
        peer = median(next(iter(seconds.values())))
        for name, held in seconds.items():
            spent = median(held)
            print(f"{name:28} {spent:7.2f} s  {total / spent:12,.0f} records/s  {peer / spent:5.2f} x Spark's")


def ours(spark: SparkSession, connection: Connection, parts: list[PartitionRead]) -> int:
    return read_ranges(spark, connection, pack_tasks(spark, (part.range for part in parts))).count()


def sparks_own(spark: SparkSession, connection: Connection, parts: list[PartitionRead]) -> int:
    """Count with Spark's own source. Few large polls make its consumer fastest, because each poll seeks again."""
    starts: dict[str, dict[str, int]] = {}
    ends: dict[str, dict[str, int]] = {}
    for part in parts:
        one = part.range
        starts.setdefault(one.topic, {})[str(one.partition)] = one.start
        ends.setdefault(one.topic, {})[str(one.partition)] = one.end
    settings = {f"kafka.{name}": value for name, value in {**connection.for_java(), **LARGE_POLLS}.items()}
    return (
        spark.read.format("kafka")
        .options(**settings)
        .option("failOnDataLoss", "false")
        .option("assign", json.dumps({topic: sorted(map(int, held)) for topic, held in starts.items()}))
        .option("startingOffsets", json.dumps(starts))
        .option("endingOffsets", json.dumps(ends))
        .load()
        .count()
    )


if __name__ == "__main__":
    sys.exit(main())
