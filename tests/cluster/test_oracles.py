"""The report against witnesses that share no code with it: Kafka's own tool, another client, the brokers' files."""

from __future__ import annotations

import subprocess
from collections import Counter

from tests.cluster.findings import facts
from tests.cluster.reading import records
from topicwarden.audit.horizon import horizons
from topicwarden.finding import AuditReport
from topicwarden.kafka.cluster import Cluster
from topicwarden.sandbox.cluster import Sandbox
from topicwarden.sandbox.files import segments
from topicwarden.sandbox.install import Toolchain
from topicwarden.sandbox.stories import cache, flights


def test_ends_are_those_that_kafkas_own_tool_tells(report: AuditReport, servers: list[str], tools: Toolchain) -> None:
    command = [str(tools.java), "-cp", f"{tools.kafka_jars}/*", "org.apache.kafka.tools.GetOffsetShell"]
    arguments = ["--bootstrap-server", ",".join(servers), "--topic-partitions", "flights.*,shop.*"]
    told = subprocess.run([*command, *arguments], capture_output=True, text=True, check=True).stdout.split()
    of = ("flights.events", "flights.aircraft", "shop.clicks", "shop.customers", "shop.orders")
    assert sorted(told) == sorted(
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
    for partition in facts(report, flights.EVENTS).partitions:
        number = partition.partition
        assert (partition.records, partition.null_keys) == (counts[number], null_keys[number])
        assert (partition.payload_bytes, partition.largest_record) == (payload[number], largest[number])


def test_what_is_certified_as_rolled_has_left_every_brokers_active_segment(
    filled: None, cluster: Cluster, sandbox: Sandbox
) -> None:
    snapshot = cluster.snapshot()
    border = horizons(cluster, snapshot, [snapshot.topics[cache.TOPIC]])[cache.TOPIC, 0]
    assert border.rolled > 0
    # The certificate may come late, and may never come early.
    for broker in (1, 2, 3):
        assert border.rolled <= segments(sandbox.log_dir(broker), cache.TOPIC, 0)[-1]
