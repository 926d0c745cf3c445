"""The functions of topicwarden on a cluster, part by part. Each part continues where the part before ended."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kafka.admin import NewTopic

from tests.campaigns.versions.clusters import RunningCluster
from tests.engine.predictions.conftest import Deployment, one
from tests.support.clients import commit
from tests.support.projects import empty_stack, project_of
from tests.support.reports import finding
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.kafka.read.snapshot import LiveTopic
from topicwarden.kafka.read.topic_reads import TopicProperties, wait_until_visible
from topicwarden.kafka.write.config_admin import set_topic
from topicwarden.kafka_facts.services import APACHE
from topicwarden.model.diagnosis import Ability, Diagnosis, Possession
from topicwarden.model.planned_change import Severity
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import auditing

DAY_MS: Final = 86_400_000
RECORDS: Final = 40
_PLACED = "topic: placed.v1\nowner: team\npartitions: {}\nreplication_factor: {}\nconfig: {{{}}}\n{}"
_JSON = "contents: {value: {format: json}}\n"
_OLD, _NEW = "retention.ms: 30d, max.message.bytes: 1MiB", "retention.ms: 1d, max.message.bytes: 2MiB"
_FILES: Final = {
    "placed.yaml": _PLACED.format(2, 1, _OLD, _JSON),
    "cache.yaml": "{topic: cache.v1, owner: team, partitions: 1, replication_factor: 3, "
    "config: {cleanup.policy: compact, min.insync.replicas: 2}}\n",
    "gone.yaml": "{topic: gone.v1, owner: team, partitions: 1, replication_factor: 1}\n",
}


@dataclass(frozen=True)
class Stage:
    """A cluster of one version, and a project that is deployed to it."""

    cluster: RunningCluster
    deployment: Deployment

    @property
    def servers(self) -> list[str]:
        return self.cluster.servers

    def live(self, topic: str) -> LiveTopic | None:
        with open_cluster(connect_to(self.deployment.project, "dev")) as cluster:
            return cluster.snapshot([topic]).topics.get(topic)

    def own_config(self, topic: str) -> Mapping[str, str]:
        live = self.live(topic)
        assert live is not None, f"{topic} does not exist"
        return live.own_config

    def command(self, *arguments: str) -> str:
        """Run ``topicwarden`` with ``arguments``, which must succeed, and return its output."""
        done = self.deployment.shell.topicwarden(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def up(self) -> str:
        return self.deployment.pulumi("up --yes --skip-preview")


@contextmanager
def staged(cluster: RunningCluster, folder: Path) -> Iterator[Stage]:
    """Yield a stage whose project is in ``folder`` and is not deployed yet."""
    settings = {
        "kafka:bootstrapServers": cluster.servers,
        "kafka:tlsEnabled": False,
        "topicwarden:kafkaVersion": cluster.version.line,
    }
    project = project_of(folder / "project", _FILES, json.dumps({"config": settings}))
    yield Stage(cluster, Deployment(project, empty_stack(project, folder / "state")))


def create(stage: Stage) -> None:
    """Deploy three topics, and find nothing to do afterwards."""
    stage.up()
    assert stage.own_config("placed.v1") == {"retention.ms": str(30 * DAY_MS), "max.message.bytes": "1048576"}
    assert stage.own_config("cache.v1") == {"cleanup.policy": "compact", "min.insync.replicas": "2"}
    stage.deployment.pulumi("preview --expect-no-changes")


def doctor(stage: Stage) -> None:
    """Name version, mode and size of the cluster, and find nothing that commands lack but an API of Kafka 4.0."""
    done = stage.deployment.shell.topicwarden("doctor", "--stack", "dev", "--format", "json")
    report = Diagnosis.model_validate_json(done.stdout)
    version, cluster = stage.cluster.version, report.cluster
    assert cluster is not None, done.stdout
    assert (cluster.brokers, cluster.topics) == (3, 3), cluster
    assert cluster.mode == ("ZooKeeper" if version.zookeeper else "KRaft"), cluster
    assert cluster.kafka == (None if version.zookeeper else version.line), cluster
    limited = {command.command for command in report.commands if command.ability is not Ability.READY}
    assert limited == ({"rebalance"} if version.line == "3.9" else set()), report.commands
    assert {permission.state for permission in report.permissions} == {Possession.GRANTED}, report.permissions


def plan(stage: Stage) -> None:
    """Predict which records a shorter retention deletes, and which of them a consumer group has not read."""
    with writing(stage.servers) as writer:
        for number in range(RECORDS):
            stamp = int(time.time() * 1000) - (3 * DAY_MS if number < RECORDS / 2 else 0)
            value = "not JSON" if number == RECORDS - 1 else "{}"
            writer.send("placed.v1", f"k{number}", value, stamp, partition=number % 2)
    commit(stage.servers, "billing", {("placed.v1", 0): 7})
    stage.deployment.write({"placed.yaml": _PLACED.format(2, 1, _NEW, _JSON)})
    cut = one(stage.deployment.plan(), "placed.v1", "retention-cut")
    assert cut.severity is Severity.REFUSED, cut
    assert cut.evidence["records"] == RECORDS / 2, cut
    assert [(effect.group, effect.partition, effect.records) for effect in cut.groups] == [("billing", 0, 3)], cut
    assert "retention.ms" in stage.deployment.refused("up --yes --skip-preview")
    assert stage.own_config("placed.v1")["retention.ms"] == str(30 * DAY_MS)


def audit(stage: Stage) -> None:
    """Find the record that is no JSON, and nothing else that is wrong with its topic."""
    stage.deployment.write({"placed.yaml": _PLACED.format(2, 1, _OLD, _JSON)})
    with auditing(stage.deployment.project, "dev") as audit_topics:
        report = audit_topics(())
    bad = finding(report, "placed.v1", "value-schema")
    assert (bad.verdict, bad.partitions) == (Verdict.FAIL, [1]), bad
    failed = {(each.topic, each.check) for each in report.findings if each.verdict is Verdict.FAIL}
    assert failed == {("placed.v1", "value-schema")}, failed
    groups = finding(report, "placed.v1", "group-lag")
    assert groups.verdict is Verdict.PASS, groups


def update(stage: Stage) -> None:
    """Change settings and add a partition."""
    changed = _PLACED.format(3, 1, _NEW, f"{_JSON}allow: [shrink-retention]\n")
    stage.deployment.write({"placed.yaml": changed})
    stage.up()
    live = stage.live("placed.v1")
    assert live is not None
    assert live.topic.partitions == 3
    assert live.own_config == {"retention.ms": str(DAY_MS), "max.message.bytes": "2097152"}
    stage.deployment.pulumi("preview --expect-no-changes")


def refresh(stage: Stage) -> None:
    """Read a manual change into the state, report it in the preview, and revert it."""
    set_topic(stage.servers, "placed.v1", {"retention.ms": str(DAY_MS), "max.message.bytes": "3145728"})
    stage.deployment.pulumi("refresh --yes --skip-preview")
    assert "3145728" in stage.deployment.pulumi("stack export")
    assert "3145728" in stage.deployment.pulumi("preview --diff")
    stage.up()
    assert stage.own_config("placed.v1")["max.message.bytes"] == "2097152"


def rebalance(stage: Stage) -> None:
    """Raise a replication factor from one to three."""
    raised = _PLACED.format(3, 3, _NEW, f"{_JSON}allow: [shrink-retention]\n")
    stage.deployment.write({"placed.yaml": raised})
    stage.command("rebalance", "--stack", "dev", "--yes")
    live = stage.live("placed.v1")
    assert live is not None
    assert all(len(state.replicas) == len(state.in_sync) == 3 for state in live.replicas), live.replicas
    stage.up()
    stage.deployment.pulumi("preview --expect-no-changes")


def import_(stage: Stage) -> None:
    """Adopt a topic that nobody declared."""
    with connected(stage.servers) as admin:
        admin.create_topics([NewTopic("found.v1", 2, 2, topic_configs={"retention.ms": "3600000"})])
        assert not wait_until_visible(admin, {"found.v1": TopicProperties(2, 2)}, APACHE)
    stage.command("import", "--stack", "dev", "found.*")
    written = "".join(path.read_text() for path in stage.deployment.project.topics.rglob("found*.yaml"))
    assert "retention.ms: 1h" in written, written
    stage.deployment.pulumi("preview --expect-no-changes")


def delete(stage: Stage) -> None:
    """Refuse to delete a topic that does not allow it, and delete a topic that does."""
    stage.deployment.remove("gone.yaml")
    assert "gone.v1" in stage.deployment.refused("up --yes --skip-preview")
    assert stage.live("gone.v1") is not None
    stage.deployment.write({"gone.yaml": _FILES["gone.yaml"].replace("}", ", allow: [delete]}")})
    stage.up()
    stage.deployment.remove("gone.yaml")
    stage.up()
    assert stage.live("gone.v1") is None


PARTS: Final[dict[str, Callable[[Stage], None]]] = {
    "create": create,
    "doctor": doctor,
    "plan": plan,
    "audit": audit,
    "update": update,
    "refresh": refresh,
    "rebalance": rebalance,
    "import": import_,
    "delete": delete,
}
"""The parts, in the order in which they run."""
