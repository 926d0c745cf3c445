"""Test commands as users type them: deploys with the real engine, and audits as a command and as a PySpark job."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.conftest import REPOSITORY
from tests.support.command import topicwarden
from tests.support.projects import Shell, empty_stack, location_of, project_of
from tests.support.reports import facts, found
from tests.system.example.conftest import Deployed
from topicwarden.audit.scan import spark_session as sessions
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.model.finding import AuditReport
from topicwarden.model.project import Project
from topicwarden.model.units import size_text
from topicwarden.model.verdict import Verdict
from topicwarden.policies.check_specs import check

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
        assert f"at most 100 records in {size_text(lost)} on the leaders' disks" in done.stdout
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


COMMANDS = {
    "topicwarden": ["topicwarden", "audit"],
    "spark-submit": ["spark-submit", str(REPOSITORY / "validation" / "audit.py")],
}
FAILS = "fail config-drift shop.orders: retention.ms is 3600000 (set on the topic), declared 604800000"


@pytest.mark.nightly(
    "The suite keeps the PySpark job; CI's audit and the tests of spark_cluster run the command as a process.",
    stays=("spark-submit",),
)
@pytest.mark.parametrize(
    ("command", "topic", "code", "line"),
    [
        ("topicwarden", "shop.orders", 1, FAILS),
        ("spark-submit", "cache", 0, "suspect compaction-ratio cache [0]: 10 of 11 records are superseded"),
    ],
    ids=COMMANDS,
)
def test_it_prints_and_writes_the_report(
    command: str, topic: str, code: int, line: str, *, report: AuditReport, shell: Shell, tmp_path: Path
) -> None:
    out = tmp_path / "new" / "out"
    done = shell.run(*COMMANDS[command], "--stack", "dev", "--topics", topic, "--history", "none", "--out", out)
    assert done.returncode == code, done.stderr
    assert line in done.stdout
    assert f"\n1 topic, {facts(report, topic).records} records in " in done.stdout
    # spark-submit prints both streams of a Python program to its standard output.
    lines = (done.stdout + done.stderr).splitlines()
    assert {str(out / f"report.{kind}") for kind in ("html", "md", "json")} <= set(lines)

    written = AuditReport.model_validate_json((out / "report.json").read_bytes())
    assert written.topics == [facts(report, topic)]
    for verdict in Verdict:
        assert found(written, verdict) == [one for one in found(report, verdict) if one[0] == topic]


def test_a_pattern_without_a_matching_topic_is_refused_before_spark_starts(
    deployed: Deployed, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "spark_session", lambda *_, **__: pytest.fail("Spark was started"))
    done = topicwarden("audit", "--stack", "dev", "--topics", "shop.odrers", cwd=shell.folder)
    assert (done.code, done.out) == (2, "")
    assert "no topic, declared or on the cluster, matches --topics shop.odrers" in done.err
