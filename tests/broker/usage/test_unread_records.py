"""Test on a real broker that the first unread record is the one that a consumer gets, whatever is in the log.

Kafka 4.3 runs the broker, which has share groups (KIP-932).
"""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Iterator
from dataclasses import replace
from os import urandom
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, TIMESTAMP_LOG_APPEND_TIME, Consumer, KafkaError, Producer
from confluent_kafka import TopicPartition as ConfluentPartition
from kafka import TopicPartition
from kafka.admin import NewTopic

from tests.support.applications.share_consumer import share_consumer
from tests.support.clients import commit, until
from tests.support.projects import project_of
from tests.support.restricted_user import RestrictedCluster, rule
from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.collect.observation import Observation, observe
from topicwarden.audit.compare_audits import topic_state
from topicwarden.audit.history.topic_state import PreviousAudit
from topicwarden.audit.judge import results_of
from topicwarden.extensions.sandbox.jvm import Jvm
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read import partition_fetcher, record_batches, single_records
from topicwarden.kafka.read.cluster import Cluster, open_cluster
from topicwarden.kafka.read.group_lags import Position, UnreadRecord, group_lags, unread_positions
from topicwarden.kafka.read.partition_fetcher import DELETED, READ_DENIED
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.model.access import Grant, TopicAccess
from topicwarden.model.topic import Topic
from topicwarden.model.verdict import Verdict

HOUR = 3_600_000
LARGE = 700_000
KEPT = {"retention.ms": "-1"}
"""The settings of topics whose records have old timestamps."""
TOPICS: dict[str, dict[str, str]] = {
    "created": {},
    "appended": {"message.timestamp.type": "LogAppendTime"},
    "transactions": KEPT,
    "interleaved": KEPT,
    "open": KEPT,
    "large": {},
    "shared": {},
    "trimmed": {},
    "compacted": {
        **{"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01"},
        **{"delete.retention.ms": "0", "min.compaction.lag.ms": "0"},
    },
    "many": {},
}


@pytest.fixture(scope="module")
def servers(newest_cluster: RestrictedCluster) -> Iterator[list[str]]:
    """Fill all topics, and leave one transaction open."""
    servers = newest_cluster.servers
    with connected(servers) as admin:
        admin.create_topics(
            [NewTopic(name, 20 if name == "many" else 1, 1, topic_configs=config) for name, config in TOPICS.items()]
        )
    now = int(time.time() * 1000)
    for _ in range(3):  # several batches
        with writing(servers) as writer:
            for number in range(7):
                writer.send("created", f"k{number}", "v", now - 5 * HOUR + number)
                writer.send("appended", f"k{number}", "v", now - 5 * HOUR + number)
                writer.send("trimmed", f"k{number}", "v", now - 5 * HOUR)
                writer.send("shared", f"k{number}", "v", now - 5 * HOUR)
                for partition in range(20):
                    writer.send("many", f"k{number}", "v", now - HOUR, partition)
    for size in (10, LARGE, LARGE, 10):
        with writing(servers) as writer:
            writer.send("large", None, urandom(size), now - HOUR)
    _transact(servers, "transactions", ["abort", "commit", "plain", "abort", "abort", "commit", "abort"])
    _interleave(servers, seed=20261124)
    _compact(servers)
    with connected(servers) as admin:
        admin.delete_records({TopicPartition("trimmed", 0): 9})
    producer = _transact(servers, "open", ["plain", "commit", "abort"])
    producer.begin_transaction()
    producer.produce("open", "open", "k", timestamp=now - 2 * HOUR)
    producer.flush(30)
    with writing(servers) as writer:
        writer.send("open", "k", "after")
    yield servers
    producer.abort_transaction()


def _transact(servers: list[str], topic: str, ends: list[str]) -> Producer:
    """Write two records for each of ``ends``: in a transaction that ends so, or without one."""
    producer = Producer({"bootstrap.servers": ",".join(servers), "transactional.id": topic})
    producer.init_transactions(60)
    for number, end in enumerate(ends):
        if end == "plain":
            with writing(servers) as writer:
                for _ in range(2):
                    writer.send(topic, "k", end, 1_700_000_000_000 + number)
            continue
        producer.begin_transaction()
        for _ in range(2):
            producer.produce(topic, end, "k", timestamp=1_700_000_000_000 + number)
        producer.flush(30)
        producer.commit_transaction() if end == "commit" else producer.abort_transaction()
    return producer


