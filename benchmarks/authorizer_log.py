"""Compare reading authorizer logs with an audit of as many records::

    .venv/bin/python benchmarks/authorizer_log.py [LINES]

The log is that of one broker on KRaft, in a file for each hour: 60 principals, 100 topics and 300 different decisions,
lines of about 400 bytes. The records have 200 bytes each, in one topic with six partitions.
Both are read in turn, in one Spark session.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

from audit import audited, filled, timed

from topicwarden.audit.authorizer_log.log_folder import log_address
from topicwarden.audit.authorizer_log.read_logs import read_authorizer_logs
from topicwarden.audit.scan.spark_session import spark_session
from topicwarden.model.project import find_project

ROUNDS, PRINCIPALS, TOPICS, DECISIONS = 3, 60, 100, 300
REQUESTS = (("Fetch", "READ"), ("Produce", "WRITE"), ("Metadata", "DESCRIBE"))
START, EVERY_MS = datetime(2026, 11, 1, tzinfo=UTC), 26


def main() -> int:
    lines = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    with tempfile.TemporaryDirectory() as name, filled(lines, lines // 2) as (_, connection):
        size = write_log(Path(name) / "broker-1", lines)
        with spark_session(find_project()) as spark:
            works: dict[str, Callable[[], object]] = {
                "authorizer log": lambda: read_authorizer_logs(spark, log_address(name)),
                "audit, all checks on": lambda: audited(spark, connection),
            }
            coverage = read_authorizer_logs(spark, log_address(name)).coverage["broker-1"]
            assert (coverage.lines, coverage.unreadable) == (lines, 0), coverage
            seconds: dict[str, list[float]] = {name: [] for name in works}
            for round_ in range(ROUNDS + 1):
                for title, work in works.items():
                    spent = timed(work)
                    if round_:  # the first round warms up the JVM
                        seconds[title].append(spent)
                        print(f"{title:22} {spent:7.2f} s", flush=True)
    print(f"\n{lines:,} lines with {size / 1e9:.1f} GB, and {lines:,} records; median of {ROUNDS} rounds, in turn")
    whole = median(seconds["audit, all checks on"])
    for title, each in seconds.items():
        spent = median(each)
        print(f"{title:22} {spent:7.2f} s  {lines / spent:12,.0f} per second  {spent / whole:.2f} of the audit")
    return 0


def write_log(folder: Path, lines: int) -> int:
    """Write a file for each hour, and return the bytes in all."""
    draw, number, written = random.Random(1), 0, 0
    decisions = [decision(each) for each in range(DECISIONS)]
    folder.mkdir()
    while number < lines:
        hour = START + timedelta(milliseconds=number * EVERY_MS)
        path = folder / f"kafka-authorizer.log.{hour:%Y-%m-%d-%H-%M-%S}"
        with path.open("w", encoding="utf-8") as file:
            for each in range(number, min(lines, number + 3_600_000 // EVERY_MS)):
                time = START + timedelta(milliseconds=each * EVERY_MS)
                file.write(f"[{time:%Y-%m-%d %H:%M:%S},{time.microsecond // 1000:03}] {draw.choice(decisions)}\n")
                number += 1
        written += path.stat().st_size
    return written


def decision(number: int) -> str:
    request, operation = REQUESTS[number % len(REQUESTS)]
    principal = f"User:CN=service-{number % PRINCIPALS},OU=apps,O=Acme"
    return (
        f"DEBUG Principal = {principal} is Allowed operation = {operation} "
        f"from host = 10.0.{number % 7}.{number % 200} on resource = Topic:LITERAL:orders.topic-{number % TOPICS}.v1 "
        f"for request = {request} with resourceRefCount = 1 based on rule "
        f"MatchingAcl(acl=StandardAcl(resourceType=TOPIC, resourceName=orders., "
        f"patternType=PREFIXED, principal={principal}, host=*, operation={operation}, permissionType=ALLOW)) "
        "(kafka.authorizer.logger)"
    )


if __name__ == "__main__":
    sys.exit(main())
