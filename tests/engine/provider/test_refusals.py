"""Test deploys that end early, whose next run continues, states of both registrations, and parallel requests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from google.protobuf.struct_pb2 import Struct
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from tests.engine.provider.conftest import ExchangeableStack
from tests.support.killed_deploys import kill_one_deploy, killable_stack
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.write.access_admin import alter_quotas

pytestmark = pytest.mark.usefixtures("sandbox")

NUMBER = 30


def test_a_controller_mutation_quota_delays_a_deploy_without_failing_it(sandbox: Sandbox, folder: Path) -> None:
    """The quota is ``controller_mutation_rate`` (KIP-599), and allows a burst of eleven seconds at first."""
    stack = killable_stack(folder, "quota")
    names = [f"quota.t{number:02}.v1" for number in range(NUMBER)]
    documents = [f"{{topic: {name}, owner: team, partitions: 2, replication_factor: 1}}\n" for name in names]
    (stack.project.topics / "all.yaml").write_text("---\n".join(documents), encoding="utf-8")
    everybody = (("user", None),)
    with connected(sandbox.bootstrap_servers) as admin:
        assert not alter_quotas(admin, {everybody: {"controller_mutation_rate": 2.0}})
    try:
        done = stack.up()
    finally:
        with connected(sandbox.bootstrap_servers) as admin:
            alter_quotas(admin, {everybody: {"controller_mutation_rate": None}})
    assert done.returncode == 0, done.stdout
    assert "Kafka's quota for changes of topics is used up" in done.stdout
    assert set(stack.live()) == {*names}


# Test that a deploy that was killed is repaired by the same command. The campaign ``deploys`` kills many more.


@pytest.mark.nightly(
    "The suite keeps a deletion; topics and access whose creation was killed are in predictions and test_access.py.",
    stays=("delete-engine-2.0",),
)
@pytest.mark.parametrize(
    ("change", "process", "after_s"),
    [("create", "engine", 1.5), ("create", "command", 1.8), ("update", "command", 1.6), ("delete", "engine", 2.0)],
)
def test_the_same_command_repairs_a_killed_deploy(folder: Path, change: str, process: str, after_s: float) -> None:
    result = kill_one_deploy(killable_stack(folder, f"{change}{process}"), change, process, after_s)
    assert result.converged, (result, result.output)


def test_an_undeclared_topic_of_a_killed_deploy_is_named(folder: Path) -> None:
    """The engine is killed after the topics were created, and before it wrote the state."""
    stack = killable_stack(folder, "orphan")
    stack.deploy(0, 1)
    stack.deploy(1, 1_000_000)
    # The state of the first deploy, and the record of the second: what a kill leaves behind.
    assert stack.shell.run("pulumi", "state", "unprotect", "--yes", "--all", "--stack", "dev").returncode == 0
    urn = "urn:pulumi:dev::topicwarden::topicwarden:index:TopicSet$topicwarden:index:Domain$kafka:index/topic:Topic"
    removed = stack.shell.run("pulumi", "state", "delete", "--yes", "--stack", "dev", f"{urn}::orphan.t0.v1")
    assert removed.returncode == 0, removed.stderr
    stack.declare(0, 1)
    refused = stack.up()
    assert refused.returncode == 1
    assert "orphan.t0.v1: a deploy that was killed created this" in refused.stdout
    stack.deploy(1, 1_000_000)
    assert "orphan.t0.v1" in stack.in_state()


def test_a_deploy_after_a_complete_deletion_does_not_refresh(folder: Path) -> None:
    stack = killable_stack(folder, "complete")
    stack.deploy(1, 1_000_000)
    stack.deploy(0, 1)
    assert stack.in_state() == {"complete.keep.v1"}
    after = stack.up()
    assert after.returncode == 0
    assert "a deploy was killed" not in after.stdout + after.stderr


UP = "up --yes --skip-preview --suppress-outputs"


@pytest.mark.parametrize("stack", ["declared_topics.py"], indirect=True)
def test_lean_registration_and_the_sdk_give_the_same_state(stack: ExchangeableStack) -> None:
    stack.use("own")
    states = {}
    for way, other in (("sdk", "lean"), ("lean", "sdk")):
        stack.register(way)
        stack.pulumi(UP)
        states[way] = stack.everything()
        stack.register(other)
        stack.pulumi("preview --expect-no-changes")
        stack.pulumi(f"{UP} --expect-no-changes")
        assert stack.everything() == states[way]
        stack.pulumi("state unprotect --yes --all")
        stack.pulumi("destroy --yes --skip-preview")
    assert len(states["sdk"]) == 9
    assert states["lean"] == states["sdk"]


REQUESTS = 4_000


@pytest.fixture
def provider() -> Iterator[grpc.Channel]:
    command = [sys.executable, "-m", "topicwarden.deploy.provider"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        with grpc.insecure_channel(f"127.0.0.1:{int(process.stdout.readline())}") as channel:
            yield channel
        process.terminate()


def test_no_request_of_a_burst_is_refused(provider: grpc.Channel) -> None:
    topic = Struct()
    topic.update({"name": "orders", "partitions": 3, "replicationFactor": 1})
    urn = "urn:pulumi:dev::shop::kafka:index/topic:Topic::orders"
    stub = provider_pb2_grpc.ResourceProviderStub(provider)
    request = provider_pb2.CheckRequest(urn=urn, news=topic)
    calls = [stub.Check.future(request) for _ in range(REQUESTS)]
    assert {call.code() for call in calls} == {grpc.StatusCode.OK}
