"""Fixtures: a real cluster of three brokers, with the example project deployed and filled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from subprocess import CompletedProcess

import pytest
from pyspark.sql import SparkSession

from tests.support.nightly import is_nightly
from tests.support.projects import Shell, copy_of_the_example, own_cache
from tests.support.sandboxes import running
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios import broker_loss, compaction, flights, planted_faults
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read.cluster import Cluster, open_cluster
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.model.finding import AuditReport
from topicwarden.model.project import Project
from topicwarden.operations.audit import AuditFunction, auditing
from topicwarden.toolchain import Toolchain, environment


@pytest.fixture(scope="package")
def project(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """The example project. Its cache is the cache of every project in this package."""
    with own_cache(tmp_path_factory.mktemp("cluster"), warm=True) as folder:
        yield copy_of_the_example(folder / "example")


@pytest.fixture(scope="package")
def sandbox(project: Project) -> Iterator[Sandbox]:
    sandbox = sandbox_of(project)
    with running(sandbox, brokers=3, authorizer=True):
        yield sandbox


@pytest.fixture(scope="package")
def servers(sandbox: Sandbox) -> list[str]:
    return sandbox.bootstrap_servers


@pytest.fixture(scope="package")
def shell(project: Project) -> Shell:
    """The project's shell, as `make shell` opens it."""
    return Shell(project.root, environment(project))


@dataclass(frozen=True)
class Deployed:
    """The results of ``pulumi``, by command, and the snapshot of the cluster afterwards."""

    outputs: dict[str, CompletedProcess[str]]
    snapshot: Snapshot


@pytest.fixture(scope="package")
def deployed(shell: Shell, cluster: Cluster) -> Deployed:
    """Deploy the example to the empty cluster with the real engine."""
    commands = (
        "stack init dev",
        "preview",
        "up --yes",
        "preview --expect-no-changes",
        "refresh --yes --expect-no-changes",
    )
    outputs = {command: shell.run("pulumi", *command.split(), "--non-interactive") for command in commands}
    return Deployed(outputs, cluster.snapshot())


@pytest.fixture(scope="package")
def written(request: pytest.FixtureRequest) -> int:
    """The number of flights that are written: all if a test of the night runs."""
    return flights.RECORDS if any(map(is_nightly, request.session.items)) else 30_000


@pytest.fixture(scope="package")
def filled(deployed: Deployed, servers: list[str], written: int) -> None:
    """Write the data and the faults of the scenarios. The cleaner is paused before the first record."""
    compaction.pause(servers)
    assert flights.fill(servers, written) == written
    compaction.fill(servers)
    broker_loss.fill(servers)
    planted_faults.fill(servers)
    planted_faults.plant(servers)


@pytest.fixture(scope="package")
def look(project: Project, sandbox: Sandbox, spark: SparkSession) -> Iterator[AuditFunction]:
    """Return a function that audits the example. All audits of this process share one Spark session."""
    with auditing(project, "dev") as look:
        yield look


@pytest.fixture(scope="package")
def report(filled: None, look: AuditFunction) -> AuditReport:
    """The audit of all topics before any cleaning."""
    return look(())


@pytest.fixture(scope="package")
def cluster(project: Project, sandbox: Sandbox) -> Iterator[Cluster]:
    with open_cluster(connect_to(project, "dev")) as cluster:
        yield cluster
