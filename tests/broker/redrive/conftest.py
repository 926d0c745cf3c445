"""Fixtures: a broker, one Spark session, and a project with a topic of orders and topics that receive copies."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.support.redrives import RedriveProject, redrive_project
from topicwarden.toolchain import Toolchain


@pytest.fixture(scope="package")
def redrives(
    tools: Toolchain, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RedriveProject]:
    with redrive_project(tmp_path_factory.mktemp("redrive"), 1, spark) as redrives:
        yield redrives
