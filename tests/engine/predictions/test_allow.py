"""Test that each word under `allow` allows one change for a limited time, and that protection then returns."""

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
from topicwarden.model.topic import AllowedChange
from topicwarden.sandbox.local_cluster import Sandbox

FILE = "door/lid.v1.yaml"


def topic(partitions: int = 2, allow: str = "") -> str:
    return f"{{owner: team, partitions: {partitions}, replication_factor: 2, allow: [{allow}]}}\n"


@pytest.fixture
def deployed(sandbox: Sandbox, servers: list[str], tmp_path: Path) -> Iterator[Deployment]:
    """A topic without any `allow` entry."""
    yield deployment(tmp_path / "door", {FILE: topic()})
    with connected(servers) as admin:
        admin.delete_topics([name for name in ("lid.v1",) if name in admin.list_topics()])


def resource(deployed: Deployment) -> dict[str, Any]:
    resources = json.loads(deployed.pulumi("stack export"))["deployment"]["resources"]
    found: dict[str, Any] = next(each for each in resources if each["urn"].endswith("::lid.v1"))
    return found


def test_allow_recreate_takes_one_deploy_and_allows_no_deletion(deployed: Deployment, cluster: Cluster) -> None:
    before = cluster.snapshot({"lid.v1"}).topics["lid.v1"].id
    deployed.write({FILE: topic(1, "delete")})
    assert one(deployed.plan(), "lid.v1", "destroyed").severity is Severity.REFUSED
    assert "lowering partitions from 2 to 1" in deployed.refused("up --yes --skip-preview")

    deployed.write({FILE: topic(1, "recreate")})
    report = deployed.plan()
    assert (of(report, "lid.v1").action, of(report, "lid.v1").needs) == (Action.RECREATE, [AllowedChange.RECREATE])
    assert [(each.change, each.needed) for each in report.allowances] == [(AllowedChange.RECREATE, True)]
    assert report.engine.ran
    deployed.pulumi("up --yes --suppress-outputs")
    after = cluster.snapshot({"lid.v1"}).topics["lid.v1"]
    assert (after.id != before, after.topic.partitions) == (True, 1)

    # The engine does not replace protected resources. After a replacement, a hook protects the topic until the next
    # deploy.
    assert "delete hooks" in deployed.refused("destroy --yes")
    deployed.pulumi("up --yes --suppress-outputs")
    assert (resource(deployed)["protect"], resource(deployed).get("resourceHooks")) == (True, None)
    assert "protected" in deployed.refused("destroy --yes")
    assert [(each.change, each.needed) for each in deployed.plan().allowances] == [(AllowedChange.RECREATE, False)]

    deployed.write({"door/other.yaml": topic().replace("{", "{topic: lid.other, ", 1)})
    deployed.remove(FILE)
    assert one(deployed.plan(), "lid.v1", "destroyed").severity is Severity.REFUSED
    assert "no YAML declares it any more" in deployed.refused("up --yes --skip-preview")
    assert cluster.snapshot({"lid.v1"}).topics["lid.v1"].id == after.id


def test_two_recreations_in_a_row(deployed: Deployment, cluster: Cluster) -> None:
    """Recreate a topic twice. The second recreation deletes a topic whose protection has not returned yet."""
    deployed.write({FILE: topic(4)})
    deployed.pulumi("up --yes --skip-preview --suppress-outputs")
    for partitions in (3, 2):
        deployed.write({FILE: topic(partitions, "recreate")})
        deployed.pulumi("up --yes --skip-preview --suppress-outputs")
        assert cluster.snapshot({"lid.v1"}).topics["lid.v1"].topic.partitions == partitions


def test_an_expired_allowance_allows_nothing(deployed: Deployment, cluster: Cluster) -> None:
    deployed.write({FILE: topic(2, f"{{change: delete, until: {day(1)}}}")})
    deployed.pulumi("up --yes --skip-preview --suppress-outputs")
    assert not resource(deployed).get("protect")

    def a_week_later(resources: list[dict[str, Any]]) -> None:
        recorded = next(each for each in resources if each["type"] == SET_TYPE)["outputs"]["declared"]["lid.v1"]
        recorded["allow"][0]["until"] = day(-1)

    edited(deployed, a_week_later)
    text = (deployed.project.topics / FILE).read_text()
    deployed.write({"door/other.yaml": topic().replace("{", "{topic: lid.other, ", 1)})
    deployed.remove(FILE)
    assert one(deployed.plan(), "lid.v1", "destroyed").severity is Severity.REFUSED
    assert "no YAML declares it any more" in deployed.refused("up --yes --skip-preview")

    deployed.remove("door/other.yaml")
    deployed.write({FILE: text.replace(day(1), day(-1))})
    warned = deployed.shell.topicwarden("check", "--stack", "dev").stdout
    assert "[allowance-expired]" in warned
    deployed.pulumi("up --yes --skip-preview --suppress-outputs")
    assert resource(deployed)["protect"] is True
    assert "lid.v1" in cluster.snapshot().topics
