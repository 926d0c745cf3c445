"""Test that no Pulumi command deletes a topic that the YAML does not allow to delete, however it asks for that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.predictions.conftest import Deployment, day, deployment, one
from tests.engine.predictions.edited_state import REGISTERED, TOPIC, edited
from topicwarden.deploy.stack_state import SET_TYPE
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.write.config_admin import connected
from topicwarden.model.planned_change import Severity
from topicwarden.sandbox.local_cluster import Sandbox
from topicwarden.sandbox.scenarios.writer import writing

FILE = "state/held.v1.yaml"
ALLOWED = f"{{owner: team, partitions: 1, replication_factor: 2, allow: [{{change: delete, until: {day(5)}}}]}}\n"
KEPT = "{owner: team, partitions: 1, replication_factor: 2}\n"


@pytest.fixture
def held(sandbox: Sandbox, servers: list[str], tmp_path: Path) -> Iterator[Deployment]:
    """A topic with a record; its YAML allows the deletion."""
    held = deployment(tmp_path / "held", {FILE: ALLOWED})
    with writing(servers) as writer:
        writer.send("held.v1", "k", "v")
    yield held
    with connected(servers) as admin:
        admin.delete_topics([name for name in ("held.v1",) if name in admin.list_topics()])


@pytest.fixture(autouse=True)
def stays(held: Deployment, cluster: Cluster) -> Iterator[None]:
    """The topic is the same after the test as before."""
    before = cluster.snapshot({"held.v1"}).topics["held.v1"].id
    yield
    assert cluster.snapshot({"held.v1"}).topics["held.v1"].id == before


def expired(held: Deployment) -> None:
    """Let the permission to delete the topic expire, without a deploy."""

    def edit(resources: list[dict[str, Any]]) -> None:
        record = next(each for each in resources if each["type"] == SET_TYPE)["outputs"]["declared"]["held.v1"]
        record["allow"] = [{"change": "delete", "until": day(-1)}]

    edited(held, edit)


def test_a_tainted_topic_is_refused_by_every_command_until_the_mark_is_removed(held: Deployment) -> None:
    held.pulumi(f"state taint {REGISTERED} --yes")
    tainted = one(held.plan(), "held.v1", "duplicate")
    assert tainted.weight is Severity.REFUSED
    for command in ("preview", "up --yes --skip-preview"):
        assert "marked for replacement" in held.refused(command)
    assert held.shell.topicwarden("up", "--yes", "--stack", "dev").returncode == 1
    remedy = tainted.remedy.partition("`")[2].partition("`")[0].replace("'", "")
    held.pulumi(remedy.removeprefix("pulumi ") + " --yes")
    held.pulumi("up --yes --suppress-outputs --expect-no-changes")


def test_a_replacement_that_an_option_asks_for_is_refused(held: Deployment) -> None:
    assert "the engine would replace this topic" in held.refused(f"up --yes --skip-preview --replace {REGISTERED}")
    held.pulumi("up --yes --suppress-outputs")


def test_a_permission_that_has_expired_since_the_deploy_no_longer_deletes(held: Deployment) -> None:
    expired(held)
    for command in ("destroy --yes --skip-preview", f"destroy --yes --skip-preview --target {REGISTERED}"):
        assert f"allowed its deletion until {day(-1)} only" in " ".join(held.refused(command).split())


def test_removing_the_protection_is_no_permission(held: Deployment) -> None:
    held.write({FILE: KEPT})
    held.pulumi("up --yes --suppress-outputs")
    held.pulumi(f"state unprotect {REGISTERED} --yes")
    assert "the YAML does not allow its deletion" in " ".join(held.refused("destroy --yes --skip-preview").split())


def test_another_resource_of_the_topic_cannot_be_destroyed(held: Deployment) -> None:
    other = REGISTERED.replace(SET_TYPE, "house:index:Topics")
    edited(held, lambda resources: resources.append({**_own(resources), "urn": other, "protect": False}))
    assert "another resource of this topic" in held.refused(f"destroy --yes --skip-preview --target {other}")


def test_a_renamed_resource_does_not_delete_its_topic(held: Deployment) -> None:
    held.write({FILE: KEPT})
    held.pulumi("up --yes --suppress-outputs")
    held.pulumi(f"state rename {REGISTERED} other.v1 --yes")
    planned = held.shell.topicwarden("plan", "--stack", "dev")
    assert planned.returncode == 1
    assert "under another URN" in " ".join(planned.stdout.split())
    assert "unprotect" not in planned.stdout + planned.stderr
    assert "another URN" in held.refused("up --yes --skip-preview")
    renamed = REGISTERED.replace("held.v1", "other.v1")
    held.pulumi(f"state unprotect {renamed} --yes")
    assert "no YAML declares this topic" in held.refused(f"destroy --yes --skip-preview --target {renamed}")


def test_a_topic_that_was_imported_into_an_emptied_state_is_not_destroyed(held: Deployment) -> None:
    """As after `pulumi state move --include-parents`, which takes all other topics and the records, too."""

    def empty(resources: list[dict[str, Any]]) -> None:
        stack = next(each for each in resources if each["type"] == "pulumi:pulumi:Stack")["urn"]
        imported = {**_own(resources), "urn": alias, "parent": stack, "protect": False}
        resources[:] = [*(each for each in resources if each["type"].startswith("pulumi:")), imported]

    prefix, _, _ = REGISTERED.partition(SET_TYPE)
    alias = f"{prefix}{TOPIC}::held.v1-alias"
    edited(held, empty)
    assert "no YAML declares this topic" in " ".join(held.refused("destroy --yes --skip-preview").split())


def _own(resources: list[dict[str, Any]]) -> dict[str, Any]:
    return next(each for each in resources if each["type"] == TOPIC)
