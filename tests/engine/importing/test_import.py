"""Test `topicwarden import` with the real engine, on a real cluster with undeclared topics."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine.importing.conftest import UNDECLARED, Made, adopted, create, settings
from tests.support.clients import until
from tests.support.projects import Shell
from tests.support.stack_state import resources_in_state
from topicwarden.deploy.adoption import adopt
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.read.topic_reads import list_topics
from topicwarden.kafka.write.topic_admin import alter_settings
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project

EMPTY = ("preview --expect-no-changes", "preview --refresh --expect-no-changes")


def assert_nothing_to_do(shell: Shell) -> None:
    for command in EMPTY:
        done = shell.run("pulumi", *command.split(), "--non-interactive")
        assert done.returncode == 0, done.stdout + done.stderr


def written(shell: Shell) -> dict[str, str]:
    topics = shell.folder / "topics"
    return {path.relative_to(topics).as_posix(): path.read_text() for path in topics.rglob("*.yaml")}


def test_a_stack_without_a_cluster(shell: Made, cluster: Cluster) -> None:
    project, before = shell(), settings(cluster)
    done = project.in_process("import", "--stack", "dev")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(UNDECLARED)} topics adopted into stack dev; compared before and after" in done.stderr
    assert settings(cluster) == before
    assert adopted(project) == set(UNDECLARED)
    assert_nothing_to_do(project)
    files = written(project)
    assert files["_defaults.yaml"] == "replication_factor: 2\n"
    assert files["orders/_defaults.yaml"].splitlines()[1:] == ["partitions: 12", "config:", "  min.insync.replicas: 1"]
    assert files["orders/orders.paid.v1.yaml"] == "config:\n  retention.ms: 7d\n"
    assert files["orders/orders.lost.v1.yaml"].startswith("config:\n  min.insync.replicas: null")
    assert files["customers/customers.yaml"] == "config:\n  delete.retention.ms: 100ms\n  segment.ms: 100ms\n"
    assert files["schemas.yaml"] == "topic: _schemas\npartitions: 1\nconfig:\n  cleanup.policy: compact\n"
    assert files["kept.yaml"] == "partitions: 1\nconfig:\n  cleanup.policy: []  # nothing is ever deleted\n"
    again = project.in_process("import", "--stack", "dev")
    assert again.returncode == 0
    assert "nothing to adopt" in again.stderr
    assert written(project) == files
    fixed = project.in_process("check", "--diff")
    assert fixed.returncode == 0, fixed.stdout


def test_only_the_selected_topics_change(shell: Made, cluster: Cluster, sandbox: Sandbox) -> None:
    project = shell()
    assert project.in_process("import", "orders.*", "!orders.lost.*").returncode == 0
    assert adopted(project) == {name for name in UNDECLARED if name.startswith("orders.")} - {"orders.lost.v1"}
    file = project.folder / "topics" / "orders" / "orders.paid.v1.yaml"
    file.write_text("config: {retention.ms: 8d}\n")
    (project.folder / "topics" / "orders" / "orders.new.v1.yaml").write_text("topic: orders.new.v1\n")
    before = settings(cluster)
    done = project.in_process("import", "payments.*", "orders.lost.*")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 topics adopted" in done.stderr
    assert "2 other changes pending, not touched" in done.stderr
    assert settings(cluster) == before
    assert {"payments.fees.v2", "orders.lost.v1"} < adopted(project)
    assert "orders.new.v1" not in adopted(project)


def test_warnings_are_printed_and_do_not_stop_a_deploy(shell: Made, cluster: Cluster) -> None:
    project = shell()
    (project.folder / "policies").mkdir()
    (project.folder / "policies" / "rules.yaml").write_text("rules: {owner: {level: error}}\n")
    shown = project.in_process("import", "--dry-run", "payments.*")
    assert shown.returncode == 1, "a dry run ends as the real run"
    assert "payments.fees.v2 has no owner" in shown.stdout
    assert written(project) == {}
    done = project.in_process("import", "payments.*")
    assert done.returncode == 1
    assert "payments.fees.v2 has no owner" in done.stdout
    assert "3 topics adopted" in done.stderr
    assert project.run("pulumi", "preview", "--non-interactive").returncode != 0, "the rules hold from here on"


def test_differently_declared_topics_are_reported_and_not_changed(shell: Made, cluster: Cluster) -> None:
    declared = "partitions: 13\nreplication_factor: 2\nconfig: {retention.ms: 7d, min.insync.replicas: 1}\n"
    project, before = shell({"orders/orders.paid.v1.yaml": declared}), settings(cluster)
    done = project.in_process("import", "orders.paid.*")
    assert done.returncode == 1
    assert "topics/orders/orders.paid.v1.yaml:1:13: orders.paid.v1: partitions is 13 in YAML, but 12 on" in done.stdout
    assert "nothing to adopt" in done.stderr
    assert written(project) == {"orders/orders.paid.v1.yaml": declared}
    assert adopted(project) == set()
    assert settings(cluster) == before


def test_a_dry_run_and_files_only_need_no_pulumi(shell: Made) -> None:
    project = shell()
    without = shutil.which("topicwarden", path=project.variables["PATH"])
    assert without
    bare = Shell(project.folder, {"PATH": os.defpath, "TOPICWARDEN_CACHE": os.environ["TOPICWARDEN_CACHE"]})
    shown = bare.run(without, "import", "--dry-run", "payments.*")
    assert shown.returncode == 0, shown.stderr
    assert "+++ b/topics/payments/payments.fees.v2.yaml" in shown.stdout
    assert written(project) == {}
    done = bare.run(without, "import", "--files-only", "payments.*")
    assert done.returncode == 0, done.stderr
    assert len(written(project)) == 4
    assert adopted(project) == set()


def test_values_without_a_yaml_form_are_skipped_with_a_reason(shell: Made, sandbox: Sandbox) -> None:
    create(sandbox.bootstrap_servers, {"moving.topic": (1, 2, {"leader.replication.throttled.replicas": "*"})})
    project = shell()
    done = project.in_process("import", "moving.*")
    assert done.returncode == 1
    assert "not imported: moving.topic: it has a replication throttle" in done.stderr
    assert written(project) == {}


def test_an_existing_file_is_never_overwritten(shell: Made) -> None:
    live_topics = {"payments/payments.fees.v2.yaml": "topic: other\npartitions: 1\nreplication_factor: 1\n"}
    project = shell(live_topics)
    assert project.in_process("import", "--files-only", "payments.*").returncode == 0
    files = written(project)
    assert files.items() >= live_topics.items()
    assert files["payments/payments.fees.v2-2.yaml"].startswith("topic: payments.fees.v2\n")


def test_without_the_stack_nothing_is_written(shell: Made) -> None:
    project = shell()
    (project.folder / "stacks" / "Pulumi.prod.yaml").write_text("config: {'topicwarden:cluster': sandbox}\n")
    done = project.in_process("import", "--stack", "prod")
    assert done.returncode == 2
    assert "`pulumi stack init prod` creates it" in done.stderr
    assert written(project) == {}


def _adopted_by_hand(project: Shell, cluster: Cluster, meanwhile: Callable[[], object]) -> str:
    """Adopt the declared topics after ``meanwhile``; return why that was refused."""
    engine, resources = PulumiEngine(Project(project.folder), "dev", project.variables), resources_in_state(project)
    before = cluster.snapshot()
    meanwhile()
    with pytest.raises(Refusal) as refused:
        adopt(engine, before, resources)
    assert adopted(project) == set()
    return str(refused.value)


def test_a_topic_that_changes_meanwhile_stops_the_whole_adoption(
    shell: Made, cluster: Cluster, sandbox: Sandbox
) -> None:
    create(sandbox.bootstrap_servers, {"racing.one": (1, 2, {}), "racing.two": (1, 2, {"retention.ms": "5000"})})
    project = shell()
    assert project.in_process("import", "--files-only", "racing.*").returncode == 0
    with connected(sandbox.bootstrap_servers) as admin:
        try:
            refused = _adopted_by_hand(
                project, cluster, lambda: alter_settings(admin, {"racing.two": {"retention.ms": "6000"}})
            )
        finally:
            admin.delete_topics(["racing.one", "racing.two"])
    assert refused.startswith("nothing was adopted: racing.two is not on the cluster as declared any more: config")


def test_a_declared_topic_whose_replicas_move_is_adopted_with_the_others(
    shell: Made, cluster: Cluster, sandbox: Sandbox
) -> None:
    create(sandbox.bootstrap_servers, {"shifting.one": (1, 2, {"retention.ms": "5000"}), "shifting.two": (1, 2, {})})
    project = shell()
    lists = {"leader.replication.throttled.replicas": "0:1", "follower.replication.throttled.replicas": "0:2"}
    with connected(sandbox.bootstrap_servers) as admin:
        try:
            until(lambda: {"shifting.one", "shifting.two"} <= {*list_topics(admin)}, "the topics exist")
            assert project.in_process("import", "--files-only", "shifting.*").returncode == 0
            alter_settings(admin, {"shifting.one": lists})
            until(lambda: "0:1" in str(settings(cluster)["shifting.one"]), "the brokers show the lists")
            done = project.in_process("import", "shifting.*")
            assert done.returncode == 0, done.stdout + done.stderr
            assert adopted(project) == {"shifting.one", "shifting.two"}
        finally:
            admin.delete_topics(["shifting.one", "shifting.two"])


def test_a_refused_adoption_leaves_the_state_as_it_is(shell: Made, cluster: Cluster) -> None:
    project = shell()
    assert project.in_process("import", "--files-only", "plain").returncode == 0
    file = project.folder / "topics" / "plain.yaml"
    file.write_text(file.read_text().replace("partitions: 1", "partitions: 2"))
    assert "partitions is 1, declared 2" in _adopted_by_hand(project, cluster, lambda: None)
    assert resources_in_state(project) == []


def test_an_own_program_that_imports_more_stops_the_adoption(shell: Made, cluster: Cluster) -> None:
    project = shell()
    assert project.in_process("import", "--files-only", "plain").returncode == 0
    program = project.folder / "stacks" / "__main__.py"
    own = "kafka.Topic('t', name='t', partitions=1, replication_factor=2, opts=pulumi.ResourceOptions(import_='t'))\n"
    program.write_text(f"import pulumi\nimport pulumi_kafka as kafka\n{program.read_text()}\n{own}")
    assert "nothing was adopted: Pulumi would also import t" in _adopted_by_hand(project, cluster, lambda: None)


def test_topics_of_another_tool_are_adopted_if_equal(shell: Made, tmp_path: Path) -> None:
    project = shell()
    strimzi = tmp_path / "topics.yaml"
    strimzi.write_text(
        "apiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaTopic\nmetadata: {name: plain}\n"
        "spec: {partitions: 1, replicas: 2}\n"
    )
    assert project.in_process("import", "--from", strimzi).returncode == 0
    assert adopted(project) == set()
    done = project.in_process("import", "plain")
    assert done.returncode == 0
    assert "1 topic adopted" in done.stderr
    assert_nothing_to_do(project)


def test_invalid_entries_of_another_tool_write_nothing(shell: Made, tmp_path: Path) -> None:
    project, file = shell(), tmp_path / "topics.env"
    file.write_text("KAFKA_CREATE_TOPICS=one:1:1,two:1,three:x:1\n")
    done = project.in_process("import", "--from", file)
    assert done.returncode == 1
    assert f"{file}:1:29: " in done.stdout
    assert f"{file}:1:35: " in done.stdout
    assert written(project) == {}
