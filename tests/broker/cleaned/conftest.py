"""Fixtures: one broker whose cleaner runs twice a second, and a project with compacted topics."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.support.projects import own_cache, project_of
from tests.support.sandboxes import running
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.model.project import Project
from topicwarden.sandbox.local_cluster import Sandbox
from topicwarden.toolchain import Toolchain

JSON = '{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}'


@pytest.fixture(scope="package")
def project(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    contents = "{key: {required: true}, value: {format: json, schema: n.json}, records: {max_bytes: 60}}"
    config = "{cleanup.policy: compact}"
    declared = f"{{partitions: 2, replication_factor: 1, config: {config}, contents: {contents}}}"
    files = {f"c.{name}.yaml": declared for name in ("scene", "random.0", "random.1", "random.2")}
    with own_cache(tmp_path_factory.mktemp("cleaned")) as folder:
        yield project_of(folder / "project", {**files, "n.json": JSON})


@pytest.fixture(scope="package")
def sandbox(project: Project) -> Iterator[Sandbox]:
    sandbox = sandbox_of(project)
    with running(sandbox, brokers=1, overrides={"log.cleaner.backoff.ms": "300"}):
        yield sandbox


@pytest.fixture(scope="package")
def servers(sandbox: Sandbox) -> list[str]:
    return sandbox.bootstrap_servers


@pytest.fixture(scope="package", autouse=True)
def session(spark: SparkSession) -> None:
    """All audits of this package use the session of the process."""
