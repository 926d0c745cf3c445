"""Time audits over a growing number of records, keys, topics and partitions, and show where time stops being linear.

Each point has a broker of its own. All audits run in one Spark session, so the start of Spark is not included. Each
audit runs twice, and the second one counts. ``linear`` is the time of the previous point times the growth: a point that
takes longer is past the linear range. The consumer is `kafka-consumer-perf-test` on the same topic::

    .venv/bin/python benchmarks/audit_curves.py [records] [keys] [topics] [partitions]
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from audit import perf_test
from brokers import create_topics, started
from pyspark.sql import SparkSession

from topicwarden.audit.request import AuditRequest
from topicwarden.audit.run import audit
from topicwarden.audit.scan.spark_session import spark_session
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.connection import Connection
from topicwarden.model.project import find_project

VALUE, TOPIC = "x" * 185, "large"


@dataclass(frozen=True)
class Point:
    """One audited cluster; ``records``, ``keys`` and ``partitions`` are those of each topic."""

    records: int
    keys: int
    topics: int = 1
    partitions: int = 6
    compacted: bool = False

    @property
    def names(self) -> list[str]:
        return [TOPIC] if self.topics == 1 else [f"{TOPIC}.{number:05}" for number in range(self.topics)]


CURVES = {
    "records": [(n, Point(records=n, keys=n)) for n in (300_000, 1_000_000, 3_000_000, 10_000_000)],
    "keys": [(n, Point(records=3_000_000, keys=n, compacted=True)) for n in (3_000, 30_000, 300_000, 3_000_000)],
    "topics": [(n, Point(records=1_000, keys=1_000, topics=n, partitions=1)) for n in (100, 300, 1_000, 3_000)],
    "partitions": [
        (10 * n, Point(records=100 * n, keys=100 * n, topics=10, partitions=n)) for n in (10, 30, 100, 300, 1_000)
    ],
}


def main() -> int:
    project = find_project()
    chosen = sys.argv[1:] or list(CURVES)
    print(f"{'over':10} {'number':>10} {'records':>11} {'seconds':>8} {'linear':>8} {'scan':>7} {'consumer':>9}")
    with spark_session(project) as spark:
        for curve in chosen:
            previous: tuple[int, float] | None = None
            for number, point in CURVES[curve]:
                with filled(point) as connection:
                    seconds, scanning = [audited(spark, connection) for _ in range(2)][-1]
                    total = point.records * point.topics
                    floor = f"{perf_test(connection, total):9.2f}" if point.topics == 1 else ""
                linear = f"{previous[1] * number / previous[0]:8.2f}" if previous else " " * 8
                print(
                    f"{curve:10} {number:10,} {total:11,} {seconds:8.2f} {linear} {scanning:7.2f} {floor}", flush=True
                )
                previous = number, seconds
    return 0


@contextmanager
def filled(point: Point) -> Iterator[Connection]:
    with tempfile.TemporaryDirectory() as folder, started(Path(folder), heap="2g") as sandbox:
        connection = Connection(tuple(sandbox.bootstrap_servers), tls=False)
        config = {"cleanup.policy": "compact" if point.compacted else "delete", "retention.ms": "604800000"}
        create_topics(connection.bootstrap_servers, point.names, point.partitions, config)
        with writing(connection.bootstrap_servers, timeout_s=600) as writer:
            for name in point.names:
                for number in range(point.records):
                    writer.send(name, f"key-{number % point.keys:08}", VALUE)
        yield connection


def audited(spark: SparkSession, connection: Connection) -> tuple[float, float]:
    """Return the seconds of an audit of the whole cluster, and of the scan in it."""
    began = time.perf_counter()
    report = audit(spark, AuditRequest("bench", connection, ()), lambda _: None)
    assert report.scanned_records > 0
    return time.perf_counter() - began, report.scan_seconds


if __name__ == "__main__":
    sys.exit(main())
