"""Test references to the keys of topics, on a real broker, against an oracle in Python that draws the records."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from confluent_kafka import Producer
from kafka.admin import NewTopic
from pyspark.sql import SparkSession

from tests.support.clients import until
from tests.support.projects import own_cache, project_of
from topicwarden.kafka.connect.clients import connected
from topicwarden.model.finding import Finding
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import auditing
from topicwarden.operations.operation_options import AuditOptions

PLAIN = "owner: team, partitions: 2, replication_factor: 1"
DECLARED = {
    "refers.orders": "{%s, contents: {value: {format: json}, "
    "references: [{field: customer.id, topic: refers.customers}, "
    "{field: product, topic: refers.products}, {field: shop, topic: refers.shops}]}}\n",
    "refers.customers": "{%s, contents: {key: {format: long}, value: {format: json}, "
    "references: [{field: advised_by, topic: refers.customers}]}}\n",
    "refers.products": "{%s, contents: {key: {format: string}}}\n",
    "refers.shops": "{%s, contents: {key: {format: string}}}\n",
}
HOUR_MS = 3_600_000


@pytest.fixture
def project(servers: list[str], tmp_path: Path) -> Iterator[Project]:
    settings = f"config: {{'kafka:bootstrapServers': [{', '.join(servers)}], 'kafka:tlsEnabled': false}}\n"
    with connected(servers) as admin:
        admin.create_topics([NewTopic(name, 2, 1) for name in DECLARED])
    with own_cache(tmp_path):
        files = {f"{name}.yaml": text % PLAIN for name, text in DECLARED.items()}
        yield project_of(tmp_path / "project", files, settings)
    with connected(servers) as admin:
        admin.delete_topics([*DECLARED])
        until(lambda: not {*DECLARED} & {*admin.list_topics()}, "the topics are gone")


def text(value: Any) -> str | None:
    """Return a drawn reference as the text of a key; None if it is not judged."""
    return None if value is None or isinstance(value, bool) else str(int(value) if isinstance(value, float) else value)


def audited(project: Project) -> Callable[[str, str], Finding]:
    """Return a function from a topic and a part of a message to the only such finding of an audit of all topics."""
    with auditing(project, "dev", options=AuditOptions(history="none")) as audit:
        report = audit((*DECLARED,))

    def of(topic: str, what: str) -> Finding:
        (one,) = [one for one in report.of_topic(topic) if one.check == "references" and what in one.message]
        return one

    return of


def write_shops(servers: list[str]) -> None:
    """Write the key s1 in a transaction that is aborted, and s2 in one that is committed."""
    transactional = Producer({"bootstrap.servers": ",".join(servers), "transactional.id": "refers"})
    transactional.init_transactions()
    transactional.begin_transaction()
    transactional.produce("refers.shops", b"x", "s1", 0)
    transactional.flush()
    transactional.abort_transaction()
    transactional.begin_transaction()
    transactional.produce("refers.shops", b"x", "s2", 0)
    transactional.commit_transaction()


def test_drawn_references_are_missing_where_an_oracle_says(
    servers: list[str], project: Project, spark: SparkSession
) -> None:
    draw, now = random.Random(45), int(time.time() * 1000)
    producer = Producer({"bootstrap.servers": ",".join(servers)})
    old, young = now - HOUR_MS, now
    customers, products = draw.sample(range(60), 40), draw.sample(range(60), 40)
    advised = []
    for number in customers:
        advised.append(draw.choice([None, number, draw.randrange(60)]))
        value = json.dumps({"advised_by": advised[-1]})
        producer.produce("refers.customers", value, pack(">q", number), number % 2, timestamp=old)
    for number in products:
        producer.produce("refers.products", b"x", f"{number}", number % 2)
    deleted = products[:5]
    for number in deleted:
        producer.produce("refers.products", None, f"{number}", number % 2)
    rows = []
    for _ in range(200):
        number = draw.randrange(60)
        id = draw.choice([None, True, number, float(number), f"{number}", f"0{number}"])
        product, stamp = str(draw.randrange(60)), draw.choice([old, old, old, young])
        rows.append((id, product, stamp))
        order = {"customer": {"id": id}, "product": product, "shop": "s1"}
        producer.produce("refers.orders", json.dumps(order), partition=draw.randrange(2), timestamp=stamp)
    producer.flush()
    write_shops(servers)

    of = audited(project)
    keys = {str(number) for number in customers}
    judged = [(str(int(text(id) or "")), stamp) for id, _, stamp in rows if text(id) is not None]
    missing = of("refers.orders", "customer.id that is no key of refers.customers")
    assert missing.verdict is Verdict.FAIL
    assert missing.evidence["records"] == sum(id not in keys and stamp == old for id, stamp in judged) > 0
    young_ones = sum(id not in keys and stamp == young for id, stamp in judged)
    assert f"{young_ones} records not judged yet" in " ".join(missing.because)
    unknown = of("refers.orders", "product that is no key of refers.products")
    product_keys = {f"{number}" for number in products}
    assert unknown.verdict is Verdict.FAIL
    assert unknown.evidence["records"] == sum(each not in product_keys and stamp == old for _, each, stamp in rows) > 0
    gone = {f"{number}" for number in deleted}
    assert f"{sum(each in gone for _, each, _ in rows)} records refer to a key that was deleted" in " ".join(
        unknown.because
    )
    aborted = of("refers.orders", "shop that is no key of refers.shops")
    assert aborted.verdict is Verdict.FAIL
    assert aborted.evidence["records"] == sum(stamp == old for *_, stamp in rows)
    itself = of("refers.customers", "advised_by that is no key of refers.customers")
    assert itself.verdict is Verdict.FAIL
    assert itself.evidence["records"] == sum(each is not None and str(each) not in keys for each in advised) > 0

    with auditing(project, "dev", options=AuditOptions(history="none")) as audit:
        alone = audit(("refers.orders",))
    assert {one.verdict for one in alone.findings if one.check == "references"} == {Verdict.UNDECIDABLE}
