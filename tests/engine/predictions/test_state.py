"""Test that topicwarden judges every resource in Pulumi's state whose deletion deletes a topic.

This includes resources that do not belong to a declared topic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from tests.engine.predictions.conftest import (
    REGISTERED,
    STACK,
    TOPIC,
    Deployment,
    deployment,
    edited,
    imported,
    one,
)
from tests.support.stack_state import resources_in_state, write_resources
from topicwarden.deploy import pulumi_engine
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kinds.topic.resource import SET_TYPE
from topicwarden.model.planned_change import Severity
from topicwarden.model.problem import Refusal

# Test that topicwarden judges every resource in Pulumi's state whose deletion deletes a topic.

EVERY_COMMAND = ("preview", "up --yes --skip-preview", "up --yes --skip-preview --refresh")
DECLARED = "{owner: team, partitions: 1, replication_factor: 2, config: {retention.ms: 7d}}\n"


@pytest.fixture
def deployed(sandbox: Sandbox, servers: list[str], tmp_path: Path) -> Iterator[Deployment]:
    """A declared topic and an undeclared topic, each with one record."""
    deployed = deployment(tmp_path / "held", {"state/held.v1.yaml": DECLARED})
    with connected(servers) as admin:
        admin.create_topics({"stray.v1": {"num_partitions": 1, "replication_factor": 2}})
    with writing(servers) as writer:
        for topic in ("held.v1", "stray.v1"):
            writer.send(topic, "k", "v")
    yield deployed
    with connected(servers) as admin:
        admin.delete_topics([name for name in ("held.v1", "stray.v1") if name in admin.list_topics()])


def registered(resources: list[dict[str, Any]]) -> dict[str, Any]:
    return next(resource for resource in resources if resource["urn"] == REGISTERED)


def assert_refused_until_forgotten(
    deployed: Deployment, cluster: Cluster, topic: str, urn: str, commands: Sequence[str] = ("up --yes --skip-preview",)
) -> None:
    """Assert that the plan and all ``commands`` refuse, nothing changes, and the remedy in the message works."""
    before = cluster.snapshot({"held.v1", "stray.v1"}).topics
    duplicate = one(deployed.plan(), topic, "duplicate")
    assert duplicate.severity is Severity.REFUSED
    for command in commands:
        output = " ".join(deployed.refused(command).split())
        assert f"{topic}: Pulumi's state has" in output
        assert urn in output
    assert cluster.snapshot({"held.v1", "stray.v1"}).topics == before
    remedy = duplicate.remedy.partition("`")[2].partition("`")[0].replace("'", "")
    deployed.pulumi(remedy.removeprefix("pulumi ") + " --yes")
    assert deployed.plan().topics == []
    deployed.pulumi("up --yes --skip-preview --suppress-outputs --expect-no-changes")
    assert cluster.snapshot({"held.v1", "stray.v1"}).topics == before


@pytest.mark.nightly("The suite keeps the alias.", stays=("alias",))
@pytest.mark.parametrize("resource", ["alias", "held.v1"])
def test_a_second_resource_of_a_declared_topic(deployed: Deployment, cluster: Cluster, resource: str) -> None:
    urn = imported(deployed, resource, "held.v1")
    assert_refused_until_forgotten(deployed, cluster, "held.v1", urn, EVERY_COMMAND)


def test_a_resource_of_a_topic_that_nobody_declares(deployed: Deployment, cluster: Cluster) -> None:
    urn = imported(deployed, "stray", "stray.v1")
    assert_refused_until_forgotten(deployed, cluster, "stray.v1", urn)


@pytest.mark.nightly(
    "The suite keeps the alias and the resource of another topic, and the forced deletions one of another component."
)
def test_a_resource_below_an_old_component(deployed: Deployment, cluster: Cluster) -> None:
    old = REGISTERED.replace(SET_TYPE, "house:index:Topics")

    def edit(resources: list[dict[str, Any]]) -> None:
        own = registered(resources)
        resources.append({**own, "urn": old, "protect": False})

    edited(deployed, edit)
    assert_refused_until_forgotten(deployed, cluster, "held.v1", old)


def test_a_registered_resource_that_holds_another_topic(deployed: Deployment, cluster: Cluster) -> None:
    def edit(resources: list[dict[str, Any]]) -> None:
        own = registered(resources)
        own["protect"] = False
        own["id"] = own["inputs"]["name"] = own["outputs"]["name"] = "stray.v1"

    edited(deployed, edit)
    before = cluster.snapshot({"held.v1", "stray.v1"}).topics
    assert one(deployed.plan(), "stray.v1", "duplicate").severity is Severity.REFUSED
    for command in ("preview", "up --yes --skip-preview"):
        assert "stray.v1: Pulumi's state has the topic under another URN" in deployed.refused(command)
    assert cluster.snapshot({"held.v1", "stray.v1"}).topics == before


@pytest.mark.nightly(
    "The suite keeps the resource of the alias.", stays=("urn:pulumi:dev::topicwarden::kafka:index/topic:Topic::alias",)
)
@pytest.mark.parametrize("urn", [REGISTERED, f"{STACK}::{TOPIC}::alias"])
def test_a_resource_that_is_pending_deletion(deployed: Deployment, cluster: Cluster, urn: str) -> None:
    """The engine deletes the topic of such a resource, even if the resource is protected.

    The engine also hides such a resource from the state that the program reads.
    """

    def edit(resources: list[dict[str, Any]]) -> None:
        resources.append({**registered(resources), "urn": urn, "delete": True})

    edited(deployed, edit)
    before = cluster.snapshot({"held.v1", "stray.v1"}).topics
    assert one(deployed.plan(), "held.v1", "duplicate").severity is Severity.REFUSED
    for command in ("preview", "up --yes --skip-preview"):
        assert "held.v1: Pulumi's state has a resource of the topic that is pending" in deployed.refused(command)
    assert cluster.snapshot({"held.v1", "stray.v1"}).topics == before

    write_resources(deployed.shell, [each for each in resources_in_state(deployed.shell) if not each.get("delete")])
    assert deployed.plan().topics == []
    deployed.pulumi("up --yes --skip-preview --suppress-outputs --expect-no-changes")
    assert cluster.snapshot({"held.v1", "stray.v1"}).topics == before


def test_an_allowed_deletion_that_failed_is_repeated_by_the_next_deploy(
    servers: list[str], cluster: Cluster, tmp_path: Path
) -> None:
    """The engine writes the program's outputs before it deletes; a kill, or a broker, may stop it in between."""
    leaving = "{owner: team, partitions: 1, replication_factor: 2, allow: [delete]}\n"
    project = deployment(tmp_path / "leaving", {"state/leaving.v1.yaml": leaving, "state/staying.v1.yaml": DECLARED})
    before = resources_in_state(project.shell)
    project.remove("state/leaving.v1.yaml")
    project.up()
    with connected(servers) as admin:
        admin.create_topics({"leaving.v1": {"num_partitions": 1, "replication_factor": 2}})
    edited(project, lambda resources: resources.extend(each for each in before if each.get("id") == "leaving.v1"))
    assert one(project.plan(), "leaving.v1", "destroyed").severity is Severity.DANGER
    project.up()
    assert not cluster.snapshot({"leaving.v1"}).topics
    project.pulumi("up --yes --skip-preview --suppress-outputs --expect-no-changes")


