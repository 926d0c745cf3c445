"""What somebody changed by hand stays as it is where putting it back would lose data, on every later deploy as well."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from tests.foretold.conftest import Deployment, deployment, of
from topicwarden.change import Action, Weight
from topicwarden.kafka.cluster import Cluster
from topicwarden.sandbox.cluster import Sandbox
from topicwarden.sandbox.stories.admin import connected, set_topic
from topicwarden.sandbox.stories.writer import writing

DAY = 86_400_000
RAISED, WIDER = "hand/raised.v1.yaml", "hand/wider.v1.yaml"


def topic(retention: str = "7d", partitions: int = 1) -> str:
    return f"{{owner: team, partitions: {partitions}, replication_factor: 2, config: {{retention.ms: {retention}}}}}\n"


@pytest.fixture
def hand(sandbox: Sandbox, servers: list[str], tmp_path: Path) -> Iterator[Deployment]:
    """A topic whose retention, and one whose partitions somebody raised; both hold what the YAML would not keep."""
    hand = deployment(tmp_path / "hand", {RAISED: topic(), WIDER: topic()})
    set_topic(servers, "raised.v1", {"retention.ms": str(30 * DAY)})
    admin = AdminClient({"bootstrap.servers": ",".join(servers)})
    admin.create_partitions([NewPartitions("wider.v1", 3)])["wider.v1"].result(30)
    with writing(servers) as writer:
        for number in range(10):
            writer.send("raised.v1", f"k{number}", "v", int(time.time() * 1000) - 10 * DAY)
            writer.send("wider.v1", f"k{number}", "v")
    yield hand
    with connected(servers) as client:
        client.delete_topics([name for name in ("raised.v1", "wider.v1") if name in client.list_topics()])


def test_it_is_left_until_it_is_declared(hand: Deployment, cluster: Cluster) -> None:
    before = cluster.snapshot({"raised.v1", "wider.v1"}).topics
    for command in ("up", "up --refresh", "up"):
        report = hand.plan()
        for name in ("raised.v1", "wider.v1"):
            plan = of(report, name)
            assert (plan.held, plan.action, plan.weight) == (True, Action.DRIFT, Weight.DANGER)
        assert not report.refused
        assert not report.pending
        assert report.engine.ran
        output = hand.pulumi(f"{command} --yes --skip-preview --suppress-outputs")
        assert "raised.v1: it was changed by hand and is left so" in " ".join(output.split())
        assert cluster.snapshot({"raised.v1", "wider.v1"}).topics == before, command
    assert hand.shell.topicwarden("plan", "--stack", "dev").returncode == 0

    hand.write({RAISED: topic("30d"), WIDER: topic(partitions=3)})
    assert hand.plan().topics == []
    hand.pulumi("preview --expect-no-changes")
    hand.pulumi("up --yes --skip-preview --suppress-outputs --expect-no-changes")
    assert cluster.snapshot({"raised.v1", "wider.v1"}).topics == before
