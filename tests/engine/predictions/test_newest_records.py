"""Test that the newest records are read in every codec, and that committed ones are distinguished from aborted ones."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from confluent_kafka import Producer
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.read.newest_records import MOST_RECORDS, NewestRecords


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
