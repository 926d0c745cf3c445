"""Fixtures: three brokers, one Spark session, and a project with a topic of orders and topics that receive copies."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.support.projects import own_cache, project_of
from tests.support.redrives import RedriveProject
from tests.support.sandboxes import running
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.toolchain import Toolchain


@pytest.fixture(scope="package")
def redrives(
    tools: Toolchain, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RedriveProject]:
    with own_cache(tmp_path_factory.mktemp("redrive")) as folder:
        project = project_of(folder / "project", {})
        with running(sandbox_of(project), brokers=3) as sandbox:
            yield RedriveProject(project, sandbox.bootstrap_servers, spark)
