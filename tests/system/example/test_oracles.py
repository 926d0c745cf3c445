"""Compare the report with sources that share no code with it: Kafka's own tool, another client, the brokers' files."""

from __future__ import annotations

import subprocess
import time
from collections import Counter

import pytest
from kafka.admin import NewTopic

from tests.support.clients import records
from tests.support.reports import facts
from topicwarden.audit.collect.horizon import horizons
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios import compaction, flights
from topicwarden.extensions.sandbox.scenarios.compaction import segments
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.model.finding import AuditReport
from topicwarden.toolchain import Toolchain

_DAY_MS = 86_400_000


def test_end_offsets_equal_those_of_kafka_get_offsets(
    report: AuditReport, servers: list[str], tools: Toolchain
) -> None:
    command = [str(tools.java), "-cp", f"{tools.kafka_jars}/*", "org.apache.kafka.tools.GetOffsetShell"]
    arguments = ["--bootstrap-server", ",".join(servers), "--topic-partitions", "flights.*,shop.*"]
    reported = subprocess.run([*command, *arguments], capture_output=True, text=True, check=True).stdout.split()
    of = ("flights.events", "flights.aircraft", "shop.clicks", "shop.customers", "shop.orders")
    assert sorted(reported) == sorted(
        f"{topic}:{partition.partition}:{partition.log_end}"
        for topic in of
        for partition in facts(report, topic).partitions
    )


def test_another_client_counts_the_same_in_every_partition(report: AuditReport, servers: list[str]) -> None:
    counts: Counter[int] = Counter()
    null_keys: Counter[int] = Counter()
    payload: Counter[int] = Counter()
    largest: Counter[int] = Counter()
    for message in records(servers, flights.EVENTS):
        number, key, value = message.partition() or 0, message.key(), message.value()
        size = len(key or b"") + len(value or b"")
        counts[number] += 1
        null_keys[number] += key is None
        payload[number] += size
        largest[number] = max(largest[number], size)
    partitions = facts(report, flights.EVENTS).partitions
    assert sum(partition.records or 0 for partition in partitions) == counts.total() > 0
    for partition in partitions:
        number = partition.partition
        assert (partition.records, partition.null_keys) == (counts[number], null_keys[number])
        assert (partition.payload_bytes, partition.largest_record) == (payload[number], largest[number])


@pytest.fixture
def back_filled(servers: list[str]) -> str:
    """A topic in which one batch spans ten days and one segment spans one day, as after a replay of old data."""
    with connected(servers) as admin:
        settings = {"cleanup.policy": "compact", "segment.ms": str(_DAY_MS)}
        admin.create_topics([NewTopic("back-filled", 1, 3, topic_configs=settings)])
    begun = int(time.time() * 1000) - 20 * _DAY_MS
    with writing(servers) as writer:
        for hour in range(240):
            writer.send("back-filled", f"key-{hour % 5}", "value", timestamp=begun + hour * _DAY_MS // 24)
    return "back-filled"


def test_a_batch_is_not_certified_as_rolled_for_its_own_later_records(
    back_filled: str, cluster: Cluster, sandbox: Sandbox
) -> None:
    snapshot = cluster.snapshot({back_filled})
    border = horizons(cluster, snapshot, snapshot.topics.values())[back_filled, 0]
    for broker in (1, 2, 3):
        assert border.rolled <= segments(sandbox.log_dir(broker), back_filled, 0)[-1]


def test_records_proven_as_rolled_have_left_the_active_segment(
    filled: None, cluster: Cluster, sandbox: Sandbox
) -> None:
    snapshot = cluster.snapshot({compaction.TOPIC, flights.AIRCRAFT, flights.EVENTS})
    borders = horizons(cluster, snapshot, snapshot.topics.values())
    assert {topic for topic, _ in borders} == {compaction.TOPIC, flights.AIRCRAFT, flights.EVENTS}
    # The ``rolled`` boundary may be too low, but never above the start of the active segment.
    for (topic, partition), border in borders.items():
        assert border.rolled > 0, topic
        for broker in (1, 2, 3):
            assert border.rolled <= segments(sandbox.log_dir(broker), topic, partition)[-1], (topic, partition, broker)
