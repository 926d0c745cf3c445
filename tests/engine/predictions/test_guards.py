"""Test that plan, preview and deploy refuse a forbidden change, and that each word under `allow` allows one, once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.predictions.conftest import Deployment, day, deployment, edited, of, one
from tests.support.stack_state import resources_in_state
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kinds.topic.resource import SET_TYPE
from topicwarden.model.planned_change import Action, Severity
from topicwarden.model.topic import AllowedChange

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
        assert "first deploy it with `allow: [{change: delete, until: DATE}]`" in output
    annotations = deployed.shell.in_process("plan", "--stack", "dev", "--format", "github").stdout
    assert "::error file=topics/door/door.v1.yaml,line=1,col=1,title=topicwarden plan%3A destroyed::" in annotations
    assert "kept.v1" not in topics(cluster)

    deployed.write({"door/door.v1.yaml": _ONE.replace("owner", "allow: [delete], owner")})
    deployed.pulumi("up --yes --skip-preview --suppress-outputs")
    deployed.remove("door/door.v1.yaml")
    destroyed = one(deployed.plan(), "door.v1", "destroyed")
    assert destroyed.severity is Severity.DANGER
    deployed.pulumi("up --yes --suppress-outputs")
    assert "door.v1" not in topics(cluster)
    assert "kept.v1" in topics(cluster)


@pytest.mark.nightly("It is a deletion without an allowance, and the units name the other topic.")
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
    assert "retention.ms is 7d, declared 6d" in there.refused("up --yes --skip-preview")

    before = cluster.snapshot({"there.v1"}).topics
    there.write({"there/there.v1.yaml": _ONE})
    assert of(there.plan(), "there.v1").action is Action.ADOPT
    there.pulumi("up --yes --skip-preview --suppress-outputs")
    assert cluster.snapshot({"there.v1"}).topics == before
    assert there.plan().topics == []
    there.pulumi("preview --expect-no-changes")


@pytest.mark.nightly("The suite keeps an adoption, and imports adopt each kind of value.")
def test_a_topic_is_adopted_with_values_that_are_defaults(servers: list[str], cluster: Cluster, tmp_path: Path) -> None:
    with connected(servers) as admin:
        admin.create_topics({"plain.v1": {"num_partitions": 2, "replication_factor": 2}})
    plain = deployment(tmp_path / "plain", {})
    declared = "{owner: team, partitions: 2, replication_factor: 2, config: {flush.messages: 9223372036854775807}}\n"
    plain.write({"plain/plain.v1.yaml": declared})
    assert of(plain.plan(), "plain.v1").action is Action.ADOPT
    assert not plain.plan().refused
    plain.pulumi("up --yes --skip-preview --suppress-outputs")
    assert plain.plan().topics == []
    plain.pulumi("preview --expect-no-changes")


def test_a_rebalance_places_replicas_as_predicted(deployed: Deployment, cluster: Cluster) -> None:
    deployed.write({"door/door.v1.yaml": _ONE.replace("factor: 2", "factor: 3").replace("7d", "8d")})
    before = cluster.snapshot({"door.v1"}).topics["door.v1"].replicas
    predicted = one(deployed.plan(), "door.v1", "replication-factor")
    assert "copies" in predicted.message
    output = deployed.pulumi("up --yes --skip-preview --suppress-outputs")
    assert "`pulumi up` leaves the replicas where they are" in output
    live = cluster.snapshot({"door.v1"}).topics["door.v1"]
    assert (live.replicas, live.topic.config["retention.ms"]) == (before, "691200000")
    assert of(deployed.plan(), "door.v1").action is Action.MOVE

    done = deployed.shell.in_process("rebalance", "--stack", "dev", "--yes")
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


FILE = "door/lid.v1.yaml"


def topic(partitions: int = 2, allow: str = "") -> str:
    return f"{{owner: team, partitions: {partitions}, replication_factor: 2, allow: [{allow}]}}\n"


@pytest.fixture
def protected(sandbox: Sandbox, servers: list[str], tmp_path: Path) -> Iterator[Deployment]:
    """A topic without any `allow` entry."""
    yield deployment(tmp_path / "door", {FILE: topic()})
    with connected(servers) as admin:
        admin.delete_topics([name for name in ("lid.v1",) if name in admin.list_topics()])


def resource(protected: Deployment) -> dict[str, Any]:
    return next(each for each in resources_in_state(protected.shell) if each["urn"].endswith("::lid.v1"))


def test_allow_recreate_takes_one_deploy_and_allows_no_deletion(protected: Deployment, cluster: Cluster) -> None:
    before = cluster.snapshot({"lid.v1"}).topics["lid.v1"].id
    protected.write({FILE: topic(1, "delete")})
    assert one(protected.plan(), "lid.v1", "destroyed").severity is Severity.REFUSED
    assert "lowering partitions from 2 to 1" in protected.refused("up --yes --skip-preview")

    protected.write({FILE: topic(1, "recreate")})
    report = protected.plan()
    assert (of(report, "lid.v1").action, of(report, "lid.v1").needs) == (Action.RECREATE, [AllowedChange.RECREATE])
    assert [(each.change, each.needed) for each in report.allowances] == [(AllowedChange.RECREATE, True)]
    assert report.engine.ran
    protected.pulumi("up --yes --skip-preview --suppress-outputs")
    after = cluster.snapshot({"lid.v1"}).topics["lid.v1"]
    assert (after.id != before, after.topic.partitions) == (True, 1)

    # The engine does not replace protected resources. After a replacement, a hook protects the topic until the next
    # deploy.
    assert "delete hooks" in protected.refused("destroy --yes")
    protected.pulumi("up --yes --skip-preview --suppress-outputs")
    assert (resource(protected)["protect"], resource(protected).get("resourceHooks")) == (True, None)
    assert "protected" in protected.refused("destroy --yes")
    assert [(each.change, each.needed) for each in protected.plan().allowances] == [(AllowedChange.RECREATE, False)]

    protected.write({"door/other.yaml": topic().replace("{", "{topic: lid.other, ", 1)})
    protected.remove(FILE)
    assert one(protected.plan(), "lid.v1", "destroyed").severity is Severity.REFUSED
    assert "no YAML declares it any more" in protected.refused("up --yes --skip-preview")
    assert cluster.snapshot({"lid.v1"}).topics["lid.v1"].id == after.id


@pytest.mark.nightly("The suite keeps one recreation, and the sequences of the campaign.")
def test_two_recreations_in_a_row(protected: Deployment, cluster: Cluster) -> None:
    """Recreate a topic twice. The second recreation deletes a topic whose protection has not returned yet."""
    protected.write({FILE: topic(4)})
    protected.pulumi("up --yes --skip-preview --suppress-outputs")
    for partitions in (3, 2):
        protected.write({FILE: topic(partitions, "recreate")})
        protected.pulumi("up --yes --skip-preview --suppress-outputs")
        assert cluster.snapshot({"lid.v1"}).topics["lid.v1"].topic.partitions == partitions


def test_an_expired_allowance_allows_nothing(protected: Deployment, cluster: Cluster) -> None:
    protected.write({FILE: topic(2, f"{{change: delete, until: {day(1)}}}")})
    protected.pulumi("up --yes --skip-preview --suppress-outputs")
    assert not resource(protected).get("protect")

    def a_week_later(resources: list[dict[str, Any]]) -> None:
        recorded = next(each for each in resources if each["type"] == SET_TYPE)["outputs"]["declared"]["lid.v1"]
        recorded["allow"][0]["until"] = day(-1)

    edited(protected, a_week_later)
    text = (protected.project.topics / FILE).read_text()
    protected.write({"door/other.yaml": topic().replace("{", "{topic: lid.other, ", 1)})
    protected.remove(FILE)
    assert one(protected.plan(), "lid.v1", "destroyed").severity is Severity.REFUSED
    assert "no YAML declares it any more" in protected.refused("up --yes --skip-preview")

    protected.remove("door/other.yaml")
    protected.write({FILE: text.replace(day(1), day(-1))})
    warned = protected.shell.in_process("check", "--stack", "dev").stdout
    assert "[allowance-expired]" in warned
    protected.pulumi("up --yes --skip-preview --suppress-outputs")
    assert resource(protected)["protect"] is True
    assert "lid.v1" in cluster.snapshot().topics
