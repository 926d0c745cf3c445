"""Test changes that lose records or durability on the real cluster.

Every command must refuse each change by name. An allowed change must not lose more records than predicted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import urandom
from pathlib import Path

import pytest
from kafka.admin import AlterConfigOp, ConfigResource, ConfigResourceType

from tests.engine.predictions.conftest import Deployment, deployment, of, one
from tests.support.clients import extents, records, until
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.write.config_admin import set_topic
from topicwarden.model.planned_change import Action, PlanReport, Severity

HOUR, DAY = 3_600_000, 86_400_000
_KEYS, _RECORDS = 55, 480


def topic(config: str, more: str = "", partitions: int = 1, factor: int = 3) -> str:
    return f"{{owner: team, partitions: {partitions}, replication_factor: {factor}, config: {{{config}}}{more}}}\n"


def compacted(roll: str = "1h", ratio: str = "0.01", lag: str = "0") -> str:
    policy = f"cleanup.policy: compact, min.cleanable.dirty.ratio: {ratio}"
    return f"{policy}, segment.ms: {roll}, min.compaction.lag.ms: {lag}"


@dataclass(frozen=True)
class Way:
    """A change of a topic's settings.

    The fields are the consequence that reports the change, the word that allows it, and the maximum number of records
    that it may lose.
    """

    before: str
    after: str
    kind: str
    word: str
    records: int = 0


_SUPERSEDED = _RECORDS - _KEYS
WAYS = {
    "compact.v1": Way("retention.ms: -1, segment.ms: 1h", compacted(), "compaction", "compact", _SUPERSEDED),
    "lag.v1": Way(compacted(lag="3650d"), compacted(), "compaction", "compact", _SUPERSEDED),
    "ratio.v1": Way(compacted(ratio="1"), compacted(), "compaction", "compact", _SUPERSEDED),
    "roll.v1": Way(compacted(roll="3650d"), compacted(), "compaction", "compact", _SUPERSEDED),
    "tight.v1": Way(
        "retention.ms: 30d, segment.ms: 1h",
        "retention.ms: 3640s, segment.ms: 1h",
        "retention-cut",
        "shrink-retention",
        _RECORDS,
    ),
    "endless.v1": Way("retention.ms: -1", "retention.ms: 25d", "retention-cut", "shrink-retention"),
    "large.v1": Way(
        "retention.bytes: 2MiB, segment.bytes: 100MiB",
        "retention.bytes: 2MiB, segment.bytes: 1MiB",
        "earlier-roll",
        "shrink-retention",
        _RECORDS,
    ),
    "unclean.v1": Way(
        "retention.ms: -1",
        "retention.ms: -1, unclean.leader.election.enable: true",
        "unclean-election",
        "unclean-election",
    ),
    "in-sync.v1": Way("min.insync.replicas: 2", "min.insync.replicas: 1", "min-insync", "lower-min-insync"),
    "flush.v1": Way("flush.messages: 1", "retention.ms: 7d", "flush", "relax-flush"),
}


@pytest.fixture(scope="module")
def deployed(sandbox: Sandbox, servers: list[str], tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    """Deploy and fill every topic: 480 hour-old records of 55 keys, and one new record that rolls the segment."""
    files = {f"ways/{name}.yaml": topic(way.before) for name, way in WAYS.items()}
    project = deployment(tmp_path_factory.mktemp("ways"), files)
    old = int(time.time() * 1000) - HOUR
    with writing(servers) as writer:
        for name in WAYS:
            for number in range(_RECORDS):
                value = urandom(10_000) if name == "large.v1" else "v"
                writer.send(name, f"k{number % _KEYS}", value, old + number)
    return project


@pytest.fixture(scope="module")
def refused(deployed: Deployment) -> PlanReport:
    deployed.write({f"ways/{name}.yaml": topic(way.after) for name, way in WAYS.items()})
    return deployed.plan()


@pytest.fixture(scope="module")
def allowed(deployed: Deployment, refused: PlanReport) -> PlanReport:
    """Return the plan with each loss allowed by name, and deploy it."""
    deployed.write({f"ways/{name}.yaml": topic(way.after, f", allow: [{way.word}]") for name, way in WAYS.items()})
    report = deployed.plan()
    deployed.up()
    return report


@pytest.mark.parametrize("name", WAYS)
def test_each_loss_is_refused_with_its_record_count(refused: PlanReport, name: str) -> None:
    way = WAYS[name]
    consequence = one(refused, name, way.kind)
    assert consequence.severity is Severity.REFUSED
    assert f"allow: [{{change: {way.word}, until: DATE}}]" in consequence.remedy
    predicted = consequence.evidence.get("records", 0)
    assert isinstance(predicted, int)
    within_a_day = consequence.evidence.get("records within a day", 0)
    assert isinstance(within_a_day, int)
    if way.kind != "unclean-election":
        assert max(predicted, within_a_day) == way.records


def test_preview_and_deploy_refuse_the_same_changes(
    deployed: Deployment, refused: PlanReport, cluster: Cluster
) -> None:
    before = {name: cluster.snapshot({name}).topics[name].own_config for name in WAYS}
    for command in ("preview", "up --yes --skip-preview"):
        output = deployed.refused(command)
        for name in WAYS:
            assert f"topics/ways/{name}.yaml:1:" in output
    assert {name: cluster.snapshot({name}).topics[name].own_config for name in WAYS} == before
    assert deployed.shell.in_process("plan", "--stack", "dev").returncode == 1


def test_an_allowance_for_another_change_does_not_allow_it(deployed: Deployment, refused: PlanReport) -> None:
    for word in ("delete", "compact", "shrink-retention"):
        chosen = {name: way for name, way in WAYS.items() if way.word != word}
        deployed.write({f"ways/{name}.yaml": topic(way.after, f", allow: [{word}]") for name, way in chosen.items()})
        report = deployed.plan()
        assert {plan.topic for plan in report.topics if plan.severity is Severity.REFUSED} >= chosen.keys()


def test_no_more_records_are_lost_than_predicted(
    deployed: Deployment, allowed: PlanReport, servers: list[str], cluster: Cluster
) -> None:
    assert {plan.topic: plan.severity for plan in allowed.topics} == dict.fromkeys(sorted(WAYS), Severity.DANGER)
    now = int(time.time() * 1000)
    for number in range(3):  # segments roll only on an append
        with writing(servers) as writer:
            for name in WAYS:
                writer.send(name, f"new {number}", urandom(900_000) if name == "large.v1" else "v", now + number)
        time.sleep(1)
    cleaned = ("compact.v1", "lag.v1", "ratio.v1", "roll.v1")
    until(lambda: all(len(old_records(servers, name)) < _RECORDS for name in cleaned), "the cleaner has come")
    until(lambda: extents(cluster, "large.v1")[0].start > 0, "the old segment is deleted")
    until(lambda: extents(cluster, "tight.v1")[0].start > 0, "the records have expired")
    for name, way in WAYS.items():
        assert _RECORDS - len(old_records(servers, name)) <= way.records, name
        if name in cleaned:
            assert len(set(old_records(servers, name))) == _KEYS


def old_records(servers: list[str], name: str) -> list[bytes]:
    """Return the keys of the records that existed before the change."""
    keys = [bytes(record.key() or b"") for record in records(servers, name)]
    return [key for key in keys if key.startswith(b"k")]


@contextmanager
def lost(sandbox: Sandbox, cluster: Cluster, name: str) -> Iterator[int]:
    """Kill the broker that has the only replica of a topic, and start it again on exit."""
    broker = cluster.snapshot({name}).topics[name].replicas[0].replicas[0]
    sandbox.kill(broker)
    try:
        until(lambda: cluster.snapshot({name}).topics[name].replicas[0].leader is None, "it is lost")
        yield broker
    finally:
        sandbox.start(broker)


def test_a_partition_that_is_offline_is_not_empty(
    sandbox: Sandbox, servers: list[str], cluster: Cluster, tmp_path: Path
) -> None:
    project = deployment(
        tmp_path / "offline",
        {"off/offline.v1.yaml": topic("retention.ms: 30d", factor=1), "off/offline-beside.v1.yaml": topic("")},
    )
    with writing(servers) as writer:
        for number in range(_RECORDS):
            writer.send("offline.v1", f"k{number}", "v", int(time.time() * 1000) - 3 * DAY)
    with lost(sandbox, cluster, "offline.v1") as broker:
        project.write({"off/offline.v1.yaml": topic("retention.ms: 1d", factor=1)})
        cut = one(project.plan(), "offline.v1", "retention-cut")
        assert cut.severity is Severity.REFUSED
        assert cut.evidence["partitions not seen"] == 1
        assert any(f"start broker {broker}" in reason for reason in cut.because)
        assert "without a leader" in project.refused("up --yes --skip-preview")
        project.write({"off/offline.v1.yaml": topic("cleanup.policy: compact", factor=1)})
        assert one(project.plan(), "offline.v1", "compaction").severity is Severity.REFUSED
        project.remove("off/offline.v1.yaml")
        destroyed = one(project.plan(), "offline.v1", "destroyed")
        assert destroyed.severity is Severity.REFUSED
        assert "could not be seen" in destroyed.message
    until(lambda: 0 in extents(cluster, "offline.v1"), "it is back")
    assert extents(cluster, "offline.v1")[0].end - extents(cluster, "offline.v1")[0].start == _RECORDS


def test_brokers_with_different_defaults_are_judged_by_the_worst(
    sandbox: Sandbox, servers: list[str], cluster: Cluster, tmp_path: Path
) -> None:
    project = deployment(tmp_path / "defaults", {"own/default.v1.yaml": topic("retention.ms: 60d")})
    with writing(servers) as writer:
        for number in range(_RECORDS):
            writer.send("default.v1", f"k{number}", "v", int(time.time() * 1000) - 2 * HOUR)

    def set_default(broker: int, value: str | None) -> None:
        setting = (AlterConfigOp.SET, value) if value else (AlterConfigOp.DELETE, None)
        with connected(servers) as admin:
            resource = ConfigResource(ConfigResourceType.BROKER, str(broker), {"log.retention.ms": setting})
            admin.alter_configs([resource], raise_on_unknown=False, incremental=True)

    try:
        for broker, value in ((1, str(60 * DAY)), (2, str(60 * DAY)), (3, str(HOUR))):
            set_default(broker, value)
        project.write({"own/default.v1.yaml": topic("segment.ms: 7d")})
        report = project.plan()
        cut = one(report, "default.v1", "retention-cut")
        assert cut.severity is Severity.REFUSED
        assert cut.evidence["retention.ms after"] == HOUR
        assert cut.evidence["records"] == _RECORDS
        differing = one(report, "default.v1", "broker-defaults")
        assert differing.severity is Severity.DANGER
        assert "60d on broker 1, 2; 1h on broker 3" in differing.message
        assert "retention.ms" in project.refused("up --yes --skip-preview")
    finally:
        for broker in (1, 2, 3):
            set_default(broker, None)


def test_a_setting_raised_by_hand_is_kept_and_blocks_nothing(
    sandbox: Sandbox, servers: list[str], cluster: Cluster, tmp_path: Path
) -> None:
    declared = {
        "own/lifted.v1.yaml": topic("retention.ms: 7d"),
        "own/lifted-beside.v1.yaml": topic("retention.ms: 7d"),
    }
    project = deployment(tmp_path / "raised", declared)
    set_topic(servers, "lifted.v1", {"retention.ms": str(60 * DAY)})
    with writing(servers) as writer:
        writer.send("lifted.v1", "k", "v", int(time.time() * 1000) - 8 * DAY + HOUR)
    project.write({"own/lifted-beside.v1.yaml": topic("retention.ms: 8d")})
    report = project.plan()
    assert not report.refused
    plan = of(report, "lifted.v1")
    assert (plan.action, plan.held) == (Action.DRIFT, True)
    assert any("has drifted and stays as it is" in each.message for each in plan.consequences)
    project.up()
    assert cluster.snapshot({"lifted.v1"}).topics["lifted.v1"].own_config["retention.ms"] == str(60 * DAY)


def test_records_that_are_written_meanwhile_are_counted_by_the_deploy(
    servers: list[str], cluster: Cluster, tmp_path: Path
) -> None:
    project = deployment(tmp_path / "race", {"own/race.v1.yaml": topic("retention.ms: 30d")})
    project.write({"own/race.v1.yaml": topic("retention.ms: 1d")})
    assert not project.plan().refused
    with writing(servers) as writer:
        writer.send("race.v1", "k", "v", int(time.time() * 1000) - 2 * DAY)
    assert "at most 1 record of 1 in 1 partition expires at once" in project.refused("up --yes --skip-preview")
