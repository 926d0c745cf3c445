"""Benchmark the audit with all checks against Kafka's own consumer, the wire floor, and Spark's own Kafka source.

The benchmark starts its own broker with one topic: 200-byte records, six partitions, and two records for each key. The
readers run in turn, in one Spark session. The consumer is `kafka-consumer-perf-test` with one thread and default
settings. The wire floor is `WireFloor.java`: Kafka's consumer with one thread for each core and without values.

`--codec` chooses the compression of the records (default: lz4). With `--no-keys`, the topic is not compacted and
declares nothing for which an audit counts keys. With `--format`, the values have 1,000 bytes and a schema, and a bare
parse of each value, with the library of the audit, is in place of the wire floor.

`--memory` audits few and many records, and few and many keys. Each audit runs in its own process and prints its peak
memory::

    .venv/bin/python benchmarks/audit.py [--codec none|gzip|snappy|lz4|zstd] [--no-keys] [RECORDS]
        [--format string|json|avro|protobuf]
    .venv/bin/python benchmarks/audit.py --memory [RECORDS]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from brokers import create_topics, started, use_spark_kafka
from confluent_kafka import Producer
from encoded_values import FILES, encoder, write_schema
from pyspark.sql import SparkSession

from topicwarden.audit.request import AuditRequest
from topicwarden.audit.run import audit
from topicwarden.audit.scan.spark_session import spark_session
from topicwarden.extensions.sandbox.local_cluster import Sandbox
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
from topicwarden.model.verdict import Verdict
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.validated_document import SettingLocations
from topicwarden.specs.yaml_nodes import ParsedDocument
from topicwarden.toolchain import spark_reader, toolchain

TOPIC, PARTITIONS, ROUNDS = "large", 6, 3
LARGE_POLLS = {"kafka.max.poll.records": "100000", "kafka.max.partition.fetch.bytes": str(32 << 20)}


@dataclass(frozen=True)
class Workload:
    """The records of the topic, and whether the audit counts their keys."""

    codec: str = "lz4"
    by_key: bool = True
    format: str = "string"

    @property
    def config(self) -> dict[str, str]:
        return {"cleanup.policy": "compact" if self.by_key else "delete", "min.insync.replicas": "1"}

    @property
    def contents(self) -> Contents:
        key = KeyContents(required=True, format="string", partitioner="murmur2" if self.by_key else None)
        value = ValueContents(format=self.format, schema=FILES.get(self.format))
        return Contents(
            key=key,
            value=value,
            timestamps=TimestampContents(type="CreateTime", max_ahead=3_600_000),
            records=RecordContents(max_bytes=2_048),
            partitions=PartitionContents(max_skew=4.0),
        )


LZ4 = Workload()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="?", type=int, default=20_000_000)
    parser.add_argument("--codec", default="lz4")
    parser.add_argument("--no-keys", action="store_true")
    parser.add_argument("--format", choices=["string", *FILES], default="string")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--one", metavar="SERVER", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    workload = Workload(chosen.codec, not chosen.no_keys, chosen.format)
    if chosen.one:
        return one(chosen.one, workload)
    return memory(chosen.records, workload) if chosen.memory else speed(chosen.records, workload)


def speed(records: int, workload: Workload) -> int:
    use_spark_kafka(find_project())
    with (
        tempfile.TemporaryDirectory() as scratch,
        filled(records, records // 2, workload, folder := Path(scratch)) as (_, connection),
        spark_session(find_project()) as spark,
    ):
        with open_cluster(connection) as cluster:
            snapshot = cluster.snapshot()
        with wire_floor(connection, workload, folder) as floor:
            works: dict[str, Callable[[], float]] = {
                "kafka-consumer-perf-test": lambda: perf_test(connection, records),
                "wire floor" if workload.format == "string" else "bare parse": floor,
                "the audit": lambda: timed(lambda: audited(spark, connection, workload, folder)),
            }
            if workload.format == "string":  # with large records, Spark's source ends with an error in the second round
                works["bare count, Spark's source"] = lambda: timed(lambda: bare_count(spark, connection, snapshot))
            seconds: dict[str, list[float]] = {name: [] for name in works}
            for round_ in range(ROUNDS + 1):
                for name, work in works.items():
                    spent = work()
                    if round_:  # the first round warms up the JVM
                        seconds[name].append(spent)
                        print(f"{name:28} {spent:7.2f} s", flush=True)
    print(f"\n{records:,} records in {PARTITIONS} partitions, {workload}; median of {ROUNDS} rounds, in turn")
    whole = median(seconds["the audit"])
    for name, held in seconds.items():
        spent = median(held)
        print(f"{name:28} {spent:7.2f} s {records / spent:12,.0f} records/s  the audit takes {whole / spent:.2f} of it")
    return 0


def memory(records: int, workload: Workload) -> int:
    for count, keys in ((records // 10, records // 20), (records, records // 2), (records, 1_000)):
        with filled(count, keys, workload) as (_, connection):
            command = [sys.executable, __file__, "--one", connection.bootstrap_servers[0]]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            print(f"{count:12,} records, {keys:12,} keys: {done.stdout.strip() or done.stderr[-500:]}", flush=True)
    return 0


def one(server: str, workload: Workload) -> int:
    """Run one audit in this process, and print the peak memory of its JVM."""
    with spark_session(find_project()) as spark:
        seconds = timed(lambda: audited(spark, Connection((server,), tls=False), workload, Path()))
        assert spark._jvm
        process = spark._jvm.java.lang.ProcessHandle.current().pid()
        most = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
        print(f"{int(most[1]) >> 10 if most else 0:,} MiB at most, {seconds:.1f} s")
    return 0


def _text(_: int) -> bytes:
    return b"x" * 185


@contextmanager
def filled(
    records: int, keys: int, workload: Workload = LZ4, schemas: Path = Path()
) -> Iterator[tuple[Sandbox, Connection]]:
    """Yield a broker with the topic; the schema of its values is written into the folder ``schemas``."""
    if workload.format in FILES:
        write_schema(workload.format, schemas)
        encode = encoder(workload.format, schemas)
    else:
        encode = _text
    with tempfile.TemporaryDirectory() as folder, started(Path(folder)) as sandbox:
        connection = Connection(tuple(sandbox.bootstrap_servers), tls=False)
        create_topics(connection.bootstrap_servers, [TOPIC], PARTITIONS, workload.config)
        settings = {"partitioner": "murmur2_random", "linger.ms": 20, "batch.size": 262_144}
        servers = ",".join(connection.bootstrap_servers)
        producer = Producer({"bootstrap.servers": servers, "compression.type": workload.codec, **settings})
        for number in range(records):
            key, value = f"key-{number % keys:08}", encode(number)
            while True:
                try:
                    producer.produce(TOPIC, value, key)
                    break
                except BufferError:  # the queue is full: wait for deliveries
                    producer.poll(0.1)
        assert producer.flush(300) == 0
        yield sandbox, connection


@contextmanager
def wire_floor(connection: Connection, workload: Workload, folder: Path) -> Iterator[Callable[[], float]]:
    """Yield a function that reads the topic once in a process of its own, and returns the seconds.

    Values with a schema, which is in ``folder``, are parsed with the reader's own copy of the library.
    """
    tools = toolchain(find_project())
    class_path = os.pathsep.join([str(spark_reader.find_jar(find_project())), f"{tools.kafka_jars}/*"])
    program = [str(Path(__file__).with_name("WireFloor.java")), connection.bootstrap_servers[0], TOPIC]
    command = [str(tools.java), "-Xmx2g", "-XX:+UseParallelGC", "-cp", class_path, *program, workload.format]
    if workload.format in FILES:
        command.append(str(write_schema(workload.format, folder)))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stdout
        requests, answers = process.stdin, process.stdout

        def read() -> float:
            requests.write("read\n")
            requests.flush()
            return float(answers.readline().split()[1])

        yield read
        requests.close()


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def audited(spark: SparkSession, connection: Connection, workload: Workload = LZ4, folder: Path = Path()) -> None:
    declared = Declaration(
        Topic(TOPIC, PARTITIONS, 1, workload.config, contents=workload.contents),
        SettingLocations(ParsedDocument("large.yaml"), (), {}),
    )
    report = audit(spark, AuditRequest("bench", connection, (declared,), root=folder), lambda _: None)
    assert report.scanned_records > 0
    assert {each.verdict for each in report.findings if each.check == "value-schema"} == {Verdict.PASS}


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