# Read Pulumi's state while another process writes the file.

_PROGRAM = """
from pathlib import Path
from threading import Timer

from topicwarden.deploy.program import deploy

attributes = Path({attributes!r})
text = attributes.read_text()
attributes.write_text("")
Timer(1.0, attributes.write_text, [text]).start()
deploy()
"""


@pytest.fixture
def declared(sandbox: Sandbox, tmp_path: Path) -> Deployment:
    """A declared topic that is not deployed."""
    declared = deployment(tmp_path / "door", {})
    declared.write({"door/door.v1.yaml": "{owner: team, partitions: 2, replication_factor: 2}\n"})
    return declared


def attributes(declared: Deployment) -> Path:
    """Return the attributes file beside the state. Pulumi overwrites this file in place."""
    (found,) = (declared.project.root / "state").rglob("dev.json.attrs")
    return found


@contextmanager
def emptied(file: Path, seconds: float) -> Iterator[None]:
    """Leave ``file`` empty for ``seconds``, as a reader finds the file during a write."""
    text = file.read_text()
    file.write_text("")
    written = Timer(seconds, file.write_text, [text])
    written.start()
    try:
        yield
    finally:
        written.join()


def test_a_program_retries_a_half_written_state(declared: Deployment) -> None:
    (declared.project.root / "stacks" / "__main__.py").write_text(_PROGRAM.format(attributes=str(attributes(declared))))
    assert "door.v1" in declared.pulumi("preview")


@pytest.mark.nightly("The suite keeps the program that does so.")
def test_a_plan_retries_a_half_written_state(declared: Deployment) -> None:
    with emptied(attributes(declared), seconds=2.0):
        assert [plan.topic for plan in declared.plan().topics] == ["door.v1"]


def test_a_state_that_stays_half_written_is_refused(declared: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulumi_engine, "_TIMEOUT_S", 0.0)
    attributes(declared).write_text("")
    with pytest.raises(
        Refusal, match=r"the attributes of Pulumi's state stay empty: .*EOF; the state itself is complete"
    ):
        declared.plan()


def test_a_state_truncated_by_a_full_disk_is_refused(declared: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulumi_engine, "_TIMEOUT_S", 0.0)
    state = attributes(declared).with_suffix("")
    state.write_text(state.read_text()[:100])
    with pytest.raises(Refusal, match=r"Pulumi's state stays incomplete: .*end of JSON input; restore it from"):
        declared.plan()
