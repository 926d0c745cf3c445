"""Test that no Pulumi command deletes a topic that the YAML does not allow to delete, however it asks for that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka.admin import NewTopic

from tests.engine.predictions.conftest import REGISTERED, TOPIC, Deployment, day, deployment, edited, one
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kinds.topic.resource import DOMAIN_TYPE, SET_TYPE
from topicwarden.model.planned_change import Severity

FILE = "state/held.v1.yaml"
ALLOWED = f"{{owner: team, partitions: 1, replication_factor: 2, allow: [{{change: delete, until: {day(5)}}}]}}\n"
KEPT = "{owner: team, partitions: 1, replication_factor: 2}\n"


@pytest.fixture
def deployed(sandbox: Sandbox, servers: list[str], tmp_path: Path) -> Iterator[Deployment]:
    """A topic with a record; its YAML allows the deletion."""
    deployed = deployment(tmp_path / "held", {FILE: ALLOWED})
    with writing(servers) as writer:
        writer.send("held.v1", "k", "v")
    yield deployed
    with connected(servers) as admin:
        admin.delete_topics([name for name in ("held.v1",) if name in admin.list_topics()])


@pytest.fixture(autouse=True)
def stays(deployed: Deployment, cluster: Cluster) -> Iterator[None]:
    """The topic is the same after the test as before."""
    before = cluster.snapshot({"held.v1"}).topics["held.v1"].id
    yield
    assert cluster.snapshot({"held.v1"}).topics["held.v1"].id == before


def expired(deployed: Deployment) -> None:
    """Let the allowance to delete the topic expire, without a deploy."""

    def edit(resources: list[dict[str, Any]]) -> None:
        record = next(each for each in resources if each["type"] == SET_TYPE)["outputs"]["declared"]["held.v1"]
        record["allow"] = [{"change": "delete", "until": day(-1)}]

    edited(deployed, edit)


def test_a_tainted_topic_is_refused_until_the_taint_is_removed(deployed: Deployment) -> None:
    deployed.pulumi(f"state taint {REGISTERED} --yes")
    tainted = one(deployed.plan(), "held.v1", "duplicate")
    assert tainted.severity is Severity.REFUSED
    for command in ("preview", "up --yes --skip-preview"):
        assert "marked for replacement" in deployed.refused(command)
    assert deployed.shell.in_process("up", "--yes", "--stack", "dev").returncode == 1
    remedy = tainted.remedy.partition("`")[2].partition("`")[0].replace("'", "")
    deployed.pulumi(remedy.removeprefix("pulumi ") + " --yes")
    deployed.pulumi("up --yes --skip-preview --suppress-outputs --expect-no-changes")


def test_a_replacement_that_an_option_asks_for_is_refused(deployed: Deployment) -> None:
    assert "the engine would replace this topic" in deployed.refused(f"up --yes --skip-preview --replace {REGISTERED}")
    deployed.pulumi("up --yes --skip-preview --suppress-outputs")


def test_an_allowance_that_expired_since_the_deploy_no_longer_deletes(deployed: Deployment) -> None:
    expired(deployed)
    for command in ("destroy --yes --skip-preview", f"destroy --yes --skip-preview --target {REGISTERED}"):
        assert f"allowed its deletion until {day(-1)} only" in " ".join(deployed.refused(command).split())


def test_removing_the_protection_is_no_allowance(deployed: Deployment) -> None:
    deployed.write({FILE: KEPT})
    deployed.pulumi("up --yes --skip-preview --suppress-outputs")
    deployed.pulumi(f"state unprotect {REGISTERED} --yes")
    assert "the YAML does not allow its deletion" in " ".join(deployed.refused("destroy --yes --skip-preview").split())


def test_another_resource_of_the_topic_cannot_be_destroyed(deployed: Deployment) -> None:
    other = REGISTERED.replace(SET_TYPE, "house:index:Topics")
    edited(deployed, lambda resources: resources.append({**_own(resources), "urn": other, "protect": False}))
    assert "another resource of this topic" in deployed.refused(f"destroy --yes --skip-preview --target {other}")


def test_a_renamed_resource_does_not_delete_its_topic(deployed: Deployment) -> None:
    deployed.write({FILE: KEPT})
    deployed.pulumi("up --yes --skip-preview --suppress-outputs")
    deployed.pulumi(f"state rename {REGISTERED} other.v1 --yes")
    planned = deployed.shell.in_process("plan", "--stack", "dev")
    assert planned.returncode == 1
    assert "under another URN" in " ".join(planned.stdout.split())
    assert "unprotect" not in planned.stdout + planned.stderr
    assert "another URN" in deployed.refused("up --yes --skip-preview")
    renamed = REGISTERED.replace("held.v1", "other.v1")
    deployed.pulumi(f"state unprotect {renamed} --yes")
    assert "no deploy has declared this topic" in deployed.refused(f"destroy --yes --skip-preview --target {renamed}")


def test_a_topic_that_was_imported_into_an_emptied_state_is_not_destroyed(deployed: Deployment) -> None:
    """Test the state after `pulumi state move --include-parents`, which takes all other topics and the records, too."""

    def empty(resources: list[dict[str, Any]]) -> None:
        stack = next(each for each in resources if each["type"] == "pulumi:pulumi:Stack")["urn"]
        imported = {**_own(resources), "urn": alias, "parent": stack, "protect": False}
        resources[:] = [*(each for each in resources if each["type"].startswith("pulumi:")), imported]

    prefix, _, _ = REGISTERED.partition(SET_TYPE)
    alias = f"{prefix}{TOPIC}::held.v1-alias"
    edited(deployed, empty)
    assert "no deploy has declared this topic" in " ".join(deployed.refused("destroy --yes --skip-preview").split())


@pytest.mark.nightly("The suite keeps one of the two parents, and the campaign of drawn states.", stays=("True",))
@pytest.mark.parametrize("parent", [False, True])
def test_an_imported_topic_is_never_deleted(deployed: Deployment, servers: list[str], parent: bool) -> None:
    prefix, _, _ = REGISTERED.partition(SET_TYPE)
    with connected(servers) as admin:
        admin.create_topics([NewTopic("foreign.v1", 1, 1)])
    domain = f" --parent d={prefix}{SET_TYPE}${DOMAIN_TYPE}::dev/state" if parent else ""
    provider = f"--provider p={prefix}pulumi:providers:kafka::sandbox"
    options = f"{provider}{domain} --protect=false --yes --generate-code=false"
    deployed.pulumi(f"import {TOPIC} foreign.v1 foreign.v1 {options}")
    urn = f"{REGISTERED.rpartition('::')[0] if parent else prefix + TOPIC}::foreign.v1"
    try:
        for command in ("preview", "up --yes --skip-preview", f"destroy --yes --skip-preview --target {urn}"):
            deployed.refused(command)
        assert deployed.shell.topicwarden("destroy", "--yes", "--stack", "dev").returncode == 1
        with connected(servers) as admin:
            assert "foreign.v1" in admin.list_topics()
    finally:
        with connected(servers) as admin:
            admin.delete_topics(["foreign.v1"])


def _own(resources: list[dict[str, Any]]) -> dict[str, Any]:
    return next(each for each in resources if each["type"] == TOPIC)
