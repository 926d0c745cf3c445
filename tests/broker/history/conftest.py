"""Fixtures: one broker, one Spark session, and audits with a history. The cleaner is first off and later on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.projects import own_cache, project_of
from tests.support.sandboxes import running
from topicwarden.audit.history.topic_state import (
    Checkpoint,
    CommittedRead,
    FoundPairs,
    KnownPartition,
    KnownTombstone,
    OpenFinding,
    PartitionState,
    RememberedRecord,
    TopicState,
)
from topicwarden.audit.scan.counts import ContentFault, PartitionCounts, SupersededPair, TimestampTypeCount
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.model.project import Project
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


NOW = 1_800_000_000_000
COMMITTED = PartitionCounts(
    records=9,
    earliest_pair=SupersededPair(4, 9, 1),
    deleted=((5, 6),),
    fits=(1, 2),
    faults=(ContentFault("value-schema", "no JSON", 2, (4, 5), undecided=True),),
    timestamp_types={"CREATE_TIME": TimestampTypeCount(9, 20)},
)


def look(topic: str = "t", at: int = NOW) -> TopicState:
    """Return a topic state with a value in every field, and null for values that a broker may hide."""
    known = KnownPartition(
        ("p-1", "p-2"),
        (9, 9),
        "digest",
        3,
        False,
        0,
        (Checkpoint(10, 9, 90, 5), Checkpoint(20, 18, 180, 6)),
        "{}",
        FoundPairs(3, 20, (SupersededPair(4, 9, -(2**63)),)),
        CommittedRead(3, 20, COMMITTED),
    )
    return TopicState(
        cluster_id="c",
        topic=topic,
        topic_id=f"id of {topic}",
        taken_at=at,
        settings={"segment.ms": "1", "cleanup.policy": "compact"},
        since={"segment.ms": at - 5, "cleanup.policy": at},
        partitions=(
            PartitionState(0, 1, 20, 15, None, None, None, 7),
            PartitionState(1, 3, 20, 20, 1_000, 2, 5, 0, known),
        ),
        open_findings=(OpenFinding("compaction-lag", 1, "suspect", at - 9, {"offset": 4}, {"segment.ms": "1"}),),
        remembered_records=(RememberedRecord(1, 4, -(2**63), 9), RememberedRecord(1, 5, 2**63 - 1, None)),
        tombstones=(KnownTombstone(1, 5, -1, 5),),
    )
