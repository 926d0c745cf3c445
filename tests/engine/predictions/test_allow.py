"""Test that each word under `allow` permits one change for a limited time, and that protection then returns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.predictions.conftest import Deployment, day, deployment, of, one
from tests.engine.predictions.edited_state import edited
from topicwarden.deploy.stack_state import SET_TYPE
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.write.config_admin import connected
from topicwarden.model.planned_change import Action, Severity
from topicwarden.model.topic import Allowance
from topicwarden.sandbox.local_cluster import Sandbox

FILE = "door/lid.v1.yaml"


def topic(partitions: int = 2, allow: str = "") -> str:
    return f"{{owner: team, partitions: {partitions}, replication_factor: 2, allow: [{allow}]}}\n"


@pytest.fixture
def door(sandbox: Sandbox, servers: list[str], tmp_path: Path) -> Iterator[Deployment]:
    """A topic without any `allow` entry."""
    yield deployment(tmp_path / "door", {FILE: topic()})
    with connected(servers) as admin:
        admin.delete_topics([name for name in ("lid.v1",) if name in admin.list_topics()])


def resource(door: Deployment) -> dict[str, Any]:
    resources = json.loads(door.pulumi("stack export"))["deployment"]["resources"]
    found: dict[str, Any] = next(each for each in resources if each["urn"].endswith("::lid.v1"))
    return found


def test_recreate_takes_one_deploy_and_permits_no_deletion(door: Deployment, cluster: Cluster) -> None:
    before = cluster.snapshot({"lid.v1"}).topics["lid.v1"].id
    door.write({FILE: topic(1, "delete")})
    assert one(door.plan(), "lid.v1", "destroyed").weight is Severity.REFUSED
    assert "lowering partitions from 2 to 1" in door.refused("up --yes --skip-preview")

    door.write({FILE: topic(1, "recreate")})
    report = door.plan()
    assert (of(report, "lid.v1").action, of(report, "lid.v1").needs) == (Action.RECREATE, [Allowance.RECREATE])
    assert [(each.change, each.needed) for each in report.allowances] == [(Allowance.RECREATE, True)]
    assert report.engine.ran
    door.pulumi("up --yes --suppress-outputs")
    after = cluster.snapshot({"lid.v1"}).topics["lid.v1"]
    assert (after.id != before, after.topic.partitions) == (True, 1)

    # The engine does not replace protected resources. After a replacement, a hook protects the topic until the next
    # deploy.
    assert "delete hooks" in door.refused("destroy --yes")
    door.pulumi("up --yes --suppress-outputs")
    assert (resource(door)["protect"], resource(door).get("resourceHooks")) == (True, None)
    assert "protected" in door.refused("destroy --yes")
    assert [(each.change, each.needed) for each in door.plan().allowances] == [(Allowance.RECREATE, False)]

    door.write({"door/other.yaml": topic().replace("{", "{topic: lid.other, ", 1)})
    door.remove(FILE)
    assert one(door.plan(), "lid.v1", "destroyed").weight is Severity.REFUSED
    assert "no YAML declares it any more" in door.refused("up --yes --skip-preview")
    assert cluster.snapshot({"lid.v1"}).topics["lid.v1"].id == after.id


def test_two_recreations_in_a_row(door: Deployment, cluster: Cluster) -> None:
    """Recreate a topic twice. The second recreation deletes a topic whose protection has not returned yet."""
    door.write({FILE: topic(4)})
    door.pulumi("up --yes --skip-preview --suppress-outputs")
    for partitions in (3, 2):
        door.write({FILE: topic(partitions, "recreate")})
        door.pulumi("up --yes --skip-preview --suppress-outputs")
        assert cluster.snapshot({"lid.v1"}).topics["lid.v1"].topic.partitions == partitions


def test_an_end_that_is_over_permits_nothing(door: Deployment, cluster: Cluster) -> None:
    door.write({FILE: topic(2, f"{{change: delete, until: {day(1)}}}")})
    door.pulumi("up --yes --skip-preview --suppress-outputs")
    assert not resource(door).get("protect")

    def a_week_later(resources: list[dict[str, Any]]) -> None:
        recorded = next(each for each in resources if each["type"] == SET_TYPE)["outputs"]["declared"]["lid.v1"]
        recorded["allow"][0]["until"] = day(-1)

    edited(door, a_week_later)
    text = (door.project.topics / FILE).read_text()
    door.write({"door/other.yaml": topic().replace("{", "{topic: lid.other, ", 1)})
    door.remove(FILE)
    assert one(door.plan(), "lid.v1", "destroyed").weight is Severity.REFUSED
    assert "no YAML declares it any more" in door.refused("up --yes --skip-preview")

    door.remove("door/other.yaml")
    door.write({FILE: text.replace(day(1), day(-1))})
    warned = door.shell.topicwarden("check", "--stack", "dev").stdout
    assert "[allowance-expired]" in warned
    door.pulumi("up --yes --skip-preview --suppress-outputs")
    assert resource(door)["protect"] is True
    assert "lid.v1" in cluster.snapshot().topics
