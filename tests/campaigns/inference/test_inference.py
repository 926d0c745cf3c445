"""Infer contracts that nobody declared from real records, and hold later records against them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.campaigns.inference.drawn_topics import (
    LATER,
    RECORDS,
    DrawnTopics,
    failures,
    import_contents,
    share_of_found_rules,
)
from tests.campaigns.inference.hidden_contract import MARK, MARKED_NUMBER
from tests.support.projects import own_cache, project_of
from tests.support.sandboxes import running
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.toolchain import Toolchain

SEED, TOPICS = 44, 6
_SINGLE = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "offsets.topic.replication.factor": "1",
}


@pytest.fixture(scope="module")
def topics(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrawnTopics]:
    sandbox = Sandbox(tmp_path_factory.mktemp("inference") / "sandbox", tools.java, tools.kafka_jars)
    with running(sandbox, brokers=1, overrides=_SINGLE):
        drawn = DrawnTopics.create(sandbox.bootstrap_servers, SEED, TOPICS)
        drawn.write(RECORDS)
        yield drawn


def test_inferred_contracts_hold_for_later_records_and_show_no_value(
    topics: DrawnTopics, spark: SparkSession, tmp_path: Path
) -> None:
    settings = f"config: {{'kafka:bootstrapServers': [{', '.join(topics.servers)}], 'kafka:tlsEnabled': false}}\n"
    with own_cache(tmp_path) as folder:
        hidden = import_contents(project_of(folder / "hidden", {}, settings), show_values=False)
        assert MARK not in hidden
        assert str(MARKED_NUMBER)[:7] not in hidden
        project = project_of(folder / "project", {}, settings)
        shown = import_contents(project, show_values=True)
        assert MARK in shown
        share, missing = share_of_found_rules(project, topics.contracts)
        assert share >= 0.9, missing
        assert not failures(project)
        topics.write(LATER)
        assert not failures(project)