def _interleave(servers: list[str], seed: int) -> None:
    """Write records in transactions of several producers that overlap, and between them, in a random order."""
    chance, plain = random.Random(seed), Producer({"bootstrap.servers": ",".join(servers)})
    producers = [
        Producer({"bootstrap.servers": ",".join(servers), "transactional.id": f"interleaved-{number}"})
        for number in range(3)
    ]
    for producer in producers:
        producer.init_transactions(60)
    unfinished = set[Producer]()
    for _ in range(60):
        producer = chance.choice([plain, *producers])
        if producer in unfinished and chance.random() < 0.4:
            producer.commit_transaction() if chance.random() < 0.5 else producer.abort_transaction()
            unfinished.remove(producer)
            continue
        if producer is not plain and producer not in unfinished:
            producer.begin_transaction()
            unfinished.add(producer)
        for _ in range(chance.randint(1, 3)):
            producer.produce("interleaved", b"v", b"k", timestamp=1_700_000_000_000 + chance.randrange(10**9))
        producer.flush(30)
    for producer in unfinished:
        producer.abort_transaction()


def _compact(servers: list[str]) -> None:
    """Write keys again until the cleaner has removed records from the middle of the log."""

    def cleaned() -> bool:
        with writing(servers) as writer:
            for number in range(5):
                writer.send("compacted", f"k{number}", "v")
        offsets = [offset for offset, _, _ in delivered(servers, "compacted")]
        return len(offsets) < offsets[-1] - 10

    with writing(servers) as writer:
        writer.send("compacted", "once", "v", 1_700_000_000_000)
    until(cleaned, "records were compacted away")


def delivered(servers: list[str], topic: str, isolation: str = "read_committed") -> list[tuple[int, int, bool]]:
    """Return offset, timestamp, and whether the broker set it, of each record that librdkafka's consumer gets."""
    consumer = Consumer(
        {
            "bootstrap.servers": ",".join(servers),
            "group.id": "never-committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation,
        }
    )
    found: list[tuple[int, int, bool]] = []
    try:
        consumer.assign([ConfluentPartition(topic, 0, OFFSET_BEGINNING)])
        while True:
            message = consumer.poll(10)
            assert message is not None, topic
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                return found
            kind, timestamp = message.timestamp()
            found.append((message.offset() or 0, timestamp, kind == TIMESTAMP_LOG_APPEND_TIME))
    finally:
        consumer.close()


@pytest.fixture
def cluster(servers: list[str], newest_cluster: RestrictedCluster, tmp_path: Path) -> Iterator[Cluster]:
    settings = f"config: {{'kafka:bootstrapServers': [{', '.join(servers)}], 'kafka:tlsEnabled': false}}\n"
    with open_cluster(connect_to(project_of(tmp_path / "reads", {}, settings), "dev")) as cluster:
        yield cluster


def every_position(snapshot: Snapshot, topics: Collection[str]) -> list[Position]:
    """Return each offset of partition 0 of ``topics``."""
    logs = {name: snapshot.topics[name].extents[0] for name in topics}
    return [(name, 0, offset) for name, log in logs.items() for offset in range(log.start, log.end)]


def as_consumed(record: UnreadRecord | None) -> tuple[int, int, bool] | None:
    return None if record is None else (record.offset, record.timestamp, record.log_append_time)


@pytest.mark.parametrize("topic", [name for name in TOPICS if name not in ("many", "open")])
def test_the_first_unread_record_of_each_offset_is_the_one_that_a_consumer_gets(
    servers: list[str], cluster: Cluster, topic: str
) -> None:
    snapshot, expected = cluster.snapshot({topic}), delivered(servers, topic)
    positions = every_position(snapshot, [topic])
    unread = cluster.unread_records(snapshot, positions)
    assert unread.unknown == {}
    assert {offset: as_consumed(unread.records[topic, 0, offset]) for _, _, offset in positions} == {
        offset: next((record for record in expected if record[0] >= offset), None) for _, _, offset in positions
    }
    assert all(record.committed and record.leader_epoch >= 0 for record in unread.records.values() if record)


