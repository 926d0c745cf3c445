"""Test that plan, preview and deploy all refuse a forbidden change, and that nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.predictions.conftest import Deployment, deployment, of, one
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.write.config_admin import connected
from topicwarden.model.planned_change import Action, Severity
from topicwarden.sandbox.local_cluster import Sandbox
from topicwarden.sandbox.scenarios.writer import writing

_ONE = "{owner: team, partitions: 2, replication_factor: 2, config: {retention.ms: 7d}}\n"


def topics(cluster: Cluster) -> set[str]:
    return {name for name, live in cluster.snapshot().topics.items() if not live.topic.internal}


@pytest.fixture
def deployed(sandbox: Sandbox, servers: list[str], tmp_path: Path) -> Iterator[Deployment]:
    """A topic with two records. The fixture deletes the topic afterwards."""
    deployed = deployment(tmp_path / "door", {"door/door.v1.yaml": _ONE})
    with writing(servers) as writer:
        for key in ("a", "b"):
            writer.send("door.v1", key, "v")
    yield deployed
    with connected(servers) as admin:
        admin.delete_topics([name for name in ("door.v1", "kept.v1") if name in admin.list_topics()])


def test_deleting_a_topic_takes_two_merges(deployed: Deployment, cluster: Cluster) -> None:
    deployed.write({"door/kept.v1.yaml": _ONE})
    deployed.remove("door/door.v1.yaml")
    destroyed = one(deployed.plan(), "door.v1", "destroyed")
    assert destroyed.severity is Severity.REFUSED
    assert destroyed.evidence["records"] == 2
    assert any("creates kept.v1" in reason for reason in destroyed.because)
    for command in ("preview", "up --yes --skip-preview"):
        output = deployed.refused(command)
        assert "topics/door/door.v1.yaml:1:1: door.v1: no YAML declares it any more, so the topic would be" in output
        assert "at most 2 records in " in output
        assert "first deploy it with `allow: [delete]`" in output
    annotations = deployed.shell.topicwarden("plan", "--stack", "dev", "--format", "github").stdout
    assert "::error file=topics/door/door.v1.yaml,line=1,col=1,title=topicwarden plan%3A destroyed::" in annotations
    assert "kept.v1" not in topics(cluster)

    deployed.write({"door/door.v1.yaml": _ONE.replace("owner", "allow: [delete], owner")})
    deployed.pulumi("up --yes --suppress-outputs")
    deployed.remove("door/door.v1.yaml")
    destroyed = one(deployed.plan(), "door.v1", "destroyed")
    assert destroyed.severity is Severity.DANGER
    deployed.pulumi("up --yes --suppress-outputs")
    assert "door.v1" not in topics(cluster)
    assert "kept.v1" in topics(cluster)


def test_renaming_a_topic_is_a_deletion(deployed: Deployment, cluster: Cluster) -> None:
    file = deployed.project.topics / "door" / "door.v1.yaml"
    file.rename(file.with_name("door.v2.yaml"))
    report = deployed.plan()
    assert {plan.topic: plan.action for plan in report.topics} == {"door.v1": Action.DELETE, "door.v2": Action.CREATE}
    assert "would be deleted" in deployed.refused("preview")
    assert "door.v2" not in topics(cluster)


def test_an_existing_topic_is_adopted_or_refused(
    sandbox: Sandbox, servers: list[str], cluster: Cluster, tmp_path: Path
) -> None:
    with connected(servers) as admin:
        settings = {"retention.ms": "604800000"}
        admin.create_topics({"there.v1": {"num_partitions": 2, "replication_factor": 2, "configs": settings}})
    there = deployment(tmp_path / "there", {})
    there.write({"there/there.v1.yaml": _ONE.replace("7d", "6d")})
    foreign = one(there.plan(), "there.v1", "foreign")
    assert foreign.severity is Severity.REFUSED
    assert "retention.ms is 604800000, declared 518400000" in there.refused("up --yes --skip-preview")

    before = cluster.snapshot({"there.v1"}).topics
    there.write({"there/there.v1.yaml": _ONE})
    assert of(there.plan(), "there.v1").action is Action.ADOPT
    there.pulumi("up --yes --suppress-outputs")
    assert cluster.snapshot({"there.v1"}).topics == before
    assert there.plan().topics == []
    there.pulumi("preview --expect-no-changes")


def test_a_topic_is_adopted_with_values_that_are_defaults(servers: list[str], cluster: Cluster, tmp_path: Path) -> None:
    with connected(servers) as admin:
        admin.create_topics({"plain.v1": {"num_partitions": 2, "replication_factor": 2}})
    plain = deployment(tmp_path / "plain", {})
    declared = "{owner: team, partitions: 2, replication_factor: 2, config: {flush.messages: 9223372036854775807}}\n"
    plain.write({"plain/plain.v1.yaml": declared})
    assert of(plain.plan(), "plain.v1").action is Action.ADOPT
    assert not plain.plan().refused
    plain.pulumi("up --yes --suppress-outputs")
    assert plain.plan().topics == []
    plain.pulumi("preview --expect-no-changes")


def test_a_rebalance_places_replicas_as_predicted(deployed: Deployment, cluster: Cluster) -> None:
    deployed.write({"door/door.v1.yaml": _ONE.replace("factor: 2", "factor: 3").replace("7d", "8d")})
    before = cluster.snapshot({"door.v1"}).topics["door.v1"].replicas
    predicted = one(deployed.plan(), "door.v1", "replication-factor")
    assert "copies" in predicted.message
    output = deployed.pulumi("up --yes --suppress-outputs")
    assert "`pulumi up` leaves the replicas where they are" in output
    live = cluster.snapshot({"door.v1"}).topics["door.v1"]
    assert (live.replicas, live.topic.config["retention.ms"]) == (before, "691200000")
    assert of(deployed.plan(), "door.v1").action is Action.MOVE

    done = deployed.shell.topicwarden("rebalance", "--stack", "dev", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    moved = cluster.snapshot({"door.v1"}).topics["door.v1"].replicas
    assert {state.partition: list(state.replicas) for state in moved} == {
        effect.partition: effect.replicas_after for effect in predicted.partitions
    }
    assert deployed.plan().topics == []
    deployed.pulumi("preview --expect-no-changes")


def test_more_replicas_than_brokers_are_refused_at_their_line(deployed: Deployment) -> None:
    deployed.write({"door/door.v1.yaml": _ONE.replace("factor: 2", "factor: 4")})
    assert one(deployed.plan(), "door.v1", "too-few-brokers").severity is Severity.REFUSED
    assert "topics/door/door.v1.yaml:1:50: door.v1: too few brokers" in deployed.refused("preview")


def test_other_stacks_can_refer_to_the_topics_as_deployed(deployed: Deployment) -> None:
    output = deployed.shell.run("pulumi", "stack", "output", "topics", "--json", "--non-interactive").stdout
    assert '"door.v1"' in output
    assert '"partitions":2' in output.replace(" ", "")
    assert '"retention.ms":"604800000"' in output.replace(" ", "")
