"""Test an audit of hostile records and registries. `python -m tests.campaigns.hostile` has many more."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.campaigns.hostile.campaign import audit_records, audit_with_registry, fill_registry_topic, hostile_project
from topicwarden.model.project import Project
from topicwarden.toolchain import Toolchain


@pytest.fixture(scope="module")
def project(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with hostile_project(tmp_path_factory.mktemp("hostile")) as project:
        fill_registry_topic(project)
        yield project


def test_hostile_records_do_not_stop_an_audit_or_reach_a_report(project: Project) -> None:
    result = audit_records(project, 40, 7, bomb_mib=64)
    assert result.trouble == []
    assert result.verdicts["fail"] > 1


@pytest.mark.parametrize("kind", ["HTML as 404", "an empty object", "references in a cycle", "1 byte a second"])
def test_an_invalid_answer_of_the_registry_makes_records_undecidable(
    project: Project, spark: SparkSession, kind: str
) -> None:
    _, trouble = audit_with_registry(project, kind)
    assert trouble == []
