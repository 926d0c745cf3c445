"""Benchmark reading retained records with a new schema against `value-schema`, the check of audits.

The benchmark starts its own broker, with one topic for each format: records of about 100 bytes in Confluent's wire
format, six partitions, lz4. Both scans run in turn over the same records: the check in one Spark session, and the new
schema, which has one field more, in a process of its own with each scan, as in a plan. A registry in this process
serves the schemas::

    .venv/bin/python benchmarks/new_schema.py [RECORDS]
"""

from __future__ import annotations

import json
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from threading import Thread
from typing import Any

from brokers import create_topics, started
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from topicwarden.audit.collect.horizon import horizons
from topicwarden.audit.retained_records import ReaderRecords
from topicwarden.audit.scan.contracts import Contracts
from topicwarden.audit.scan.full_scan import scan
from topicwarden.audit.scan.offset_ranges import READ_COMMITTED
from topicwarden.audit.scan.partition_reads import PartitionRead, partition_reads
from topicwarden.audit.scan.spark_session import spark_session
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.model.project import find_project
from topicwarden.model.readability import SchemaScan
from topicwarden.model.subject import RegisteredSchema
from topicwarden.specs.record_schemas.protobuf import compile_proto
from topicwarden.specs.stacks.registry_settings import RegistrySettings

PARTITIONS, ROUNDS, TEXT = 6, 3, "x" * 70
_AVRO_FIELDS: list[dict[str, Any]] = [
    {"name": "id", "type": "long"},
    {"name": "amount", "type": "double"},
    {"name": "note", "type": ["null", "string"]},
]
_JSON_PROPERTIES = {"id": {"type": "integer"}, "amount": {"type": "number"}, "note": {"type": "string"}}
_PROTO_FIELDS = "int64 id = 1; double amount = 2; string note = 3;"


def _avro(*more: dict[str, Any]) -> str:
    return json.dumps({"type": "record", "name": "Payment", "fields": [*_AVRO_FIELDS, *more]})


def _json(**more: Any) -> str:
    return json.dumps({"type": "object", "required": ["id"], "properties": {**_JSON_PROPERTIES, **more}})


def _proto(more: str) -> str:
    return f'syntax = "proto3"; message Payment {{ {_PROTO_FIELDS} {more} }}'


OLD = {"avro": _avro(), "json": _json(), "protobuf": _proto("")}
NEW = {
    "avro": _avro({"name": "currency", "type": "string", "default": "EUR"}),
    "json": _json(currency={"type": "string"}),
    "protobuf": _proto("string currency = 4;"),
}
IDS = {name: number for number, name in enumerate(OLD, 1)}


def main() -> int:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with (
        tempfile.TemporaryDirectory() as folder,
        started(Path(folder) / "sandbox") as sandbox,
        registry() as settings,
        spark_session(find_project()) as spark,
    ):
        servers = tuple(sandbox.bootstrap_servers)
        fill(servers, records)
        connection = Connection(servers, tls=False)
        with open_cluster(connection) as cluster:
            snapshot = cluster.snapshot(list(OLD))
            reads = partition_reads(snapshot.topics.values(), horizons(cluster, snapshot, snapshot.topics.values()))
        print(f"{records:,} records of each format; median of {ROUNDS} rounds, in turn")
        for name in OLD:
            report(spark, connection, settings, name, [read for read in reads if read.range.topic == name])
    return 0


def report(
    spark: SparkSession, connection: Connection, registry: RegistrySettings, name: str, reads: list[PartitionRead]
) -> None:
    """Print the rates of both scans."""
    value = {"format": name, "registry": True, "subject": f"{name}-value"}
    if name == "avro":
        value["schema"] = NEW[name]
    audited = Contracts({name: {"records": {"value": value}}}, registry)
    compile_proto(NEW["protobuf"])  # once, as in a plan
    reader = ReaderRecords(connection, registry, find_project(), most_records=1 << 62)
    requested = SchemaScan(name, "value", f"{name}-value", RegisteredSchema(name, NEW[name]))
    works: dict[str, Callable[[], Any]] = {
        "value-schema": partial(scan, spark, connection, reads, 0, audited, consumer=READ_COMMITTED),
        "with the new schema": partial(reader.read, [requested]),
    }
    seconds: dict[str, list[float]] = {work: [] for work in works}
    for round_ in range(ROUNDS + 1):
        for title, work in works.items():
            started_at = time.perf_counter()
            result = work()
            if round_:  # the first round warms up the JVM
                seconds[title].append(time.perf_counter() - started_at)
            if title == "with the new schema":
                assert result[0].complete, result
    total = sum(read.range.size for read in reads)
    peer = median(seconds["value-schema"])
    for title, spent in seconds.items():
        rate = total / median(spent)
        print(
            f"{name:10}{title:22}{median(spent):7.2f} s  {rate:12,.0f} records/s  {peer / median(spent):5.2f} x",
            flush=True,
        )


def fill(servers: tuple[str, ...], records: int) -> None:
    """Write the records of all topics."""
    create_topics(servers, tuple(OLD), PARTITIONS, {})
    note = TEXT.encode()
    values = {
        "avro": b"\x02" + struct.pack("<d", 1.5) + b"\x02\x8c\x01" + note,
        "json": json.dumps({"id": 1, "amount": 1.5, "note": TEXT}).encode(),
        "protobuf": b"\0\x08\x01\x11" + struct.pack("<d", 1.5) + b"\x1a\x46" + note,
    }
    producer = Producer({"bootstrap.servers": ",".join(servers), "compression.type": "lz4", "linger.ms": 50})
    for name, value in values.items():
        data = b"\0" + struct.pack(">I", IDS[name]) + value
        for number in range(records):
            while True:
                try:
                    producer.produce(name, data, partition=number % PARTITIONS)
                    break
                except BufferError:
                    producer.poll(0.5)
        producer.flush(300)


@contextmanager
def registry() -> Iterator[RegistrySettings]:
    """Yield the address of a registry with the old schemas."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            number, _, versions = self.path.removeprefix("/schemas/ids/").partition("/")
            name = next(name for name, id_ in IDS.items() if id_ == int(number))
            schema = {"schema": OLD[name], "schemaType": name.upper()}
            body = json.dumps([{"subject": f"{name}-value", "version": 1}] if versions else schema).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield RegistrySettings(f"http://127.0.0.1:{server.server_address[1]}")
        server.shutdown()


if __name__ == "__main__":
    sys.exit(main())
