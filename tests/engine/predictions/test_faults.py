"""Interrupt deployments with failures, and test that the next run completes the work and no record is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from tests.engine.predictions.conftest import Deployment, deployment
from tests.support.clients import until
from tests.support.projects import empty_stack, project_of
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.connect.request_errors import RequestError
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.write.topic_admin import Errors, create_topics
from topicwarden.kinds.topic import resource
from topicwarden.model.planned_change import Action

KILLS = int(os.environ.get("TOPICWARDEN_KILLS", "1"))
SEED = int(os.environ.get("TOPICWARDEN_SEED", "20261122"))
_TOPICS = 6


def declared(round_of: int, prefix: str = "fault") -> dict[str, str]:
    """Return the declarations of a round: each round adds topics and changes the retention of all topics.

    The retention is never reduced.
    """
    return {
        f"fault/{prefix}.t{number}.yaml": "{owner: team, partitions: 1, replication_factor: 2, "
        f"config: {{retention.ms: {round_of + 7}d}}}}\n"
        for number in range(_TOPICS + 2 * round_of)
    }


def converged(project: Deployment, cluster: Cluster, files: dict[str, str]) -> None:
    """Assert that all topics are as declared, and that Pulumi finds nothing to change."""
    done = project.shell.run("pulumi", "cancel", "--yes", "--non-interactive")
    project.pulumi("up --yes --skip-preview --suppress-outputs")
    live = cluster.snapshot().topics
    for file in files:
        assert Path(file).stem in live, done.stdout
    project.pulumi("preview --expect-no-changes")
    assert project.plan().topics == []
    assert list((project.project.root / "state" / ".pulumi" / "locks").rglob("*.json")) == []


def test_the_next_deploy_completes_a_killed_one(sandbox: Sandbox, cluster: Cluster, tmp_path: Path) -> None:
    print(f"TOPICWARDEN_KILLS={KILLS} TOPICWARDEN_SEED={SEED}")
    chance = random.Random(SEED)
    project = deployment(tmp_path / "killed", declared(0, "killed"))
    with writing(sandbox.bootstrap_servers) as writer:
        writer.send("killed.t0", "k", "v")
    for number in range(1, KILLS + 1):
        files = declared(number, "killed")
        project.write(files)
        alive_s = chance.uniform(0.3, 6.0)
        process = subprocess.Popen(
            ["pulumi", "up", "--yes", "--skip-preview", "--non-interactive", "--stack", "dev"],
            cwd=project.shell.folder,
            env={**os.environ, **project.shell.variables},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(alive_s)
        process.send_signal(signal.SIGKILL)
        process.wait()
        print(f"kill {number} after {alive_s:.1f} s")
        converged(project, cluster, files)
    extent = cluster.snapshot({"killed.t0"}).topics["killed.t0"].extents[0]
    assert (extent.start, extent.end) == (0, 1)


@pytest.mark.nightly("The suite keeps plans with a frozen broker, and with a partition whose broker is lost.")
def test_a_snapshot_works_with_a_lost_broker(sandbox: Sandbox, cluster: Cluster) -> None:
    names = {f"seen.t{number}" for number in range(5)}
    with connected(sandbox.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(name, 3, 3) for name in sorted(names)])
    until(lambda: names <= set(cluster.snapshot().topics), "the topics are visible")
    loss = threading.Timer(0.1, sandbox.kill, [3])
    try:
        loss.start()
        seen = [set(cluster.snapshot().topics) for _ in range(10)]
    finally:
        loss.join()
        sandbox.start(3)
    assert all(names <= topics for topics in seen)


@pytest.mark.parametrize("after_s", [1.5, 3.0] if KILLS > 1 else [1.5])
def test_a_deploy_survives_the_loss_of_the_controller(
    sandbox: Sandbox, cluster: Cluster, tmp_path: Path, after_s: float
) -> None:
    name = f"ruled{after_s:g}".replace(".", "-")
    project = deployment(tmp_path / "ruled", declared(0, name))
    files = declared(4, name)
    project.write(files)
    with connected(sandbox.bootstrap_servers) as admin:
        quorum = admin.describe_metadata_quorum()
    controller = int(quorum["topics"][0]["partitions"][0]["leader_id"])
    loss = threading.Timer(after_s, sandbox.kill, [controller])
    loss.start()
    try:
        project.shell.run("pulumi", "up", "--yes", "--skip-preview", "--non-interactive", timeout=300)
    finally:
        loss.join()
        sandbox.start(controller)
    until(lambda: len(cluster.snapshot().racks) == 3, "the broker is back")
    converged(project, cluster, files)


def test_a_deploy_without_a_cluster_exits_with_2(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "unused")
    settings = "config: {'kafka:bootstrapServers': ['127.0.0.1:1'], 'kafka:tlsEnabled': false}\n"
    project = project_of(tmp_path / "project", declared(0, "nowhere"), settings)
    done = empty_stack(project, tmp_path / "state").topicwarden("up", "--stack", "dev", "--yes")
    assert done.returncode == 2
    assert "127.0.0.1:1: nothing listens on this port" in done.stderr.splitlines()[-1]


def test_a_frozen_broker_does_not_stop_a_plan(sandbox: Sandbox, tmp_path: Path) -> None:
    """The kernel accepts connections for a frozen broker, so every client waits for it until a time-out."""
    project = deployment(tmp_path / "frozen", declared(0, "frozen"))
    frozen = next(broker.pid for broker in sandbox.status().brokers if broker.id == 1)
    assert frozen
    os.kill(frozen, signal.SIGSTOP)
    try:
        for _ in range(3):  # the first begins before the cluster has noticed
            assert project.plan().topics == []
    finally:
        os.kill(frozen, signal.SIGCONT)
    until(lambda: all(broker.in_cluster for broker in sandbox.status().brokers), "the broker is back in the cluster")


def test_a_topic_that_a_client_creates_during_its_recreation_is_adopted_as_it_is(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With ``auto.create.topics.enable``, brokers create it for a client that still writes."""
    file, topic = "fault/again.v1.yaml", "{{owner: team, partitions: {}, replication_factor: 1, allow: [recreate]}}\n"
    project = deployment(tmp_path / "again", {file: topic.format(3)})

    def create_after_a_client(admin: KafkaAdminClient, topics: Collection[Any]) -> Errors:
        admin.create_topics([NewTopic("again.v1", 1, 1)])
        return create_topics(admin, topics)

    project.write({file: topic.format(2)})
    with monkeypatch.context() as patch:
        patch.setattr(resource, "create_topics", create_after_a_client)
        failed = project.shell.in_process("up", "--stack", "dev", "--yes")
    assert failed.returncode == 1
    assert "exists and is not as declared" in failed.stdout + failed.stderr
    (plan,) = project.plan().topics
    assert plan.consequences[0].kind == "foreign"
    project.write({file: topic.format(1)})
    (plan,) = project.plan().topics
    assert (plan.action, [each.kind for each in plan.consequences]) == (Action.ADOPT, ["adopted"])
    project.pulumi("up --yes --skip-preview --suppress-outputs")
    assert project.plan().topics == []
    assert cluster.snapshot(["again.v1"]).topics["again.v1"].topic.partitions == 1


def test_a_topic_whose_recreation_failed_is_created_by_the_next_deploy(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, topic = "fault/lost.v1.yaml", "{{owner: team, partitions: {}, replication_factor: 1, allow: [recreate]}}\n"
    project = deployment(tmp_path / "lost", {file: topic.format(3)})
    project.write({file: topic.format(2)})
    with monkeypatch.context() as patch:
        refusal = {"lost.v1": RequestError("POLICY_VIOLATION", "no such topics")}
        patch.setattr(resource, "create_topics", lambda admin, topics: refusal)
        failed = project.shell.in_process("up", "--stack", "dev", "--yes")
    assert failed.returncode == 1
    assert "no such topics" in failed.stdout + failed.stderr
    (plan,) = project.plan().topics
    assert (plan.action, plan.consequences) == (Action.CREATE, [])
    project.pulumi("up --yes --skip-preview --suppress-outputs")
    assert project.plan().topics == []
    assert cluster.snapshot(["lost.v1"]).topics["lost.v1"].topic.partitions == 2
