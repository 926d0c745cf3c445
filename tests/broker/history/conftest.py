"""Fixtures: one broker, one Spark session, and audits with a history. The cleaner is first off and later on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.projects import own_cache, project_of
from tests.support.sandboxes import running
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.model.project import Project
from topicwarden.sandbox.local_cluster import Sandbox
from topicwarden.toolchain import Toolchain

BROKEN = {
    "log.cleaner.enable": "false",
    "log.cleaner.backoff.ms": "300",
    "log.retention.check.interval.ms": "1000",
    "transaction.max.timeout.ms": "1000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}
"""A broker without a running cleaner."""

REPAIRED = BROKEN | {"log.cleaner.enable": "true"}


@pytest.fixture(scope="package")
def project(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with own_cache(tmp_path_factory.mktemp("history")) as folder:
        yield project_of(folder / "project", {"h.declared.yaml": "{partitions: 1, replication_factor: 1}"})


@pytest.fixture(scope="package")
def sandbox(project: Project) -> Iterator[Sandbox]:
    sandbox = sandbox_of(project)
    with running(sandbox, brokers=1, overrides=BROKEN):
        yield sandbox


@pytest.fixture(scope="package")
def servers(sandbox: Sandbox) -> list[str]:
    return sandbox.bootstrap_servers


@pytest.fixture(scope="package", autouse=True)
def session(spark: SparkSession) -> None:
    """All audits of this package use the session of the process."""


@pytest.fixture
def history(tmp_path: Path) -> str:
    """The folder of a history that only one test uses."""
    return str(tmp_path / "history")
