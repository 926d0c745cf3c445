"""Compare the counts of the Spark reader with a plain DataFrame implementation, on random topics.

``TOPICWARDEN_AGREEMENTS`` is the number of rounds.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from confluent_kafka import Producer
from kafka import TopicPartition
from kafka.admin import NewTopic
from kafka.protocol.consumer import OffsetSpec
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.broker.contents.dataframe_counts import dataframe_counts
from topicwarden.audit.collect.horizon import Horizon
from topicwarden.audit.scan import offset_ranges
from topicwarden.audit.scan.contracts import Contracts
from topicwarden.audit.scan.full_scan import scan
from topicwarden.audit.scan.offset_ranges import OffsetRange
from topicwarden.audit.scan.partition_reads import DeletedKey, PartitionRead
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.connect.connection import Connection

ROUNDS = int(os.environ.get("TOPICWARDEN_AGREEMENTS", "1"))
NOW, DAY_MS = 1_700_000_000_000, 86_400_000
TOPICS, PARTITIONS, RECORDS = ("random.by-key", "random.placed", "random.plain"), 3, 1_500
AGES = (-DAY_MS, -1, 0, 1, 3_600_000, DAY_MS, 30 * DAY_MS, 400 * DAY_MS, 4_000 * DAY_MS)
KEYS = (None, b"", *(f"key-{number}".encode() for number in range(60)), b"\xff\xfe")
VALUES = (None, b"", b"x", b"x" * 100, b"x" * 1_000)


@pytest.fixture(scope="module")
def topics(servers: list[str]) -> Iterator[tuple[str, ...]]:
    """Topics with random records. Every tenth transaction is aborted, so there are gaps between offsets."""
    chance = random.Random(20261122)
    config = {"message.timestamp.after.max.ms": str(2**63 - 1), "retention.ms": "-1"}
    with connected(servers) as admin:
        admin.create_topics([NewTopic(topic, PARTITIONS, 1, topic_configs=config) for topic in TOPICS])
    producers = [
        Producer({"bootstrap.servers": ",".join(servers), "transactional.id": codec, "compression.type": codec})
        for codec in ("none", "gzip", "snappy", "lz4", "zstd")
    ]
    for producer in producers:
        producer.init_transactions()
    for number in range(30):
        producer = producers[number % len(producers)]
        producer.begin_transaction()
        for _ in range(RECORDS // 10):
            # A few keys have most records, as in real topics.
            key = KEYS[min(chance.randrange(len(KEYS)), chance.randrange(len(KEYS)))]
            stamp = chance.choice((-1, *(NOW - age - chance.randrange(1_000) for age in AGES)))
            partition = chance.randrange(PARTITIONS)
            producer.produce(chance.choice(TOPICS), chance.choice(VALUES), key, partition, timestamp=stamp)
        producer.flush()  # it is an error to abort a transaction that the broker does not know yet (KIP-890)
        producer.abort_transaction() if number % 10 == 3 else producer.commit_transaction()
    yield TOPICS
    with connected(servers) as admin:
        admin.delete_topics(list(TOPICS))


def random_reads(chance: random.Random, ends: dict[tuple[str, int], int]) -> list[PartitionRead]:
    """Return reads of random offsets, with random borders to count by."""
    reads = []
    for number, ((topic, partition), end) in enumerate(ends.items()):
        first, last = sorted(chance.sample(range(end + 1), 2))
        rolled, cleanable = (chance.randint(first, last) for _ in range(2))
        horizon = Horizon(
            start=first,
            rolled=rolled,
            cleanable=cleanable,
            blocked_by=None,
            overdue=first,
            unexpired=None,
            expired_time=chance.choice([None, NOW - DAY_MS]),
            future_offset=chance.choice([None, chance.randint(first, last)]),
            future_timestamp=None,
        )
        reads.append(PartitionRead(OffsetRange(number, topic, partition, first, last), topic == TOPICS[0], horizon))
    return reads


def ends_of(servers: list[str], topics: tuple[str, ...]) -> dict[tuple[str, int], int]:
    """Return the offset at the end of each partition."""
    topic_partitions = [TopicPartition(topic, partition) for topic in topics for partition in range(PARTITIONS)]
    with connected(servers) as admin:
        ends = admin.list_partition_offsets(dict.fromkeys(topic_partitions, OffsetSpec.LATEST))
    return {
        (topic_partition.topic, topic_partition.partition): int(found.offset) for topic_partition, found in ends.items()
    }


def tombstones_of(chance: random.Random, spark: SparkSession, parts: list[PartitionRead]) -> list[DeletedKey]:
    """Return known tombstones of random keys, at random offsets."""
    keys = spark.createDataFrame([(key,) for key in KEYS if key], "key binary")
    hashes = [row[0] for row in keys.select(F.xxhash64("key")).collect()]
    return [
        (part.range.topic, part.range.partition, key, chance.randint(part.range.start, part.range.end + 20))
        for part in parts
        for key in chance.sample(hashes, 5)
    ]


@pytest.mark.nightly(
    "The soundness campaign keeps one task for a partition.", stays=("0-several tasks for a partition",)
)
@pytest.mark.parametrize("cut", [False, True], ids=["one task for a partition", "several tasks for a partition"])
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_python_and_java_count_the_same(
    spark: SparkSession,
    servers: list[str],
    topics: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    *,
    seed: int,
    cut: bool,
) -> None:
    chance, connection = random.Random(seed), Connection(tuple(servers), tls=False)
    if cut:
        monkeypatch.setattr(offset_ranges, "MOST_OFFSETS", 100)
        monkeypatch.setattr(offset_ranges, "_MOST_SHARES", 0.1)
    parts = random_reads(chance, ends_of(servers, topics))
    # The second topic has partitions that none of its partitioners knew; the third has no rules for keys.
    contracts = Contracts(
        {TOPICS[0]: {"partitions": PARTITIONS}, TOPICS[1]: {"partitions": 2}}, None, frozenset(topics[:2])
    )
    tombstones = tombstones_of(chance, spark, parts)
    counted = scan(spark, connection, parts, NOW, contracts, deleted_keys=tombstones)
    # A tombstone after the end is not read, so it deletes nothing that is read.
    ends = {(part.range.topic, part.range.partition): part.range.end for part in parts}
    read = [found for found in tombstones if found[3] < ends[found[0], found[1]]]
    expected = dataframe_counts(spark, connection, parts, now=NOW, contracts=contracts, tombstones=read)
    assert {
        topic_partition: replace(counts, faults=(), timestamp_types={}) for topic_partition, counts in counted.items()
    } == expected
    assert any(counts.resurrected for counts in expected.values())
    assert any(counts.deleted for counts in expected.values())