def test_after_the_last_stable_offset_a_record_may_be_uncommitted(servers: list[str], cluster: Cluster) -> None:
    snapshot = cluster.snapshot({"open"})
    log, positions = snapshot.topics["open"].extents[0], every_position(snapshot, ["open"])
    unread = cluster.unread_records(snapshot, positions)
    committed, every = delivered(servers, "open"), delivered(servers, "open", "read_uncommitted")
    assert log.last_stable < log.end
    for _, _, offset in positions:
        record = unread.records["open", 0, offset]
        first = next((one for one in committed if one[0] >= offset), None)
        assert record is not None
        assert record.committed == (first is not None)
        assert as_consumed(record) == (first or next(one for one in every if one[0] >= max(offset, log.last_stable)))


def test_many_partitions_and_equal_positions_are_fetched_at_once(
    cluster: Cluster, servers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two groups have the same offsets, so that one request answers for both."""
    offsets = {("many", partition): 3 for partition in range(20)}
    for group in ("twin-a", "twin-b"):
        commit(servers, group, offsets)
    requests: list[int] = []

    def counted(admin: Any, leader: int, positions: Any, limit: int, **more: Any) -> list[Any]:
        requests.append(len(positions))
        return record_batches.fetch(admin, leader, positions, limit, **more)

    monkeypatch.setattr(partition_fetcher, "fetch", counted)
    snapshot = cluster.snapshot({"many"})
    groups = cluster.groups(["many"])
    positions = unread_positions(groups, snapshot.topics)
    lags = group_lags(groups, snapshot.topics, cluster.unread_records(snapshot, positions))
    assert requests == [20]
    assert lags["twin-a", "many"].partitions == lags["twin-b", "many"].partitions
    assert lags["twin-a", "many"].offsets == 20 * 18
    age = lags["twin-a", "many"].age_ms(snapshot.taken_at)
    assert age is not None
    assert HOUR <= age < 2 * HOUR
    retention = snapshot.topics["many"].topic.retention_time
    assert retention == 7 * 24 * HOUR  # the brokers' default
    assert lags["twin-a", "many"].expires_at(retention) == snapshot.taken_at - age + retention


def test_a_deleted_position_and_a_missing_leader_leave_the_others_known(cluster: Cluster) -> None:
    snapshot = cluster.snapshot({"trimmed", "created"})
    positions: list[Position] = [("trimmed", 0, 2), ("trimmed", 0, 9), ("created", 0, 0), ("created", 7, 0)]
    unread = cluster.unread_records(snapshot, positions)
    assert unread.unknown == {("trimmed", 0, 2): DELETED, ("created", 7, 0): "the partition has no leader"}
    assert {position: record and record.offset for position, record in unread.records.items()} == {
        ("trimmed", 0, 9): 9,
        ("created", 0, 0): 0,
    }


def test_without_read_the_reason_is_given_and_other_topics_are_read(
    servers: list[str], newest_cluster: RestrictedCluster, tmp_path: Path
) -> None:
    allowed = [
        rule("Describe", "Topic"),
        rule("Read", "Topic", "created"),
        rule("Describe", "Cluster", "kafka-cluster"),
    ]
    with newest_cluster.granted(allowed):
        project = project_of(tmp_path / "restricted", {}, newest_cluster.settings)
        with open_cluster(connect_to(project, "dev")) as cluster:
            unread = cluster.unread_records(cluster.snapshot(), [("created", 0, 1), ("appended", 0, 1)])
    assert unread.unknown == {("appended", 0, 1): READ_DENIED}
    assert unread.records.keys() == {("created", 0, 1)}


def test_without_time_every_record_is_unknown(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single_records, "MOST_FETCHED", 0)
    unread = cluster.unread_records(cluster.snapshot({"created"}), [("created", 0, 0)])
    assert unread.records == {}
    assert "time and bytes" in unread.unknown["created", 0, 0]


def seen(cluster: Cluster, names: Collection[str]) -> Observation:
    return observe(cluster.connection, names, lambda name: name in names)


def judged(observed: Observation, topic: str, group: str, past: PreviousAudit | None = None) -> AuditedTopic:
    """Return the topic as an audit sees it that does not count records, with a limit of an hour for ``group``."""
    live = observed.snapshot.topics[topic]
    consume = (Grant("User:g", name=group, max_lag=HOUR),)
    return AuditedTopic(
        observed.snapshot,
        Topic(topic, 1, 1, access=TopicAccess(consume=consume)),
        live,
        horizons={},
        counts={},
        committed={},
        past=past or PreviousAudit(),
        consumer_groups=observed.context.consumer_groups[topic],
        group_lags=observed.context.group_lags[topic],
    )


def verdicts(subject: AuditedTopic) -> list[tuple[Verdict, str]]:
    results = results_of(CHECKS["lag-in-time"], subject)
    assert results is not None
    return [(each.verdict, each.message) for each in results if each.message]


def later(observed: Observation, by_ms: int) -> Observation:
    """Return the observation as if it were made some time later."""
    return replace(observed, snapshot=replace(observed.snapshot, taken_at=observed.snapshot.taken_at + by_ms))


def test_an_old_record_is_proven_by_the_broker_or_by_an_earlier_audit(servers: list[str], cluster: Cluster) -> None:
    topics = ("created", "appended", "trimmed", "compacted")
    for topic in topics:
        commit(servers, f"slow-{topic}", {(topic, 0): 2})
        commit(servers, f"fast-{topic}", {(topic, 0): cluster.log_ends([(topic, 0)])[topic, 0]})
    observed = seen(cluster, topics)
    for topic in topics:
        assert verdicts(judged(observed, topic, f"fast-{topic}")) == []
    assert verdicts(judged(observed, "appended", "slow-appended")) == []
    ((verdict, message),) = verdicts(judged(later(observed, 3 * HOUR), "appended", "slow-appended"))
    assert verdict is Verdict.FAIL
    assert "is 3 h" in message
    assert "at offset 2 of partition 0; declared: at most 1h" in message

    first = judged(observed, "created", "slow-created")
    ((verdict, message),) = verdicts(first)
    assert verdict is Verdict.SUSPECT, "only the producer's timestamp says that it is old"
    assert "is 5 h" in message
    state = topic_state(first, {"lag-in-time": results_of(CHECKS["lag-in-time"], first) or ()}, (), {})
    again = judged(later(observed, 2 * HOUR), "created", "slow-created", PreviousAudit(state))
    ((verdict, message),) = verdicts(again)
    assert verdict is Verdict.FAIL
    assert "is at least 2 h old" in message

    ((verdict, message),) = verdicts(judged(observed, "trimmed", "slow-trimmed"))
    assert verdict is Verdict.SUSPECT
    assert "at offset 9 " in message, "the committed offset is before the log start"
    ((verdict, message),) = verdicts(judged(observed, "compacted", "absent"))
    assert verdict is Verdict.UNDECIDABLE
    assert "group absent has read" in message


def test_a_share_group_is_at_most_suspect(servers: list[str], cluster: Cluster, newest: Jvm, tmp_path: Path) -> None:
    read = share_consumer(newest, servers, "shared", "sharing", records=4, folder=tmp_path)
    assert read.returncode == 0, read.stdout + read.stderr
    until(lambda: any(each.offsets for each in cluster.groups(["shared"]) if each.share), "the group has an offset")
    observed = later(seen(cluster, ["shared"]), 3 * HOUR)
    lag = observed.context.group_lags["shared"]["sharing"]
    assert lag.at_most
    if lag.offsets:
        ((verdict, _),) = verdicts(judged(observed, "shared", "sharing"))
        assert verdict is Verdict.SUSPECT


def test_nothing_is_committed(servers: list[str], cluster: Cluster) -> None:
    names = {group.name for group in cluster.groups(list(TOPICS))}
    assert not {name for name in names if not name.startswith(("twin-", "slow-", "fast-", "sharing"))}
