"""Test that a stack stays with its cluster.

Pulumi and the policy pack must both report the risks of a deploy.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from kafka.admin import NewTopic

from tests.conftest import REPOSITORY
from tests.engine.predictions.conftest import Deployment, deployment, edited, of
from tests.support.projects import Shell
from tests.support.sandboxes import running
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import Cluster, open_cluster
from topicwarden.kinds.topic.resource import SET_TYPE
from topicwarden.model.planned_change import Severity
from topicwarden.model.problem import Refusal
from topicwarden.toolchain import Toolchain

FILE = "home/home.v1.yaml"
TOPIC = "{owner: team, partitions: 2, replication_factor: 2}\n"
DEPLOYS = int(os.environ.get("TOPICWARDEN_AGREEMENTS", "2"))
"""Deploys with the addresses of two clusters."""


@pytest.fixture
def home(sandbox: Sandbox, servers: list[str], tmp_path: Path) -> Iterator[Deployment]:
    """A topic with records."""
    home = deployment(tmp_path / "home", {FILE: TOPIC})
    with writing(servers) as writer:
        for number in range(100):
            writer.send("home.v1", f"k{number}", "v")
    yield home
    with connected(servers) as admin:
        admin.delete_topics([name for name in ("home.v1",) if name in admin.list_topics()])


@pytest.fixture(scope="module")
def other(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """Another cluster."""
    with running(Sandbox(tmp_path_factory.mktemp("other"), tools.java, tools.kafka_jars), brokers=1) as other:
        yield other


def test_bootstrap_servers_of_two_clusters_never_deploy_to_the_wrong_one(
    home: Deployment, servers: list[str], other: Sandbox
) -> None:
    """The other cluster has a topic of the same name, and the program and the provider choose a server by chance."""
    with connected(other.bootstrap_servers) as admin:
        admin.create_topics([NewTopic("home.v1", 2, 1, topic_configs={"retention.ms": "-1"})])
    shell = replace(home.shell, variables={**home.shell.variables, "PULUMI_CONFIG_PASSPHRASE": "two"})
    path = home.project.root / "stacks" / "Pulumi.two.yaml"
    path.write_text("config: {}\n")
    assert shell.run("pulumi", "stack", "init", "two").returncode == 0
    settings = yaml.safe_load(path.read_text())
    results = set()
    for days in range(1, 2 + DEPLOYS):
        both = [*other.bootstrap_servers, *servers]
        settings["config"] = {
            "kafka:bootstrapServers": servers if days == 1 else both,
            "kafka:tlsEnabled": False,
        }
        path.write_text(yaml.safe_dump(settings))
        config = "" if days == 1 else f", config: {{retention.ms: {30 + days}d}}"
        home.write({FILE: TOPIC.replace("}", f"{config}}}")})
        done = shell.run("pulumi", "up", "--yes", "--skip-preview", "--non-interactive", "--stack", "two")
        assert done.returncode == 0 or "leads to cluster" in " ".join(done.stdout.split()), done.stdout
        results.add(done.returncode)
    assert 0 in results
    with open_cluster(Connection(tuple(other.bootstrap_servers), tls=False)) as elsewhere:
        assert elsewhere.snapshot({"home.v1"}).topics["home.v1"].own_config == {"retention.ms": "-1"}
    with connected(other.bootstrap_servers) as admin:
        admin.delete_topics(["home.v1"])


PROGRAM = """\
import pulumi
import pulumi_kafka as kafka

from topicwarden.deploy.program import deploy

