"""Predict each consequence, make the change, and test that the outcome matches the prediction."""

from __future__ import annotations

import time
from os import urandom
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.engine.predictions.conftest import RETENTION_CHECK_S, Deployment, deployment, of, one
from tests.support.clients import commit, extents, records, until
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios import compaction
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.write.config_admin import set_topic
from topicwarden.model.planned_change import Action, PlanReport, Severity

HOUR, DAY = 3_600_000, 86_400_000
_TOPIC = "{{owner: team, partitions: {partitions}, replication_factor: {factor}, config: {{{config}}}{more}}}\n"


def topic(config: str, partitions: int = 2, factor: int = 3, more: str = "") -> str:
    return _TOPIC.format(partitions=partitions, factor=factor, config=config, more=more)


_TOMBS = "cleanup.policy: compact, delete.retention.ms: {}, segment.ms: 1h, min.cleanable.dirty.ratio: 0.01"
BEFORE = {
    "cut/time.v1.yaml": topic("retention.ms: -1, segment.ms: 1h"),
    "cut/size.v1.yaml": topic("retention.bytes: -1, segment.bytes: 1MiB", partitions=1),
    "cut/cache.v1.yaml": topic("cleanup.policy: compact, segment.ms: 1h", partitions=1),
    "keys/keyless.v1.yaml": topic("segment.ms: 1h", partitions=1),
    "keys/more.v1.yaml": topic("retention.ms: -1", partitions=3),
    "keys/partner.v1.yaml": topic("retention.ms: -1", partitions=3),
    "limits/batch.v1.yaml": topic("max.message.bytes: 1MiB", partitions=1),
    "limits/tombs.v1.yaml": topic(_TOMBS.format("7d"), partitions=1),
    "limits/drift.v1.yaml": topic("retention.ms: 7d", partitions=1),
    "limits/calm.v1.yaml": topic("retention.ms: 7d", partitions=1),
}
ALLOWED = {
    "cut/time.v1.yaml": "shrink-retention",
    "cut/size.v1.yaml": "shrink-retention",
    "cut/cache.v1.yaml": "shrink-retention",
    "keys/keyless.v1.yaml": "compact",
    "limits/tombs.v1.yaml": "compact",
}
AFTER = {
    "cut/time.v1.yaml": topic("retention.ms: 1d, segment.ms: 1h"),
    "cut/size.v1.yaml": topic("retention.bytes: 2MiB, segment.bytes: 1MiB", partitions=1),
    "cut/cache.v1.yaml": topic("cleanup.policy: delete, retention.ms: 1d, segment.ms: 1h", partitions=1),
    "keys/keyless.v1.yaml": topic(
        "cleanup.policy: compact, segment.ms: 1h, min.cleanable.dirty.ratio: 0.01", partitions=1
    ),
    "keys/more.v1.yaml": topic("retention.ms: -1", partitions=5),
    "limits/batch.v1.yaml": topic("max.message.bytes: 100KiB", partitions=1),
    "limits/tombs.v1.yaml": topic(_TOMBS.format("1s"), partitions=1),
}


