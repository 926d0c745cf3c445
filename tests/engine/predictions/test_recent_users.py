"""Test that a plan names those who used a topic recently, from the use history and from real brokers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import yaml
from confluent_kafka import Producer

from tests.engine.predictions.conftest import Deployment, deployment, of, one
from tests.support.clients import commit, until
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.model.access import NO_ACCESS
from topicwarden.model.planned_change import Consequence, PlanReport, Severity
from topicwarden.model.timestamps import between
from topicwarden.model.usage import DAY_MS, UserKind
from topicwarden.operations.deploy import planned_destroy
from topicwarden.operations.find_pulumi import engine_of
from topicwarden.usage.use_history import UseHistory, remember_use

TOPIC = "{owner: team, partitions: 1, replication_factor: 3, config: {retention.ms: 7d}}\n"
SHORTER = "{owner: team, partitions: 1, replication_factor: 3, config: {retention.ms: 1d}}\n"
DELETED, SHRUNK, UNSEEN = "past.deleted.v1", "past.shrunk.v1", "past.unseen.v1"
GROUP, WRITER = "past-billing", "past-orders-tx"


@dataclass(frozen=True)
class Past:
    """A project whose YAML would lose the records of three topics, and the times of the observations (ms)."""

    deployed: Deployment
    earlier: int
    yesterday: int

    @property
    def history(self) -> Path:
        return self.deployed.project.cache / "history" / "dev"

    def observe(self, taken_at: int, topics: set[str]) -> None:
        with open_cluster(connect_to(self.deployed.project, "dev")) as cluster:
            # Brokers write the marker of a transaction after its producer has ended it.
            until(lambda: all_stable(cluster.snapshot(topics)), "all records to be stable")
            snapshot = cluster.snapshot(topics)
            observed = replace(snapshot, taken_at=taken_at)
            remember_use(UseHistory(str(self.history)), observed, cluster.use(snapshot), NO_ACCESS)

    @contextmanager
    def with_history(self, address: str) -> Iterator[None]:
        file = self.deployed.project.root / "stacks" / "Pulumi.dev.yaml"
        before = file.read_text(encoding="utf-8")
        settings = {"config": {"topicwarden:cluster": "sandbox", "topicwarden:history": address}}
        file.write_text(yaml.safe_dump(settings), encoding="utf-8")
        try:
            yield
        finally:
            file.write_text(before, encoding="utf-8")


def all_stable(snapshot: Snapshot) -> bool:
    extents = (extent for live in snapshot.topics.values() for extent in live.extents.values())
    return all(extent.last_stable == extent.end for extent in extents)


@pytest.fixture(scope="module")
def past(servers: list[str], tmp_path_factory: pytest.TempPathFactory) -> Past:
    """Let a group and a transactional producer use two topics between two observations, and delete the group."""
    files = {f"past/{name}.yaml": TOPIC for name in (DELETED, SHRUNK, UNSEEN, "past.kept.v1")}
    now = int(time.time() * 1000)
    past = Past(deployment(tmp_path_factory.mktemp("past"), files), now - 2 * DAY_MS, now - DAY_MS)
    with writing(servers) as writer:
        for name in (DELETED, SHRUNK, UNSEEN):
            for number in range(5):
                writer.send(name, f"k{number}", "v")
    commit(servers, GROUP, {(DELETED, 0): 2, (SHRUNK, 0): 2})
    past.observe(past.earlier, {DELETED, SHRUNK})
    commit(servers, GROUP, {(DELETED, 0): 4, (SHRUNK, 0): 4})
    write_transaction(servers)
    past.observe(past.yesterday, {DELETED, SHRUNK})
    with connected(servers) as admin:
        admin.delete_groups([GROUP])
    for name in (DELETED, UNSEEN):
        past.deployed.remove(f"past/{name}.yaml")
    past.deployed.write({f"past/{SHRUNK}.yaml": SHORTER})
    return past


def write_transaction(servers: list[str]) -> None:
    producer = Producer({"bootstrap.servers": ",".join(servers), "transactional.id": WRITER})
    producer.init_transactions(30)
    producer.begin_transaction()
    for name in (DELETED, SHRUNK):
        producer.produce(name, b"v", b"k")
    producer.commit_transaction(30)


def sentences(past: Past) -> list[str]:
    """Return what a plan must say of the group and the producer, whom only the history remembers to be recent."""
    during = between(past.earlier, past.yesterday)
    return [f"group {GROUP} committed {during}", f"transactional id {WRITER} wrote {during}"]


def losses(report: PlanReport) -> dict[str, Consequence]:
    return {DELETED: one(report, DELETED, "destroyed"), SHRUNK: one(report, SHRUNK, "retention-cut")}


def reasons(loss: Consequence, start: str) -> list[str]:
    return [reason for reason in loss.because if reason.startswith(start)]


def test_a_deletion_and_a_shorter_retention_name_a_reader_that_stopped_yesterday(past: Past) -> None:
    report = past.deployed.plan()
    for loss in losses(report).values():
        assert loss.severity is Severity.REFUSED
        assert [user.sentence for user in loss.users] == sentences(past)
        assert [user.kind for user in loss.users] == [UserKind.GROUP, UserKind.TRANSACTIONAL_ID]
        assert reasons(loss, "last observed by an audit or usage report at ")
    unseen = one(report, UNSEEN, "destroyed")
    assert unseen.users == []
    assert reasons(unseen, "no audit or usage report has observed this topic: ")
    assert report.remarks == []
    assert all(plan.topic != "past.kept.v1" for plan in report.topics)


def test_pulumi_and_a_destroy_name_them_too_and_refuse_the_same(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    for command in ("preview", "up --yes --skip-preview"):
        output = past.deployed.refused(command)
        for sentence in sentences(past):
            assert output.count(sentence) >= 2, output
    for name, value in past.deployed.shell.variables.items():
        monkeypatch.setenv(name, value)
    destroyed = one(planned_destroy(engine_of(past.deployed.project, "dev")), SHRUNK, "destroyed")
    assert destroyed.severity is Severity.REFUSED
    assert [user.sentence for user in destroyed.users] == sentences(past)


def test_a_policy_says_how_many_days_count(past: Past) -> None:
    policy = past.deployed.project.policies / "usage.yaml"
    policy.parent.mkdir(exist_ok=True)
    policy.write_text("usage: {idle_after: 12h}\n", encoding="utf-8")
    try:
        loss = one(past.deployed.plan(), DELETED, "destroyed")
    finally:
        policy.unlink()
    assert loss.users == []
    assert reasons(loss, "no user in the last 12h is known")


def test_a_history_elsewhere_is_a_remark(past: Past) -> None:
    with past.with_history("s3a://bucket/history"):
        report = past.deployed.plan()
    (remark,) = report.remarks
    assert remark.startswith("the history of use at s3a://bucket/history was not read")
    loss = one(report, DELETED, "destroyed")
    assert loss.severity is Severity.REFUSED
    assert not reasons(loss, "no audit or usage report")
    assert [user.name for user in loss.users] == [WRITER]


@pytest.mark.nightly("The suite keeps the histories that are elsewhere or damaged.")
def test_without_a_history_nothing_is_remarked(past: Past) -> None:
    with past.with_history("none"):
        report = past.deployed.plan()
    assert report.remarks == []
    assert [user.name for user in one(report, DELETED, "destroyed").users] == [WRITER]


def test_a_damaged_history_stops_no_plan(past: Past) -> None:
    for file in past.history.rglob("use.json.gz"):
        file.write_bytes(b"damaged")
    report = past.deployed.plan()
    (remark,) = report.remarks
    assert "has a damaged part" in remark
    assert of(report, DELETED).severity is Severity.REFUSED
    assert [user.name for user in one(report, DELETED, "destroyed").users] == [WRITER]
