"""Compare an audit of new records only with a full audit of the same topic, in the same session.

The benchmark starts its own broker with one topic, which is compacted unless the second argument is another policy.
A third of the keys occur twice. Each round adds 1% more records, and runs both audits::

    .venv/bin/python benchmarks/since_last.py [RECORDS] [POLICY]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from brokers import create_topics, started
from pyspark.sql import SparkSession

from topicwarden.audit.request import AuditRequest
from topicwarden.audit.run import audit
from topicwarden.audit.scan.spark_session import spark_session
from topicwarden.kafka.connect.connection import Connection
from topicwarden.model.finding import AuditReport
from topicwarden.model.project import find_project
from topicwarden.model.verdict import ReadScope
from topicwarden.toolchain import toolchain

TOPIC, PARTITIONS, VALUE_BYTES = "large", 6, 180
SHARE = 100
"""One of this many records is new."""
ROUNDS = 3


def main() -> int:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000_000
    policy = sys.argv[2] if len(sys.argv) > 2 else "compact"
    project = find_project()
    with tempfile.TemporaryDirectory() as folder, started(Path(folder) / "sandbox") as sandbox:
        connection = Connection(tuple(sandbox.bootstrap_servers), tls=False)
        create_topics(connection.bootstrap_servers, [TOPIC], PARTITIONS, {"cleanup.policy": policy})
        fill(connection, 0, records, records)
        with spark_session(project) as spark:
            report(spark, connection, Path(folder), records)
    return 0


def fill(connection: Connection, first: int, number: int, records: int) -> None:
    """Write ``number`` records from the ``first`` on with Kafka's own producer, which is much faster than Python."""
    tools = toolchain(find_project())
    program = [str(Path(__file__).with_name("Fill.java")), ",".join(connection.bootstrap_servers), TOPIC]
    numbers = map(str, (first, number, records * 3 // 4, VALUE_BYTES))
    subprocess.run([str(tools.java), "-Xmx1g", "-cp", f"{tools.kafka_jars}/*", *program, *numbers], check=True)


def report(spark: SparkSession, connection: Connection, folder: Path, records: int) -> None:
    def timed(what: str, since: ReadScope) -> tuple[float, AuditReport]:
        began = time.perf_counter()
        history = (folder / f"history-{since}").as_uri()
        done = audit(spark, AuditRequest("bench", connection, (), (), history, since), lambda _: None)
        spent = time.perf_counter() - began
        print(f"{what:44} {spent:7.2f} s  {done.scanned_records:12,} records read", flush=True)
        return spent, done

    timed("everything, to warm the JVM up", ReadScope.ALL)
    timed("everything, and every key remembered", ReadScope.LAST)
    new, shares = records // SHARE, []
    for round_ in range(ROUNDS):
        fill(connection, records + round_ * new, new, records)
        spent, done = timed("1% more, --since last", ReadScope.LAST)
        full, _ = timed("everything", ReadScope.ALL)
        shares.append(spent / full)
        for note in done.notes:
            print(note)
    size = sum(file.stat().st_size for file in (folder / f"history-{ReadScope.LAST}").rglob("*") if file.is_file())
    print(
        f"\n--since last of the full audit: {', '.join(f'{each:.0%}' for each in shares)}; median {median(shares):.0%}"
    )
    print(f"the history: {size:,} bytes, {size / records:.1f} a record")


if __name__ == "__main__":
    sys.exit(main())
