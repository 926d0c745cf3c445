"""Fixtures: a real cluster of four brokers in four racks for all tests of this package, and deployed projects."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.admin import AlterConfigOp, ConfigResource, ConfigResourceType

from tests.support.clients import records
from tests.support.projects import BIN, Shell, empty_stack, own_cache, project_of
from tests.support.sandboxes import running
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.write.reassignment_admin import ReassignmentSession, open_reassignment_session
from topicwarden.model.project import Project
from topicwarden.plan.placement.replica_placement import ReplicaPlacement, place_replicas
from topicwarden.policies.check_specs import check
from topicwarden.toolchain import Toolchain

BROKERS = 4


@pytest.fixture(scope="package")
def cache(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with own_cache(tmp_path_factory.mktemp("rebalance"), warm=True) as folder:
        yield folder


@pytest.fixture(scope="package")
def sandbox(cache: Path) -> Iterator[Sandbox]:
    sandbox = sandbox_of(Project(cache))
    # A throttle limits the mean of 11 seconds. Small fetches make a reassignment last long enough for a test.
    overrides = {"broker.session.timeout.ms": "6000", "replica.fetch.max.bytes": "65536"}
    with running(sandbox, brokers=BROKERS, heap="384m", overrides=overrides):
        yield sandbox


@pytest.fixture(scope="package")
def movable(sandbox: Sandbox) -> Iterator[ReassignmentSession]:
    with open_reassignment_session(Connection(tuple(sandbox.bootstrap_servers), tls=False)) as movable:
        yield movable


@dataclass(frozen=True)
class Stack:
    """A deployed project with one topic, and its cluster."""

    topic: str
    project: Project
    shell: Shell
    servers: list[str]
    movable: ReassignmentSession

    def declare(self, factor: int, partitions: int = 6, more: str = "", topic: str = "") -> None:
        """Write the YAML of ``topic``, by default the stack's topic.

        ``more`` has further entries, such as ``allow: [x]``.
        """
        text = f"{{partitions: {partitions}, replication_factor: {factor}, owner: team{more and f', {more}'}}}\n"
        (self.project.topics / "moved" / f"{topic or self.topic}.yaml").write_text(text)

    def up(self, *arguments: str) -> None:
        done = self.pulumi("up", "--yes", "--skip-preview", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr

    def placement(self) -> ReplicaPlacement:
        """Return the predicted placement for the current state of the cluster."""
        return place_replicas(check(self.project, ["dev"]).declarations["dev"], self.movable.cluster.snapshot())

    def fill(self, mebibytes: int) -> None:
        with writing(self.servers) as writer:
            for number in range(mebibytes * 64):
                value = hashlib.shake_128(str(number).encode()).digest(16 * 1024)
                writer.send(self.topic, f"k{number}", value)

    def contents(self) -> dict[int, tuple[int, str]]:
        """Return, by partition, the number of records and a hash of all keys and values in order."""
        hashes: dict[int, tuple[int, hashlib._Hash]] = {}
        for record in records(self.servers, self.topic):
            count, digest = hashes.setdefault(record.partition() or 0, (0, hashlib.sha256()))
            digest.update(record.key() or b"")
            digest.update(record.value() or b"")
            hashes[record.partition() or 0] = count + 1, digest
        return {partition: (count, digest.hexdigest()) for partition, (count, digest) in sorted(hashes.items())}

    def replicas(self, topic: str = "") -> dict[int, tuple[int, ...]]:
        name = topic or self.topic
        live = self.movable.cluster.snapshot([name]).topics[name]
        return {state.partition: state.replicas for state in live.replicas}

    def settings(self) -> Mapping[str, str]:
        return self.movable.cluster.snapshot([self.topic]).topics[self.topic].topic.config

    def throttles(self) -> dict[str, list[str]]:
        """Return all throttles on brokers and topics of the cluster."""
        throttle = self.movable.throttle
        brokers = [broker for broker, alive in self.movable.reassignment.brokers().items() if alive]
        rated = [f"broker {broker}" for broker in sorted(throttle.rates(brokers))]
        found = {"rates": rated, "lists": sorted(throttle.lists()[0])}
        return {kind: values for kind, values in found.items() if values}

    def rebalance(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.shell.in_process("rebalance", "--stack", "dev", *arguments)

    def rebalancing(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [BIN / "topicwarden", "rebalance", "--stack", "dev", "--yes", *arguments],
            cwd=self.shell.folder,
            env={**os.environ, **self.shell.variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def pulumi(self, *command: str) -> subprocess.CompletedProcess[str]:
        return self.shell.run("pulumi", *command, "--non-interactive")

    def configure(self, kind: ConfigResourceType, name: str | int, settings: Mapping[str, str | None]) -> None:
        """Change a configuration as another user would; None removes the value."""
        changed = {
            setting: (AlterConfigOp.DELETE, None) if value is None else value for setting, value in settings.items()
        }
        with KafkaAdminClient(bootstrap_servers=self.servers) as admin:
            admin.alter_configs([ConfigResource(kind, str(name), changed)], raise_on_unknown=False, incremental=True)

    def clean(self) -> bool:
        """Return whether no reassignment and no throttle is active on the cluster."""
        return not self.movable.reassignment.ongoing() and not self.throttles()


@pytest.fixture
def stack_of(sandbox: Sandbox, movable: ReassignmentSession, tmp_path: Path) -> Callable[[str, int], Stack]:
    """Return a function that deploys a project of one topic with six partitions and a given replication factor."""

    def deploy(topic: str, factor: int) -> Stack:
        project = project_of(tmp_path, {f"moved/{topic}.yaml": ""})
        shell = empty_stack(project, tmp_path / "state")
        stack = Stack(topic, project, shell, sandbox.bootstrap_servers, movable)
        stack.declare(factor)
        stack.up()
        return stack

    return deploy


def until(holds: Callable[[], object], seconds: float = 30) -> None:
    """Wait until ``holds`` returns a true value; fail after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come to be"
        time.sleep(0.1)
