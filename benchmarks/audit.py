"""Benchmark the audit with all checks against Spark's own Kafka source and Kafka's own consumer.

The benchmark starts its own broker with one topic: 200-byte records, six partitions, lz4, and two records for each
key. The three readers run in turn, in one Spark session. The consumer is `kafka-consumer-perf-test` with one
thread and default settings.

`--memory` audits few and many records, and few and many keys. Each audit runs in its own process and prints its peak
memory::

    .venv/bin/python benchmarks/audit.py [RECORDS]
    .venv/bin/python benchmarks/audit.py --memory [RECORDS]
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from brokers import create_topics, started, use_spark_kafka
from pyspark.sql import SparkSession

from topicwarden.audit.request import AuditRequest
from topicwarden.audit.run import audit
from topicwarden.audit.scan.spark_session import spark_session
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.model.contents import (
    Contents,
    KeyContents,
    PartitionContents,
    RecordContents,
    TimestampContents,
    ValueContents,
)
from topicwarden.model.project import find_project
from topicwarden.model.topic import Topic
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.validated_document import SettingLocations
from topicwarden.specs.yaml_nodes import ParsedDocument
from topicwarden.toolchain import toolchain

TOPIC, PARTITIONS, ROUNDS, VALUE = "large", 6, 3, "x" * 185
LARGE_POLLS = {"kafka.max.poll.records": "100000", "kafka.max.partition.fetch.bytes": str(32 << 20)}
CONFIG = {"cleanup.policy": "compact", "min.insync.replicas": "1"}
CONTENTS = Contents(
    key=KeyContents(required=True, format="string", partitioner="murmur2"),
    value=ValueContents(format="string"),
    timestamps=TimestampContents(type="CreateTime", max_ahead=3_600_000),
    records=RecordContents(max_bytes=1_024),
    partitions=PartitionContents(max_skew=4.0),
)


def main() -> int:
    arguments = [each for each in sys.argv[1:] if not each.startswith("--")]
    if "--one" in sys.argv:
        return one(*arguments)
    records = int(arguments[0]) if arguments else 20_000_000
    return memory(records) if "--memory" in sys.argv else speed(records)


def speed(records: int) -> int:
    use_spark_kafka(find_project())
    with filled(records, records // 2) as (_, connection), spark_session(find_project()) as spark:
        with open_cluster(connection) as cluster:
            snapshot = cluster.snapshot()
        works: dict[str, Callable[[], float]] = {
            "kafka-consumer-perf-test": lambda: perf_test(connection, records),
            "bare count, Spark's source": lambda: timed(lambda: bare_count(spark, connection, snapshot)),
            "the audit, all checks on": lambda: timed(lambda: audited(spark, connection)),
        }
        seconds: dict[str, list[float]] = {name: [] for name in works}
        for round_ in range(ROUNDS + 1):
            for name, work in works.items():
                spent = work()
                if round_:  # the first round warms up the JVM
                    seconds[name].append(spent)
                    print(f"{name:28} {spent:7.2f} s", flush=True)
    print(f"\n{records:,} records in {PARTITIONS} partitions; median of {ROUNDS} rounds, in turn")
    whole = median(seconds["the audit, all checks on"])
    for name, held in seconds.items():
        spent = median(held)
        print(f"{name:28} {spent:7.2f} s  {records / spent:12,.0f} records/s  the audit has {spent / whole:.2f} of it")
    return 0


def memory(records: int) -> int:
    for count, keys in ((records // 10, records // 20), (records, records // 2), (records, 1_000)):
        with filled(count, keys) as (_, connection):
            command = [sys.executable, __file__, "--one", connection.bootstrap_servers[0]]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            print(f"{count:12,} records, {keys:12,} keys: {done.stdout.strip() or done.stderr[-500:]}", flush=True)
    return 0


def one(server: str) -> int:
    """Run one audit in this process, and print the peak memory of its JVM."""
    with spark_session(find_project()) as spark:
        seconds = timed(lambda: audited(spark, Connection((server,), tls=False)))
        assert spark._jvm
        process = spark._jvm.java.lang.ProcessHandle.current().pid()
        most = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
        print(f"{int(most[1]) >> 10 if most else 0:,} MiB at most, {seconds:.1f} s")
    return 0


@contextmanager
def filled(records: int, keys: int) -> Iterator[tuple[Sandbox, Connection]]:
    with tempfile.TemporaryDirectory() as folder, started(Path(folder)) as sandbox:
        connection = Connection(tuple(sandbox.bootstrap_servers), tls=False)
        create_topics(connection.bootstrap_servers, [TOPIC], PARTITIONS, CONFIG)
        with writing(connection.bootstrap_servers, timeout_s=300) as writer:
            for number in range(records):
                writer.send(TOPIC, f"key-{number % keys:08}", VALUE)
        yield sandbox, connection


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def audited(spark: SparkSession, connection: Connection) -> None:
    declared = Declaration(
        Topic(TOPIC, PARTITIONS, 1, CONFIG, contents=CONTENTS),
        SettingLocations(ParsedDocument("topics/large.yaml"), (), {}),
    )
    report = audit(spark, AuditRequest("bench", connection, (declared,)), lambda _: None)
    assert report.scanned_records > 0


def perf_test(connection: Connection, records: int) -> float:
    """Return the seconds that the consumer spends fetching, without its startup."""
    tools = toolchain(find_project())
    command = [str(tools.java), "-cp", f"{tools.kafka_jars}/*", "org.apache.kafka.tools.ConsumerPerformance"]
    options = ["--bootstrap-server", connection.bootstrap_servers[0], "--topic", TOPIC, "--messages", str(records)]
    said = subprocess.run([*command, *options], capture_output=True, text=True, check=True).stdout
    rate = float(said.strip().splitlines()[-1].split(",")[-1])
    return records / rate


def bare_count(spark: SparkSession, connection: Connection, snapshot: Snapshot) -> int:
    extents = snapshot.topics[TOPIC].extents
    settings = {f"kafka.{name}": value for name, value in connection.for_java().items()}
    return (
        spark.read.format("kafka")
        .options(**settings, **LARGE_POLLS)
        .option("assign", json.dumps({TOPIC: sorted(extents)}))
        .option("startingOffsets", json.dumps({TOPIC: {str(p): e.start for p, e in extents.items()}}))
        .option("endingOffsets", json.dumps({TOPIC: {str(p): e.end for p, e in extents.items()}}))
        .load()
        .count()
    )


if __name__ == "__main__":
    sys.exit(main())
