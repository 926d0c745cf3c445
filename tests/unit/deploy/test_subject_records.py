"""Test which records are read with which new schemas, and what counts as not judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.support.subject_changes import change
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent, PartitionReplicas, Snapshot
from topicwarden.kinds.subject.change import RegistryChange
from topicwarden.kinds.subject.evidence import SubjectEvidence
from topicwarden.kinds.subject.records import RecordsOfTopics
from topicwarden.model.readability import Readability, SchemaScan
from topicwarden.model.topic import Topic


@dataclass
class Reader:
    """A reader of records that remembers what it was asked for; it fails with ``error``."""

    scans: list[SchemaScan] = field(default_factory=list)
    error: str | None = None

    def read(self, scans: Sequence[SchemaScan]) -> Sequence[Readability]:
        self.scans += scans
        return [Readability(scan.topic, scan.part, error=self.error) for scan in scans]


def evidence(change: RegistryChange, reader: Reader, *, end: int | None = 5, hidden: bool = False) -> SubjectEvidence:
    """Return what is found; ``end`` is the end of the only partition, None if it has no leader."""
    extents = {} if end is None else {0: PartitionExtent(0, end, end, None, None, None)}
    replicas = (PartitionReplicas(0, 1, (1,), (1,)),)
    live = LiveTopic(Topic("orders", 1, 1), "id", {}, replicas, extents)
    snapshot = cast(
        "Snapshot",
        SimpleNamespace(
            topics={} if hidden else {"orders": live}, hidden=frozenset({"orders"}) if hidden else frozenset()
        ),
    )
    cluster: Any = SimpleNamespace(with_extents=lambda snapshot, names: snapshot, groups=lambda names: ())
    records = RecordsOfTopics(cast("Cluster", cluster), snapshot, {}, reader)
    return records.added_to(SubjectEvidence(), change)


@pytest.mark.parametrize(
    ("name", "deployed", "live", "earlier"),
    [
        ("orders-value", ["orders-value"], ["orders-value"], ("R", "orders-R")),
        ("renamed", ["old"], ["old"], ("R", "old", "orders-R", "orders-value")),
        ("R", [], ["orders-value"], ("orders-R", "orders-value")),
        ("orders-R", ["orders-value"], ["orders-value"], ("R", "orders-value")),
    ],
)
def test_records_of_a_renamed_subject_are_read_with_the_new_schema(
    name: str, deployed: list[str], live: list[str], earlier: tuple[str, ...]
) -> None:
    reader = Reader()
    assert evidence(change(name, deployed, live), reader).readability
    assert [(scan.subject, scan.earlier) for scan in reader.scans] == [(name, earlier)]


def test_no_record_is_read_for_a_subject_that_no_record_can_name() -> None:
    reader = Reader()
    found = evidence(change("renamed", [], []), reader)
    assert not reader.scans and not found.unscanned


def test_without_a_reader_a_topic_with_records_is_not_judged_and_one_without_passes() -> None:
    changed, reader = change("orders-value", ["orders-value"], ["orders-value"]), Reader(error="pyspark is missing")
    for end in (5, None):
        (found,) = evidence(changed, reader, end=end).readability["orders-value"]
        assert found.error == "pyspark is missing"
    assert not evidence(changed, reader, end=0).readability


def test_a_topic_that_may_not_be_described_is_not_judged() -> None:
    changed = change("orders-value", ["orders-value"], ["orders-value"])
    reason = "this user may not describe orders (Describe on the topic)"
    assert evidence(changed, Reader(), hidden=True).unscanned == {"orders-value": reason}