@pytest.fixture(scope="module")
def deployed(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    return deployment(tmp_path_factory.mktemp("topics"), BEFORE)


@pytest.fixture(scope="module")
def now(deployed: Deployment, servers: list[str]) -> int:
    """Fill the topics, and return the time in milliseconds.

    Old records have their own segments, because the next record rolls the segment.
    """
    now = int(time.time() * 1000)
    with writing(servers) as writer:
        for partition in (0, 1):
            for number in range(10):
                writer.send("time.v1", f"k{number}", "old", now - 3 * DAY + number, partition)
        for number in range(20):
            writer.send("cache.v1", f"k{number}", "old", now - 3 * DAY)
        for _ in range(6):
            writer.send("keyless.v1", None, "v", now - 2 * HOUR)
        for number in range(30):
            writer.send("keyless.v1", f"k{number}", "v", now - 2 * HOUR)
        for number in range(10):
            writer.send("tombs.v1", f"k{number}", None if number % 2 else "v", now - 3 * HOUR)
        writer.flush()
        for partition in (0, 1):
            for number in range(5):
                writer.send("time.v1", f"k{number}", "new", now, partition)
        writer.send("cache.v1", "new", "new", now)
        for number in range(300):
            writer.send("more.v1", f"key-{number}", "v")
        writer.send("batch.v1", "k", urandom(204_800))
    for number in range(60):  # one batch per record, so that segments fill one after the other
        with writing(servers) as writer:
            writer.send("size.v1", f"k{number}", urandom(100_000))
    commit(servers, "billing", {("time.v1", 0): 4, ("more.v1", 0): 0, ("partner.v1", 0): 0})
    commit(servers, "slow", {("tombs.v1", 0): 3})
    set_topic(servers, "drift.v1", {"retention.ms": "3600000", "segment.bytes": "1048576"})
    return now


@pytest.fixture(scope="module")
def predicted(deployed: Deployment, now: int) -> PlanReport:
    """Return the plan without any allowance."""
    deployed.write(AFTER)
    return deployed.plan()


@pytest.fixture(scope="module")
def done(deployed: Deployment, predicted: PlanReport) -> PlanReport:
    """Return the plan with each refused change allowed by name, and deploy it."""
    for file, change in ALLOWED.items():
        deployed.write({file: AFTER[file].replace("}}", f"}}, allow: [{change}]}}", 1)})
    allowed = deployed.plan()
    deployed.up()
    return allowed


def test_only_changed_topics_are_planned(predicted: PlanReport) -> None:
    assert {plan.topic: plan.action for plan in predicted.topics} == {
        **{Path(file).stem: Action.UPDATE for file in AFTER},
        "drift.v1": Action.DRIFT,
    }
    assert predicted.unchanged == len(BEFORE) - len(AFTER) - 1
    assert predicted.engine.steps == {"update": len(AFTER)}
    assert predicted.unseen == []


def test_a_loss_is_refused_everywhere_until_it_is_allowed(
    deployed: Deployment, predicted: PlanReport, cluster: Cluster
) -> None:
    refused = [plan.topic for plan in predicted.topics if plan.severity is Severity.REFUSED]
    assert refused == ["cache.v1", "keyless.v1", "size.v1", "time.v1", "tombs.v1"]
    live = cluster.snapshot().topics
    for command in ("preview", "up --yes", "up --yes --skip-preview"):
        output = deployed.refused(command)
        assert "topics/cut/time.v1.yaml:1:" in output
        assert "at most 20 records of 30 in 2 partitions expire at once" in output
    assert deployed.shell.in_process("plan", "--stack", "dev").returncode == 1
    unchanged = cluster.snapshot().topics
    assert {name: topic.topic for name, topic in unchanged.items()} == {n: t.topic for n, t in live.items()}


def test_a_shorter_retention_expires_the_predicted_records(
    predicted: PlanReport, done: PlanReport, cluster: Cluster, now: int
) -> None:
    cut = one(predicted, "time.v1", "retention-cut")
    assert [(p.partition, p.records, p.first_offset, p.last_offset) for p in cut.partitions] == [
        (0, 10, 0, 9),
        (1, 10, 0, 9),
    ]
    assert {p.first_timestamp for p in cut.partitions} == {now - 3 * DAY}
    assert [(g.group, g.partition, g.records) for g in cut.groups] == [("billing", 0, 6)]
    assert one(done, "time.v1", "retention-cut").severity is Severity.DANGER
    until(lambda: all(e.start == 10 for e in extents(cluster, "time.v1").values()), "ten records a partition are gone")
    assert {e.end for e in extents(cluster, "time.v1").values()} == {15}


def test_a_smaller_retention_keeps_the_predicted_records(
    predicted: PlanReport, done: PlanReport, cluster: Cluster
) -> None:
    cut = one(predicted, "size.v1", "retention-cut")
    (effect,) = cut.partitions
    assert effect.bytes and cut.evidence["bytes"] == effect.bytes
    until(lambda: extents(cluster, "size.v1")[0].start > 0, "the oldest segments are gone")
    time.sleep(3 * RETENTION_CHECK_S)  # a second check must not delete more
    extent = extents(cluster, "size.v1")[0]
    assert extent.log_bytes is not None
    assert 2 << 20 <= extent.log_bytes <= (2 << 20) + (1 << 20)
    most = cut.evidence["records"]
    assert isinstance(most, int)
    assert 0 < extent.start <= most


def test_changing_compact_to_delete_expires_older_records(
    predicted: PlanReport, done: PlanReport, cluster: Cluster
) -> None:
    cut = one(predicted, "cache.v1", "retention-cut")
    assert cut.message.startswith("no record expires now; ")
    assert cut.evidence["records"] == 20
    until(lambda: extents(cluster, "cache.v1")[0].start == 20, "twenty records are gone")


def test_keyless_records_are_destroyed_by_compaction(
    predicted: PlanReport, done: PlanReport, servers: list[str]
) -> None:
    compaction = one(predicted, "keyless.v1", "compaction")
    assert compaction.evidence["keyless"] == compaction.evidence["records"] == 6
    assert "at most 6 records of 36" in compaction.message
    with writing(servers) as writer:
        writer.send("keyless.v1", "roll", "v")
        writer.flush()
        writer.send("keyless.v1", "roll", "v")

    def kept() -> int:
        return sum(record.key() is None for record in records(servers, "keyless.v1"))

    assert kept() in (0, 6)
    until(lambda: kept() == 0, "the cleaner has come")
    assert len({record.key() for record in records(servers, "keyless.v1")}) == 31
    with writing(servers, refusals_expected=True) as writer:
        writer.send("keyless.v1", None, "v")
        writer.flush()
    assert len(writer.errors) == 1


def test_the_predicted_number_of_keys_moves(predicted: PlanReport, done: PlanReport, servers: list[str]) -> None:
    moved = one(predicted, "more.v1", "more-partitions")
    assert moved.evidence["keys"] == 300
    assert any("partner.v1" in reason for reason in moved.because)
    assert any("billing" in reason for reason in moved.because)
    with writing(servers) as writer:
        for number in range(300):
            writer.send("more.v1", f"key-{number}", "again")
    partitions_of: dict[bytes, list[int]] = {}
    for record in sorted(records(servers, "more.v1"), key=lambda record: record.value() == b"again"):
        partitions_of.setdefault(bytes(record.key() or b""), []).append(int(record.partition() or 0))
    assert sum(before != after for before, after in partitions_of.values()) == moved.evidence["moved"]


def test_larger_batches_are_refused_as_predicted(predicted: PlanReport, done: PlanReport, servers: list[str]) -> None:
    limit = one(predicted, "batch.v1", "max-message")
    assert limit.severity is Severity.DANGER
    assert [p.partition for p in limit.partitions] == [0]
    producer = Producer({"bootstrap.servers": ",".join(servers), "compression.type": "none"})
    refused: list[str] = []
    producer.produce("batch.v1", bytes(204_800), on_delivery=lambda e, _: refused.append(e.name()) if e else None)
    producer.flush(30)
    assert refused == ["MSG_SIZE_TOO_LARGE"]


def test_a_lagging_reader_misses_deletions_as_predicted(
    predicted: PlanReport, done: PlanReport, sandbox: Sandbox, servers: list[str], now: int
) -> None:
    tombs = one(predicted, "tombs.v1", "tombstones")
    assert tombs.severity is Severity.REFUSED
    assert tombs.evidence["tombstones"] == 5
    assert [(g.group, g.partition, g.records) for g in tombs.groups] == [("slow", 0, 7)]

    for minutes in (-118, -57, 4):  # each record rolls the previous segment, so that the cleaner can clean it
        with writing(servers) as writer:
            writer.send("tombs.v1", f"roll {minutes}", "v", now + minutes * 60_000)
        compaction.wait_until_clean(sandbox, "tombs.v1")
        time.sleep(1)  # `delete.retention.ms`

    def left() -> int:
        return sum(record.value() is None for record in records(servers, "tombs.v1"))

    until(lambda: left() == 0, "the tombstones are gone")


def test_a_change_by_hand_is_reverted_only_after_a_refresh(
    deployed: Deployment, predicted: PlanReport, done: PlanReport, cluster: Cluster
) -> None:
    output = [consequence.message for consequence in of(predicted, "drift.v1").consequences]
    assert any("retention.ms has drifted: it is 1h, deployed was 7d" in text for text in output)
    assert any("segment.bytes has drifted" in text and "the deploy leaves it" in text for text in output)
    live_topic = cluster.snapshot({"drift.v1"}).topics["drift.v1"]
    assert live_topic.topic.config["retention.ms"] == "3600000"
    deployed.pulumi("up --yes --refresh --suppress-outputs")
    live_topic = cluster.snapshot({"drift.v1"}).topics["drift.v1"]
    assert live_topic.topic.config["retention.ms"] == str(7 * DAY)
    assert live_topic.sources["segment.bytes"] == "DYNAMIC_TOPIC_CONFIG"  # nobody declares it
    (left,) = deployed.plan().topics
    assert [consequence.evidence["setting"] for consequence in left.consequences] == ["segment.bytes"]


def test_partitions_that_would_refuse_writes_do(
    deployed: Deployment, done: PlanReport, sandbox: Sandbox, servers: list[str], cluster: Cluster
) -> None:
    def in_sync() -> int:
        return len(cluster.snapshot({"calm.v1"}).topics["calm.v1"].replicas[0].in_sync)

    sandbox.kill(3)
    try:
        until(
            lambda: all(len(r.in_sync) == 2 for r in cluster.snapshot({"calm.v1"}).topics["calm.v1"].replicas), "lost"
        )
        deployed.write({"limits/calm.v1.yaml": topic("retention.ms: 7d, min.insync.replicas: 3", partitions=1)})
        predicted = one(deployed.plan(), "calm.v1", "min-insync")
        assert predicted.severity is Severity.DANGER
        assert predicted.evidence == {"partitions": 1, "before": 1, "after": 3}
        with writing(servers) as writer:
            writer.send("calm.v1", "k", "v")
        deployed.up()
        with writing(servers, refusals_expected=True, timeout_s=5) as writer:
            writer.send("calm.v1", "k", "v")
            writer.flush()
        assert len(writer.errors) == 1
    finally:
        sandbox.start(3)
    until(lambda: in_sync() == 3, "it is back")
    with writing(servers) as writer:
        writer.send("calm.v1", "k", "v")
