"""Measure what the rules that compare records cost, and an inference, against `value-schema` alone.

The benchmark starts its own broker with one topic of JSON records and a small topic that they refer to. Audits and the
inference run in turn over the same records, in one Spark session::

    .venv/bin/python benchmarks/contents.py [RECORDS [BYTES]]
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

from brokers import create_topics, started
from confluent_kafka import Producer
from rounds import in_turn

from topicwarden.audit.scan.spark_session import spark_session
from topicwarden.model.project import Project, find_project
from topicwarden.operations.audit import audit_topics
from topicwarden.operations.infer import infer_stack
from topicwarden.operations.operation_options import AuditOptions

ORDERS, CUSTOMERS, PARTITIONS, KEYS, ROUNDS = "orders", "customers", 6, 10_000, 3
SCHEMA: Final = {
    "type": "object",
    "required": ["id", "version", "customer"],
    "properties": {"id": {"type": "integer"}, "version": {"type": "integer"}, "customer": {"type": "string"}},
}
RULES: Final = {
    "value-schema alone": "",
    "and arrival": "arrival: {max_silence: 1d, every: 1d, max: 1000000000}",
    "and unique": "unique: [{fields: [id]}]",
    "and references": f"references: [{{field: customer, topic: {CUSTOMERS}}}]",
    "and ordered": "ordered: [{field: version}]",
    "and personal": "personal: [email]",
}
ALL_FIVE: Final = "all five"
INFERENCE: Final = "inference"
LIMITS: Final = {ALL_FIVE: 1.6, INFERENCE: 2.0}


def main() -> int:
    records, size = [*map(int, sys.argv[1:]), *(2_000_000, 1_000)[len(sys.argv) - 1 :]]
    with tempfile.TemporaryDirectory() as name, started(Path(name) / "broker") as sandbox:
        folder, servers = Path(name), list(sandbox.bootstrap_servers)
        fill(servers, records, size)
        rules = {**RULES, ALL_FIVE: ", ".join(filter(None, RULES.values()))}
        works: dict[str, Callable[[], object]] = {
            title: partial(audited, project(folder / f"p{number}", servers, rule))
            for number, (title, rule) in enumerate(rules.items())
        }
        works[INFERENCE] = partial(infer_stack, project(folder / "inferred", servers, ""), "dev", (ORDERS,))
        with spark_session(find_project()):
            seconds = in_turn(works, ROUNDS, lambda title, spent: print(f"{title:20}{spent:8.2f} s", flush=True))
    print(f"\n{records:,} records of {size:,} bytes; median of {ROUNDS} rounds, in turn")
    report(records, {title: median(spent) for title, spent in seconds.items()})
    return 0


def report(records: int, seconds: Mapping[str, float]) -> None:
    alone = next(iter(seconds.values()))
    for title, spent in seconds.items():
        limit = f"  (limit {LIMITS[title]})" if title in LIMITS else ""
        print(f"{title:20}{spent:8.2f} s {records / spent:12,.0f} records/s {spent / alone:6.2f} x{limit}")


def audited(declared: Project) -> None:
    found = audit_topics(declared, "dev", options=AuditOptions(history="none"))
    broken = [each for each in found.findings if each.verdict == "fail" and each.check in RULES]
    assert not broken, broken


def fill(servers: list[str], records: int, size: int) -> None:
    """Write the records: each with its own id, and versions that rise within each of the keys."""
    create_topics(servers, (ORDERS, CUSTOMERS), PARTITIONS, {})
    producer = Producer({"bootstrap.servers": ",".join(servers), "compression.type": "lz4", "linger.ms": 50})
    for number in range(KEYS):
        producer.produce(CUSTOMERS, b"{}", f"c{number}")
    padding = "x" * max(0, size - 90)
    for number in range(records):
        value = {"id": number, "version": number, "customer": f"c{number % KEYS}", "email": "-", "text": padding}
        while True:
            try:
                producer.produce(ORDERS, json.dumps(value), f"k{number % KEYS}")
                break
            except BufferError:
                producer.poll(0.5)
    producer.flush(300)


def project(root: Path, servers: list[str], rules: str) -> Project:
    """Return a project that declares both topics, with these rules for the orders."""
    for folder in ("topics", "stacks"):
        (root / folder).mkdir(parents=True)
    (root / "Pulumi.yaml").write_text("name: bench\nruntime: python\nmain: stacks/\nstackConfigDir: stacks\n")
    settings = f"config:\n  kafka:bootstrapServers: [{', '.join(servers)}]\n  kafka:tlsEnabled: false\n"
    (root / "stacks" / "Pulumi.dev.yaml").write_text(settings)
    (root / "topics" / "orders.json").write_text(json.dumps(SCHEMA))
    plain = f"owner: bench, partitions: {PARTITIONS}, replication_factor: 1"
    contents = ", ".join(filter(None, ("value: {format: json, schema: orders.json}", rules)))
    (root / "topics" / "all.yaml").write_text(
        f"{{topic: {ORDERS}, {plain}, contents: {{{contents}}}}}\n---\n"
        f"{{topic: {CUSTOMERS}, {plain}, contents: {{key: {{format: string}}}}}}\n"
    )
    return Project(root)


if __name__ == "__main__":
    sys.exit(main())
