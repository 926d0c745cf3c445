"""Test the real engine on the real cluster, with the commands that users type."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.support.projects import Shell, empty_stack, location_of, project_of
from tests.system.example.conftest import Deployed
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.model.project import Project
from topicwarden.policies.check_specs import check
from topicwarden.sandbox.local_cluster import Sandbox

DOMAINS = {
    "dev/cache": {"cache"},
    "dev/flights": {"flights.aircraft", "flights.events"},
    "dev/partitions": {"my_topic"},
    "dev/shop": {"shop.clicks", "shop.customers", "shop.orders"},
}


def resources(shell: Shell) -> list[dict[str, Any]]:
    """Return the resources in Pulumi's state, without the values that each run changes."""
    current = json.loads(shell.run("pulumi", "stack", "export").stdout)["deployment"]["resources"]
    return [{name: value for name, value in one.items() if name != "modified"} for one in current]


def test_every_documented_command_succeeds(deployed: Deployed) -> None:
    assert {command: done.stdout for command, done in deployed.outputs.items() if done.returncode} == {}


def test_topics_are_on_the_cluster_as_declared(deployed: Deployed, project: Project) -> None:
    declared = {current.topic.name: current.topic for current in check(project, ["dev"]).declarations["dev"]}
    live = {name: current.topic for name, current in deployed.snapshot.topics.items() if not current.topic.internal}
    assert set(live) == set(declared) == set.union(*DOMAINS.values())
    for name, topic in declared.items():
        assert (live[name].partitions, live[name].replication_factor) == (topic.partitions, topic.replication_factor)
        assert {key: live[name].config[key] for key in topic.config} == dict(topic.config)


def test_the_tree_has_a_branch_a_domain_and_every_topic_is_protected(deployed: Deployed, shell: Shell) -> None:
    topics = [one for one in resources(shell) if one["type"] == "kafka:index/topic:Topic"]
    branches: dict[str, set[str]] = {}
    for one in topics:
        branches.setdefault(one["parent"].rpartition("::")[2], set()).add(one["outputs"]["name"])
    assert branches == DOMAINS
    assert all(one["protect"] for one in topics)


def test_lowering_partitions_is_refused_and_changes_nothing(
    filled: None, shell: Shell, project: Project, cluster: Cluster
) -> None:
    file = project.topics / "partitions" / "my_topic.yaml"
    written, requested = file.read_text(), location_of(project, "topics/partitions/my_topic.yaml", "partitions: 5")
    state, live = resources(shell), cluster.snapshot().topics["my_topic"]
    file.write_text(written.replace("partitions: 5", "partitions: 3"))
    try:
        refused = [shell.run("pulumi", *verb, "--non-interactive") for verb in (["preview"], ["up", "--yes"])]
    finally:
        file.write_text(written)
    lost = sum(extent.log_bytes or 0 for extent in live.extents.values())
    for done in refused:
        assert done.returncode != 0
        assert (
            f"{requested}: my_topic: lowering partitions from 5 to 3 would delete the topic and create it again; "
        ) in done.stdout
        assert f"at most 100 records in {lost:,} bytes on the leaders' disks" in done.stdout
        assert "Traceback" not in done.stdout + done.stderr
    assert resources(shell) == state
    assert cluster.snapshot().topics["my_topic"] == live


@pytest.fixture
def small(sandbox: Sandbox, tmp_path: Path) -> Shell:
    """A project of one topic, on the same cluster."""
    small = project_of(tmp_path, {"small/small.v1.yaml": "{partitions: 1, replication_factor: 3, owner: team}"})
    return empty_stack(small, tmp_path / "state")


def test_destroy_is_refused_while_protected(small: Shell, cluster: Cluster) -> None:
    def pulumi(command: str) -> CompletedProcess[str]:
        return small.run("pulumi", *command.split(), "--non-interactive")

    assert pulumi("up --yes --skip-preview").returncode == 0
    assert "small.v1" in cluster.snapshot().topics
    refused = pulumi("destroy --yes --skip-preview")
    assert refused.returncode != 0
    assert "small.v1" in refused.stdout
    assert "protect" in refused.stdout
    assert "small.v1" in cluster.snapshot().topics

    assert pulumi("state unprotect --all --yes").returncode == 0
    refused = pulumi("destroy --yes --skip-preview")
    assert refused.returncode != 0
    assert "the YAML does not allow its deletion" in refused.stdout
    assert "small.v1" in cluster.snapshot().topics

    (small.folder / "topics" / "small" / "small.v1.yaml").write_text(
        "{partitions: 1, replication_factor: 3, owner: team, allow: [delete]}\n"
    )
    assert pulumi("up --yes --skip-preview").returncode == 0
    done = pulumi("destroy --yes --skip-preview")
    assert done.returncode == 0, done.stdout
    assert "small.v1" not in cluster.snapshot().topics


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("partitons: 1", "topics/small/small.v1.yaml:1:1: "),
        (None, "topics/ declares no topic: write topics/<domain>/<topic>.yaml"),
    ],
)
def test_an_undeployable_change_stops_the_preview(small: Shell, text: str | None, output: str) -> None:
    file = small.folder / "topics" / "small" / "small.v1.yaml"
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    done = small.run("pulumi", "preview", "--non-interactive")
    assert done.returncode != 0
    assert output in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert "kafka:index" not in done.stdout
