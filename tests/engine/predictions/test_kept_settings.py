"""Test that every later deploy keeps a manual change, if reverting the change would lose data."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from tests.engine.predictions.conftest import Deployment, deployment, of
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.write.config_admin import set_topic
from topicwarden.model.planned_change import Action, Severity

DAY = 86_400_000
RAISED, WIDER = "hand/raised.v1.yaml", "hand/wider.v1.yaml"


def topic(retention: str = "7d", partitions: int = 1) -> str:
    return f"{{owner: team, partitions: {partitions}, replication_factor: 2, config: {{retention.ms: {retention}}}}}\n"


@pytest.fixture
def hand(sandbox: Sandbox, servers: list[str], tmp_path: Path) -> Iterator[Deployment]:
    """Two topics: one with retention raised by hand, one with partitions added by hand.

    Both contain records that a return to the YAML would delete.
    """
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


def test_an_undeclared_setting_is_left_unchanged(hand: Deployment, cluster: Cluster) -> None:
    before = cluster.snapshot({"raised.v1", "wider.v1"}).topics
    for command in ("up", "up --refresh", "up"):
        report = hand.plan()
        for name in ("raised.v1", "wider.v1"):
            plan = of(report, name)
            assert (plan.held, plan.action, plan.severity) == (True, Action.DRIFT, Severity.DANGER)
            notes = [each.message for each in plan.consequences if each.kind == "drift"]
            assert all(note.endswith("; the deploy leaves it") for note in notes), notes
        assert not report.refused
        assert not report.pending
        assert report.engine.ran
        output = hand.pulumi(f"{command} --yes --skip-preview --suppress-outputs")
        assert "raised.v1: it has drifted and stays as it is" in " ".join(output.split())
        assert cluster.snapshot({"raised.v1", "wider.v1"}).topics == before, command
    assert hand.shell.in_process("plan", "--stack", "dev").returncode == 0

    hand.write({RAISED: topic("30d"), WIDER: topic(partitions=3)})
    assert hand.plan().topics == []
    hand.pulumi("preview --expect-no-changes")
    hand.pulumi("up --yes --skip-preview --suppress-outputs --expect-no-changes")
    assert cluster.snapshot({"raised.v1", "wider.v1"}).topics == before


def test_an_allowance_does_not_remove_partitions_unknown_to_pulumi(hand: Deployment, cluster: Cluster) -> None:
    """Pulumi compares with its state, so it would keep the partitions and fail in the middle of another change."""
    before = cluster.snapshot({"wider.v1"}).topics["wider.v1"]
    text = topic("8d").replace("}}\n", "}, allow: [recreate]}\n")
    hand.write({WIDER: text})
    report = hand.plan()
    assert of(report, "wider.v1").severity is Severity.REFUSED
    for command in ("preview", "up --yes --skip-preview"):
        assert "topicwarden refresh" in hand.refused(command)
    assert cluster.snapshot({"wider.v1"}).topics["wider.v1"] == before

    hand.pulumi("refresh --yes --skip-preview --suppress-outputs")
    assert of(hand.plan(), "wider.v1").action is Action.RECREATE
    hand.up()
    after = cluster.snapshot({"wider.v1"}).topics["wider.v1"]
    assert (after.topic.partitions, after.id != before.id) == (1, True)


@pytest.mark.nightly("The suite keeps partitions by hand that are declared, and the refusal of fewer.")
def test_partitions_added_by_hand_can_be_declared_without_a_refresh(hand: Deployment, cluster: Cluster) -> None:
    before = cluster.snapshot({"wider.v1"}).topics["wider.v1"]
    hand.write({WIDER: topic(partitions=3)})
    for command in ("up", "up"):
        assert {one.topic for one in hand.plan().topics} == {"raised.v1"}
        hand.pulumi(f"{command} --yes --skip-preview --suppress-outputs")
        assert cluster.snapshot({"wider.v1"}).topics["wider.v1"] == before
    hand.write({WIDER: topic(partitions=4)})
    hand.up()
    assert cluster.snapshot({"wider.v1"}).topics["wider.v1"].topic.partitions == 4


def test_fewer_partitions_than_added_by_hand_are_refused(hand: Deployment, cluster: Cluster) -> None:
    before = cluster.snapshot({"wider.v1"}).topics["wider.v1"]
    hand.write({WIDER: topic("8d", partitions=2)})
    assert of(hand.plan(), "wider.v1").severity is Severity.REFUSED
    for command in ("preview", "up --yes --skip-preview"):
        assert "topicwarden refresh" in hand.refused(command)
    assert cluster.snapshot({"wider.v1"}).topics["wider.v1"] == before


@pytest.mark.nightly("An undeclared setting that survives a change keeps this change, too.")
def test_settings_change_if_partitions_were_added_by_hand(hand: Deployment, cluster: Cluster) -> None:
    hand.write({WIDER: topic("8d", partitions=3)})
    hand.up()
    topics = cluster.snapshot({"wider.v1"}).topics
    assert (topics["wider.v1"].topic.partitions, topics["wider.v1"].own_config["retention.ms"]) == (3, str(8 * DAY))
    assert {one.topic for one in hand.plan().topics} <= {"raised.v1"}


def test_an_undeclared_setting_survives_a_change_and_a_refresh(
    hand: Deployment, cluster: Cluster, servers: list[str]
) -> None:
    set_topic(servers, "wider.v1", {"segment.ms": str(DAY)})
    hand.write({WIDER: topic("8d", partitions=3)})
    (note,) = [each for each in of(hand.plan(), "wider.v1").consequences if each.kind == "drift"]
    assert "the deploy leaves it, because no YAML declares it" in note.message
    for command in ("up", "up --refresh"):
        hand.pulumi(f"{command} --yes --skip-preview --suppress-outputs")
        own_config = cluster.snapshot({"wider.v1"}).topics["wider.v1"].own_config
        assert own_config == {"retention.ms": str(8 * DAY), "segment.ms": str(DAY)}


def test_topicwarden_up_reverts_harmless_drift_and_recreates_a_deleted_topic(
    hand: Deployment, cluster: Cluster, servers: list[str]
) -> None:
    set_topic(servers, "raised.v1", {"retention.ms": str(6 * DAY)})
    with connected(servers) as client:
        client.delete_topics(["wider.v1"])
    assert "`topicwarden up --refresh` creates it again" in of(hand.plan(), "wider.v1").consequences[0].remedy
    for arguments, retention, topics in (([], 6, {"raised.v1"}), (["--refresh"], 7, {"raised.v1", "wider.v1"})):
        done = hand.shell.in_process("up", "--stack", "dev", "--yes", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        live = cluster.snapshot({"raised.v1", "wider.v1"}).topics
        assert live["raised.v1"].own_config["retention.ms"] == str(retention * DAY)
        assert live.keys() == topics
