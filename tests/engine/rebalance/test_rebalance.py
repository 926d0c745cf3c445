"""Test the `topicwarden rebalance` command on real brokers: predictions, changes, and what must stay unchanged."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.admin import (
    ACLOperation,
    ConfigResource,
    ConfigResourceType,
    NewTopic,
    ResourceType,
)

from tests.engine.rebalance.conftest import BROKERS, Stack, until
from tests.support.projects import Shell, project_of
from tests.support.restricted_user import AUTHORIZER, grant
from topicwarden.deploy.rebalance.reassignment import MAX_CONCURRENT
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.kafka_facts.throttle_settings import RATES, REPLICAS

Deploy = Callable[[str, int], Stack]
MIB = 1 << 20


def test_a_rebalance_makes_the_predicted_moves(stack_of: Deploy) -> None:
    stack = stack_of("raised.v1", 1)
    stack.fill(24)
    stack.declare(3)
    contents, settings = stack.contents(), stack.settings()
    predicted = stack.placement()
    to_copy = sum(move.bytes_to_copy or 0 for move in predicted.moves)
    assert to_copy > 40 * MIB

    shown = stack.rebalance("--dry-run", "--throttle", "4MiB")
    assert shown.returncode == 0, shown.stderr
    assert f"to copy: {to_copy / MIB:.1f} MiB" in shown.stdout
    refused = stack.rebalance()
    assert (refused.returncode, refused.stderr) == (
        2,
        "topicwarden: no terminal to confirm on: pass --yes, or show the changes with "
        "`topicwarden rebalance --stack dev --dry-run`\n",
    )
    assert stack.clean()

    moving = stack.rebalancing("--throttle", "4MiB")
    until(stack.movable.reassignment.ongoing)
    assert stack.throttles() == {"rates": [f"broker {n}" for n in range(1, BROKERS + 1)], "lists": ["raised.v1"]}
    rates = stack.movable.throttle.rates(range(1, BROKERS + 1))
    assert {value for settings in rates.values() for value in settings.values()} == {str(4 * MIB)}
    output, _ = moving.communicate(timeout=120)
    assert moving.returncode == 0, output
    assert "moved: 6 partitions" in output
    assert stack.replicas() == {move.partition: move.after for move in predicted.moves}
    live = stack.movable.cluster.snapshot(["raised.v1"])
    for state in live.topics["raised.v1"].replicas:
        assert len({live.racks[broker] for broker in state.in_sync}) == 3
    assert (stack.contents(), stack.settings(), stack.clean()) == (contents, settings, True)
    preview = stack.pulumi("preview", "--expect-no-changes")
    assert preview.returncode == 0, preview.stdout

    stack.declare(2, more="allow: [reduce-replicas]")
    predicted = stack.placement()
    assert all(move.added == () and len(move.removed) == 1 for move in predicted.moves)
    assert stack.rebalance("--yes").returncode == 0
    assert stack.replicas() == {move.partition: move.after for move in predicted.moves}
    assert (stack.contents(), stack.clean(), stack.placement().moves) == (contents, True, ())
    assert stack.pulumi("preview", "--expect-no-changes").returncode == 0


@pytest.mark.nightly("The suite keeps the predicted moves, and the units of batches.")
def test_many_partitions_move_some_at_a_time(stack_of: Deploy) -> None:
    stack = stack_of("many.v1", 1)
    stack.declare(1, partitions=130)
    assert stack.pulumi("up", "--yes", "--skip-preview").returncode == 0
    stack.declare(2, partitions=130)
    predicted = stack.placement()
    moving, most = stack.rebalancing(), 0
    while moving.poll() is None:
        most = max(most, len(stack.movable.reassignment.ongoing()))
    output, _ = moving.communicate()
    assert (moving.returncode, "moved: 130 partitions" in output) == (0, True), output
    assert 0 < most <= MAX_CONCURRENT
    assert stack.replicas() == {move.partition: move.after for move in predicted.moves}
    assert stack.clean()


def test_a_started_move_continues_throttled_and_can_be_cancelled(stack_of: Deploy) -> None:
    stack = stack_of("cancelled.v1", 1)
    stack.fill(12)
    before, contents = stack.replicas(), stack.contents()
    stack.declare(3)
    moving = stack.rebalancing("--throttle", "100kB")
    until(stack.movable.reassignment.ongoing)
    moving.send_signal(signal.SIGTERM)
    output, _ = moving.communicate(timeout=30)
    assert moving.returncode == 1
    assert "stopped: 6 partitions still moving, throttled; 0 partitions not started" in output
    assert stack.throttles()["lists"] == ["cancelled.v1"]

    done = stack.rebalance("--cancel")
    assert (done.returncode, "cancelled: 6 partitions\n" in done.stdout) == (0, True), done.stdout + done.stderr
    assert "removed the replication throttle of an earlier run: brokers 1, 2, 3, 4; topics cancelled.v1" in done.stdout
    assert (stack.replicas(), stack.contents(), stack.clean()) == (before, contents, True)


def test_impossible_requests_are_reported_in_one_line(stack_of: Deploy) -> None:
    stack = stack_of("refused.v1", 1)
    stack.declare(5)
    done = stack.rebalance("--yes")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == (
        "topics/moved/refused.v1.yaml:1:37: refused.v1: too few brokers for replication factor 5: "
        "the cluster has 4 (1, 2, 3, 4); start lost brokers again, add brokers, or declare 4 at most "
        "[too-few-brokers]\n"
    )
    stack.declare(2)
    for arguments, output in (
        (["--topics", "nope.*"], "no declared topic matches --topics nope.*"),
        (["--throttle", "50 MB/s"], "--throttle: expected a size"),
        (["--throttle", "0"], "expected at least 1 byte per second, or unlimited"),
    ):
        done = stack.rebalance("--yes", *arguments)
        assert (done.returncode, output in done.stderr, done.stderr.count("\n")) == (2, True, 1), done.stderr
    assert stack.clean()


@pytest.mark.nightly("The matrix of permissions takes each of these permissions from a rebalance.")
def test_without_permission_no_move_starts_and_no_throttle_stays(
    cache: Path, tmp_path: Path, java: Path, jars: Path
) -> None:
    guarded = Sandbox(tmp_path / "guarded", java, jars)
    try:
        guarded.up(brokers=2, heap="256m", overrides=AUTHORIZER)
        servers = guarded.bootstrap_servers
        settings = f"config: {{'kafka:bootstrapServers': [{', '.join(servers)}], 'kafka:tlsEnabled': false}}\n"
        text = "{partitions: 1, replication_factor: 2, owner: team}"
        shell = Shell(project_of(tmp_path / "project", {"moved/denied.v1.yaml": text}, settings).root)
        with KafkaAdminClient(bootstrap_servers=servers) as admin:
            admin.create_topics([NewTopic("denied.v1", num_partitions=1, replication_factor=1)])
            allowed = [ACLOperation.DESCRIBE, ACLOperation.DESCRIBE_CONFIGS, ACLOperation.CLUSTER_ACTION]
            allowed += [ACLOperation.ALTER_CONFIGS]
            grant(admin, ResourceType.CLUSTER, "kafka-cluster", allowed)
            done = shell.topicwarden("rebalance", "--stack", "dev", "--yes", "--no-refresh")
            assert (done.returncode, done.stderr) == (
                2,
                "topicwarden: the cluster does not let this user move replicas: grant Alter and Describe, and for "
                "the throttle AlterConfigs and DescribeConfigs, on the Cluster resource\n",
            )
            topic = ConfigResource(ConfigResourceType.TOPIC, "denied.v1", list(REPLICAS))
            brokers = [ConfigResource(ConfigResourceType.BROKER, str(n), list(RATES)) for n in (1, 2)]
            left = admin.describe_configs([topic, *brokers])
            assert left == {"topic": {"denied.v1": {}}, "broker": {"1": {}, "2": {}}}
    finally:
        guarded.down(remove=True)


@pytest.mark.nightly("The suite keeps one of the two orders.", stays=("True",))
@pytest.mark.parametrize("comes_back", [True, False])
def test_a_broker_lost_during_the_audit(stack_of: Deploy, sandbox: Sandbox, comes_back: bool) -> None:
    stack = stack_of(f"lost-{comes_back}.v1".lower(), 1 if comes_back else 2)
    stack.fill(12)
    contents = stack.contents()
    stack.declare(3)
    added = {broker for move in stack.placement().moves for broker in move.added}
    victim = max(added) if not comes_back else _active_controller(sandbox)
    assert victim in added
    moving = stack.rebalancing("--throttle", "300kB")
    until(stack.movable.reassignment.ongoing)
    lines: list[str] = []
    try:
        sandbox.kill(victim)
        while not any("is lost" in line for line in lines):
            lines.append(_line(moving))
        assert f"broker {victim} is lost, and " in lines[-1]
        if not comes_back:
            moving.send_signal(signal.SIGINT)
            output, _ = moving.communicate(timeout=60)
            assert moving.returncode == 1
            assert "still moving, throttled" in output
            done = stack.rebalance("--yes", "--throttle", "50MiB")
            assert done.returncode == 1, done.stdout + done.stderr
            assert victim not in {broker for brokers in stack.replicas().values() for broker in brokers}
            assert f"broker {victim} may keep a replication throttle, because it is lost" in done.stdout
    finally:
        sandbox.start(victim)
    if comes_back:
        output, _ = moving.communicate(timeout=180)
        assert moving.returncode == 0, output
        assert f"broker {victim} is back" in output
    else:
        done = stack.rebalance("--yes", "--throttle", "50MiB")
        assert done.returncode == 0, done.stdout + done.stderr
    assert {len(set(brokers)) for brokers in stack.replicas().values()} == {3}
    assert stack.contents() == contents
    assert stack.clean()
    assert stack.pulumi("preview", "--expect-no-changes").returncode == 0


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, "it ended"
    return line


def _active_controller(sandbox: Sandbox) -> int:
    with KafkaAdminClient(bootstrap_servers=sandbox.bootstrap_servers) as admin:
        return int(admin.describe_metadata_quorum()["topics"][0]["partitions"][0]["leader_id"])
