"""Test the rules that compare records, on a real broker, against an oracle in Python that draws the records."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from kafka.admin import NewTopic
from pyspark.sql import SparkSession

from tests.support.clients import until
from tests.support.projects import own_cache, project_of
from topicwarden.kafka.connect.clients import connected
from topicwarden.model.finding import AuditReport
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import auditing
from topicwarden.operations.operation_options import AuditOptions

DECLARED = (
    "{owner: team, partitions: 3, replication_factor: 1, contents: {value: {format: json}, "
    "ordered: [{field: version}, {field: version, strict: true}], "
    "unique: [{fields: [order.id]}, {fields: [/order/id], within: 1d}, {header: event-id}, {key: true}]}}\n"
)
TOPICS = ("compared.drawn", "compared.clean")
DAY_MS = 86_400_000
NOW = 1_790_000_000_000

Row = tuple[int, int, str | None, int, dict[str, Any] | None, bytes | None]
"""Partition, offset, key, timestamp, value and header."""


@pytest.fixture
def project(servers: list[str], tmp_path: Path) -> Iterator[Project]:
    settings = f"config: {{'kafka:bootstrapServers': [{', '.join(servers)}], 'kafka:tlsEnabled': false}}\n"
    with connected(servers) as admin:
        admin.create_topics([NewTopic(name, 3, 1, topic_configs={"retention.ms": "-1"}) for name in TOPICS])
    with own_cache(tmp_path):
        yield project_of(tmp_path / "project", {f"{name}.yaml": DECLARED for name in TOPICS}, settings)
    with connected(servers) as admin:
        admin.delete_topics([*TOPICS])
        until(lambda: not {*TOPICS} & {*admin.list_topics()}, "the topics are gone")


def drawn(servers: list[str], seed: int, *, transactions: bool) -> list[Row]:
    """Write records, if ``transactions`` in transactions that may abort, and return the committed ones."""
    draw = random.Random(seed)
    settings = {"bootstrap.servers": ",".join(servers)}
    producer = Producer(settings | ({"transactional.id": f"compared-{seed}"} if transactions else {}))
    if transactions:
        producer.init_transactions()
    rows: list[Row] = []
    for _ in range(12):
        if transactions:
            producer.begin_transaction()
        batch: list[Row] = []
        for _ in range(20):
            key = draw.choice([None, *(f"k{number}" for number in range(12))])
            id = draw.choice([None, 1, 1.0, 2**53 + draw.randrange(3), f"o{draw.randrange(400)}", draw.randrange(400)])
            value = (
                None if draw.random() < 0.05 else {"order": {"id": id}, "version": draw.choice([1, 2, 2.0, 10, "2"])}
            )
            stamp = NOW + draw.choice([0, 1, DAY_MS, 2 * DAY_MS + 1])
            header = draw.choice([None, *(b"e%d" % number for number in range(300))])
            partition = draw.randrange(3)

            def delivered(
                error: Any, message: Any, rest: Any = (key, stamp, value, header), into: list[Row] = batch
            ) -> None:
                into.append((message.partition(), message.offset(), *rest))

            headers: list[tuple[str, str | bytes | None]] = [] if header is None else [("event-id", header)]
            text = None if value is None else json.dumps(value).encode()
            producer.produce(
                "compared.drawn", text, key, partition, on_delivery=delivered, timestamp=stamp, headers=headers
            )
        producer.flush()
        aborted = transactions and draw.random() < 0.3
        if aborted:
            producer.abort_transaction()
        elif transactions:
            producer.commit_transaction()
        rows += [] if aborted else batch
    return sorted(rows, key=lambda row: row[:2])


def broken_order(rows: list[Row], *, strict: bool) -> int:
    """Return the number of records that break ``ordered``; rows are in the order of their offsets."""
    last: dict[tuple[int, str], Any] = {}
    broken = 0
    for partition, _, key, _, value, _ in rows:
        if key is None:
            continue
        version, before = (value or {}).get("version"), last.get((partition, key))
        if version is not None and before is not None and isinstance(version, str) == isinstance(before, str):
            broken += version <= before if strict else version < before
        last[partition, key] = version
    return broken


def duplicates(identities: list[tuple[Any, int]], within: int | None) -> int:
    """Return the number of identities that the one before has, too, by time."""
    times: dict[Any, list[int]] = {}
    for identity, stamp in identities:
        if identity is not None:
            times.setdefault(identity, []).append(stamp)
    gaps = [b - a for each in times.values() for a, b in zip(sorted(each), sorted(each)[1:], strict=False)]
    return sum(within is None or gap <= within for gap in gaps)


def records(report: AuditReport, topic: str, check: str, what: str) -> int:
    """Return the number of records in the fail of a check whose message has ``what``; 0 if there is none."""
    found = [
        one
        for one in report.of_topic(topic)
        if one.check == check and one.verdict is Verdict.FAIL and what in one.message
    ]
    return sum(int(one.evidence["records"] or 0) for one in found)


@pytest.mark.parametrize("transactions", [True, False])
def test_drawn_records_break_the_rules_that_an_oracle_says(
    servers: list[str], project: Project, spark: SparkSession, *, transactions: bool
) -> None:
    rows = drawn(servers, 44, transactions=transactions)
    producer = Producer({"bootstrap.servers": ",".join(servers)})
    for number in range(50):
        value = json.dumps({"order": {"id": number}, "version": number}).encode()
        producer.produce("compared.clean", value, f"k{number}", headers=[("event-id", b"%d" % number)])
    producer.flush()
    with auditing(project, "dev", options=AuditOptions(history="none")) as audit:
        report = audit(TOPICS)
    drawn_topic = "compared.drawn"
    assert records(report, drawn_topic, "ordered", "lower version") == broken_order(rows, strict=False) > 0
    assert records(report, drawn_topic, "ordered", "no higher version") == broken_order(rows, strict=True)
    ids = [((value or {}).get("order", {}).get("id"), stamp) for _, _, _, stamp, value, _ in rows]
    assert records(report, drawn_topic, "unique", "same order.id as") == duplicates(ids, None) > 0
    assert records(report, drawn_topic, "unique", "same /order/id as") == duplicates(ids, DAY_MS) > 0
    assert records(report, drawn_topic, "unique", "same header event-id") == duplicates(
        [(header, stamp) for *_, stamp, _, header in rows], None
    )
    assert records(report, drawn_topic, "unique", "same key") == duplicates([(row[2], row[3]) for row in rows], None)
    assert not any(b"e1" in one.message.encode() for one in report.of_topic(drawn_topic))
    clean = [one for one in report.of_topic("compared.clean") if one.check in ("ordered", "unique")]
    assert {one.verdict for one in clean} == {Verdict.PASS}
