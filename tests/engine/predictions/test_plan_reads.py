"""Test what a plan reads: all consumer groups, and the newest records in every codec."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from tests.engine.predictions.conftest import deployment, one
from tests.support.clients import commit, until
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.compaction import wait_until_clean
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.read.newest_records import MOST_RECORDS, NewestRecords
from topicwarden.model.planned_change import Severity

# Test that a plan finds all consumer groups, and predicts for offsets with aborted transactions and gaps.

_TOPIC = "{owner: team, partitions: 1, replication_factor: 3, config: {retention.ms: 7d}}\n"


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_active_groups_are_counted_whether_or_not_they_commit(
    sandbox: Sandbox, servers: list[str], cluster: Cluster, tmp_path: Path, protocol: str
) -> None:
    name = f"read-{protocol}.v1"
    project = deployment(tmp_path / "read", {f"read/{name}.yaml": _TOPIC, "read/beside.v1.yaml": _TOPIC})
    with writing(servers) as writer:
        for number in range(5):
            writer.send(name, f"k{number}", "v")
    commit(servers, f"gone-{protocol}", {(name, 0): 3})
    settings = {"bootstrap.servers": ",".join(servers), "group.protocol": protocol, "auto.offset.reset": "earliest"}
    consumers = [
        Consumer({**settings, "group.id": f"{kind}-{protocol}", "enable.auto.commit": False})
        for kind in ("commits", "silent")
    ]
    try:
        for consumer in consumers:
            consumer.subscribe([name])
            message = consumer.poll(30)
            assert message is not None and message.error() is None
        consumers[0].commit(offsets=[TopicPartition(name, 0, 1)], asynchronous=False)
        until(lambda: {g.name: g.members for g in cluster.groups([name])} == expected(protocol), "both have joined")
        project.remove(f"read/{name}.yaml")
        destroyed = one(project.plan(), name, "destroyed")
    finally:
        for consumer in consumers:
            consumer.close()
    assert destroyed.evidence["active_groups"] == 2
    assert any(f"commits-{protocol}, gone-{protocol}, silent-{protocol}" in reason for reason in destroyed.because)
    unread = {(effect.group, effect.records, effect.members) for effect in destroyed.groups}
    assert unread == {(f"gone-{protocol}", 2, 0), (f"commits-{protocol}", 4, 1)}


def expected(protocol: str) -> dict[str, int]:
    return {f"commits-{protocol}": 1, f"silent-{protocol}": 1, f"gone-{protocol}": 0}


COMPACTED = "{owner: t, partitions: 1, replication_factor: 1, config: {cleanup.policy: compact%s}}\n"
KEPT = "{owner: t, partitions: 1, replication_factor: 1}\n"
EAGER = ", segment.ms: 500ms, min.cleanable.dirty.ratio: 0.01, delete.retention.ms: 100ms"


def write(servers: list[str], topic: str, committed: range, aborted: range) -> None:
    """Write a committed transaction, and then an aborted one."""
    producer = Producer({"bootstrap.servers": ",".join(servers), "transactional.id": topic})
    producer.init_transactions(30)
    for numbers, end in ((committed, producer.commit_transaction), (aborted, producer.abort_transaction)):
        producer.begin_transaction()
        for number in numbers:
            producer.produce(topic, b"v", f"key-{number}")
        producer.flush(30)
        end(30)


def test_compaction_also_removes_the_records_of_aborted_transactions(
    sandbox: Sandbox, servers: list[str], tmp_path: Path
) -> None:
    deployed = deployment(tmp_path / "aborted", {"t/aborted.v1.yaml": KEPT})
    write(servers, "aborted.v1", range(10), range(100, 200))
    deployed.write({"t/aborted.v1.yaml": COMPACTED % ""})
    found = one(deployed.plan(), "aborted.v1", "compaction")
    assert found.message.endswith("the log cleaner removes at most 100 records of 110")
    assert found.severity is Severity.REFUSED
    with connected(servers) as admin:
        admin.delete_topics(["aborted.v1"])


def test_only_existing_records_of_a_compacted_topic_count(sandbox: Sandbox, servers: list[str], tmp_path: Path) -> None:
    deployed = deployment(tmp_path / "clean", {"t/clean.v1.yaml": COMPACTED % EAGER})
    producer = Producer({"bootstrap.servers": ",".join(servers)})
    for number in range(500):
        producer.produce("clean.v1", b"v", f"key-{number % 10}")
    producer.flush(30)
    wait_until_rolled(producer)
    wait_until_clean(sandbox, "clean.v1")
    deployed.write({"t/clean.v1.yaml": COMPACTED % EAGER.replace("0.01", "0.001")})
    found = one(deployed.plan(), "clean.v1", "compaction")
    assert found.evidence["records in all"] == 11
    assert (found.severity, found.evidence["records"]) == (Severity.NOTE, 0)
    with connected(servers) as admin:
        admin.delete_topics(["clean.v1"])


def wait_until_rolled(producer: Producer) -> None:
    """Write the record that rolls the segment of the others."""
    producer.poll(0.7)
    producer.produce("clean.v1", b"v", "rolls")
    producer.flush(30)


# Test that the newest records are read in every codec, and that committed ones are distinguished from aborted ones.


def created(servers: Sequence[str], topic: str, partitions: int = 1) -> str:
    with KafkaAdminClient(bootstrap_servers=list(servers)) as admin:
        admin.create_topics([NewTopic(topic, partitions, 1)])
    return topic


def read(cluster: Cluster, topic: str) -> NewestRecords:
    return cluster.newest_records(cluster.snapshot({topic}).topics)[topic]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_of_every_codec_are_read(servers: list[str], cluster: Cluster, codec: str) -> None:
    topic = created(servers, f"newest.{codec}", partitions=2)
    producer = Producer({"bootstrap.servers": ",".join(servers), "compression.type": codec, "linger.ms": 50})
    for number in range(600):
        key = None if number % 3 == 0 else f"k{number % 100}"
        producer.produce(topic, None if number % 4 == 0 else f"value {number} " * 20, key, partition=number % 2)
    producer.flush()
    found = read(cluster, topic)
    assert (found.records, found.keyless, found.tombstones, found.complete) == (600, 200, 100, True)
    assert found.keys.keys() == {f"k{number % 100}".encode() for number in range(600) if number % 3}
    assert len(found.sample) == 200


def test_only_the_end_of_a_large_topic_is_read(servers: list[str], cluster: Cluster) -> None:
    topic = created(servers, "newest.large")
    producer = Producer({"bootstrap.servers": ",".join(servers), "compression.type": "lz4"})
    for number in range(MOST_RECORDS + 500):
        producer.produce(topic, "v", f"k{number}")
    producer.flush()
    found = read(cluster, topic)
    assert (found.records, found.complete) == (MOST_RECORDS, False)
    assert set(found.keys) == {f"k{number}".encode() for number in range(500, MOST_RECORDS + 500)}


def test_compaction_never_keeps_records_of_aborted_and_open_transactions(servers: list[str], cluster: Cluster) -> None:
    topic = created(servers, "newest.transactions")
    producer = Producer({"bootstrap.servers": ",".join(servers), "transactional.id": "newest"})
    producer.init_transactions()
    for turn in ("committed", "aborted", "committed again", "open"):
        producer.begin_transaction()
        for number in range(10):
            producer.produce(topic, "v", f"{turn} {number}")
        producer.flush()
        if turn != "open":
            (producer.abort_transaction if turn == "aborted" else producer.commit_transaction)()
    try:
        found = read(cluster, topic)
    finally:
        producer.abort_transaction()
    assert (found.records, found.retained) == (40, 20)