elsewhere = kafka.Provider("elsewhere", bootstrap_servers=[{servers}], tls_enabled=False)
own = pulumi.ResourceOptions(provider=elsewhere)
kafka.Topic("own", name="own.v1", partitions=1, replication_factor=1, opts=own)
deploy()
"""


def test_another_provider_of_the_program_leads_to_its_own_cluster(
    home: Deployment, cluster: Cluster, other: Sandbox
) -> None:
    servers = ", ".join(map(repr, other.bootstrap_servers))
    (home.project.root / "stacks" / "__main__.py").write_text(PROGRAM.format(servers=servers))
    home.write({FILE: TOPIC.replace("}", ", config: {retention.ms: 30d}}")})
    done = home.shell.topicwarden("up", "--yes", "--stack", "dev")
    assert done.returncode == 0, done.stdout + done.stderr
    with open_cluster(Connection(tuple(other.bootstrap_servers), tls=False)) as elsewhere:
        assert {"own.v1", "home.v1"} & elsewhere.snapshot().topics.keys() == {"own.v1"}
    here = cluster.snapshot({"own.v1", "home.v1"}).topics
    assert here.keys() == {"home.v1"}
    assert here["home.v1"].own_config == {"retention.ms": "2592000000"}


def test_another_cluster_is_refused_until_the_stack_says_that_it_moved(home: Deployment, cluster: Cluster) -> None:
    def elsewhere(resources: list[dict[str, Any]]) -> None:
        next(each for each in resources if each["type"] == SET_TYPE)["outputs"]["clusterId"] = "elsewhere"

    edited(home, elsewhere)
    home.write({FILE: TOPIC.replace("2", "3", 1)})
    snapshot = cluster.snapshot({"home.v1"})
    reason = "was deployed to cluster elsewhere, but topicwarden:cluster: sandbox leads to cluster"
    with pytest.raises(Refusal, match=reason):
        home.plan()
    for command in ("preview", "up --yes --skip-preview"):
        assert reason in home.refused(command)
    rebalances = ["rebalance", "--yes"], ["rebalance", "--dry-run", "--no-refresh"]
    for arguments in (*rebalances, ["import"], ["up", "--yes", "--refresh"]):
        done = home.shell.topicwarden(*arguments, "--stack", "dev")
        assert (done.returncode, reason in done.stderr) == (2, True), done.stdout + done.stderr
    assert cluster.snapshot({"home.v1"}).topics == snapshot.topics

    settings = home.project.root / "stacks" / "Pulumi.dev.yaml"
    settings.write_text(f"config: {{topicwarden:cluster: sandbox, topicwarden:movedTo: {snapshot.cluster_id}}}\n")
    assert "moves from cluster elsewhere" in home.plan().remarks[0]
    home.pulumi("up --yes --skip-preview --suppress-outputs")
    assert "is no longer needed" in home.plan().remarks[0]
    settings.write_text("config: {topicwarden:cluster: sandbox}\n")
    assert home.plan().remarks == []


def test_every_danger_is_reported_by_pulumi_and_by_the_policy_pack(home: Deployment) -> None:
    # `pulumi preview` does not end if the policy pack is a fork of the warm process, so the project runs the real one.
    environment = home.project.root / ".venv"
    environment.unlink()
    environment.symlink_to(sys.prefix)
    folder = home.project.root / "policies"
    folder.mkdir()
    for name in ("__main__.py", "PulumiPolicy.yaml"):
        shutil.copy(REPOSITORY / "policies" / name, folder)
    home.write({FILE: TOPIC.replace("2", "3", 1)})
    plan = of(home.plan(), "home.v1")
    dangers = [each.message for each in plan.consequences if each.severity is Severity.DANGER]
    assert len(dangers) == 1
    for command in (
        "preview --policy-pack policies",
        "up --yes --skip-preview --suppress-outputs --policy-pack policies",
    ):
        output = " ".join(home.pulumi(command).split())
        assert f"warning: home.v1: {dangers[0]} [more-partitions]" in output
        assert output.count(f"home.v1: {dangers[0]}") >= 2, output
        assert "[advisory]" in output
    home.pulumi("preview --expect-no-changes")


def test_no_variable_turns_a_guard_off(home: Deployment, tmp_path: Path) -> None:
    stale = tmp_path / "caller"
    stale.write_text("")
    folder = home.project.root / "policies"
    folder.mkdir()
    (folder / "rules.yaml").write_text("rules: {partitions: {max: 1}}\n")
    before = home.shell
    for value in ("", "1", str(stale)):
        names = ("TOPICWARDEN_ADOPTING", "TOPICWARDEN_PLANNING", "TOPICWARDEN_CALLER")
        shell = Shell(before.folder, {**before.variables, **dict.fromkeys(names, value)})
        assert "expected at most 1, got 2" in Deployment(home.project, shell).refused("up --yes --skip-preview")
