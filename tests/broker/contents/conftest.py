"""Fixtures: one real broker, one Spark session, a project of files, and real producers."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.broker.contents import placed, records, transactions
from tests.broker.contents.registry import PROJECT
from tests.conftest import REPOSITORY
from tests.support.projects import own_cache
from tests.support.sandboxes import running
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.model.finding import AuditReport
from topicwarden.model.project import Project
from topicwarden.operations.audit import AuditFunction, auditing
from topicwarden.toolchain import Toolchain


@pytest.fixture(scope="package")
def sandbox(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    sandbox = Sandbox(tmp_path_factory.mktemp("contents") / "sandbox", tools.java, tools.kafka_jars)
    single = {"transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1"}
    with running(sandbox, brokers=1, overrides={**single, "offsets.topic.replication.factor": "1"}):
        yield sandbox


@pytest.fixture(scope="package")
def servers(sandbox: Sandbox) -> list[str]:
    return sandbox.bootstrap_servers


@pytest.fixture(scope="package")
def project(servers: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with own_cache(tmp_path_factory.mktemp("project")) as folder:
        root = folder / "project"
        PROJECT.write(root)
        shutil.copy(REPOSITORY / "Pulumi.yaml", root)
        (root / "stacks").mkdir()
        (root / "stacks" / "Pulumi.dev.yaml").write_text(
            f"config:\n  kafka:bootstrapServers: [{', '.join(servers)}]\n  kafka:tlsEnabled: false\n"
            "  topicwarden:partitionFunctions: [letters:by_first_letter]\n",
            encoding="utf-8",
        )
        yield Project(root)


@pytest.fixture(scope="package")
def look(project: Project, spark: SparkSession) -> Iterator[AuditFunction]:
    with auditing(project, "dev") as look:
        yield look


@pytest.fixture(scope="package")
def written(servers: list[str], tools: Toolchain) -> Iterator[None]:
    """Write every topic of the project with its producers."""
    placed.fill(servers, tools)
    records.fill(servers)
    producers = transactions.fill(servers)
    yield
    for producer in producers:
        producer.abort_transaction()


@pytest.fixture(scope="package")
def report(written: None, look: AuditFunction) -> AuditReport:
    return look(())
