"""Test that what an audit does for each topic does not go through all topics again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar
from unittest.mock import create_autospec

import pytest

from tests.support.subjects import subject
from topicwarden.audit import committed_evidence
from topicwarden.audit.collect.cluster_context import ClusterContext
from topicwarden.audit.collect.horizon import NO_BORDERS
from topicwarden.audit.collect.observation import Observation
from topicwarden.audit.committed_evidence import DeclaredContents, ScanResult
from topicwarden.audit.scan.contracts import Contracts
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.scan.key_scan import TopicKeys
from topicwarden.audit.scan.offset_ranges import OffsetRange
from topicwarden.audit.scan.partition_reads import PartitionRead
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.model.problem import Location
from topicwarden.model.subject import DeclaredSubject, DeclaredSubjects, RegisteredSchema, SchemaReference


class CountedRange(OffsetRange):
    """A range of offsets that counts how often somebody looks at its topic."""

    looks: ClassVar[int] = 0

    def __getattribute__(self, name: str) -> Any:
        CountedRange.looks += name == "topic"
        return super().__getattribute__(name)


def test_records_that_cannot_be_read_are_left_out_of_the_snapshot_once(monkeypatch: pytest.MonkeyPatch) -> None:
    of = subject()
    assert of.live
    without = create_autospec(Snapshot.without, side_effect=Snapshot.without)
    monkeypatch.setattr(Snapshot, "without", without)
    snapshot = Snapshot("c", 0, {}, {}, {"t": of.live})
    observed = Observation(snapshot, snapshot.topics, ClusterContext(), (of.live,) * 20, {})
    left = observed.without_records((), {("t", 0)})
    assert len(left.readable) == 20
    assert not any(0 in live.extents for live in left.readable)
    assert without.call_count == 1


def test_the_subjects_of_a_stack_are_put_in_order_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def declared(name: str, *references: str) -> DeclaredSubject:
        schema = RegisteredSchema("avro", name, tuple(SchemaReference(each, each) for each in references))
        return DeclaredSubject(name, schema, name, Location("topics/t.yaml", 1, 1))

    each = (declared("a", "c", "b"), declared("b"), declared("c", "d"), declared("d"), declared("e"))
    subjects = DeclaredSubjects({subject.name: subject for subject in each})
    in_order = create_autospec(DeclaredSubjects.in_order, side_effect=DeclaredSubjects.in_order)
    monkeypatch.setattr(DeclaredSubjects, "in_order", in_order)
    for _ in range(20):
        assert [subject.name for subject in subjects.with_references_in_order(["a"])] == ["d", "c", "b", "a"]
    assert in_order.call_count == 1


def test_the_ranges_of_topics_with_counted_keys_are_found_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    def known_placements(keys: list[TopicKeys], *_: object) -> None:
        assert [each.topic for each in keys] == names
        assert [each.ranges for each in keys] == [(read.range,) for read in reads]
        raise StopIteration

    of = subject()
    assert of.live
    live, names = of.live, [f"t{each}" for each in range(300)]
    topics = {name: replace(live, topic=replace(live.topic, name=name)) for name in names}
    reads = tuple(PartitionRead(CountedRange(0, name, 0, 0, 100), False, NO_BORDERS) for name in names)
    result = ScanResult(
        Snapshot("c", 0, {}, {}, topics),
        tuple(topics.values()),
        reads,
        {read.topic_partition: PartitionCounts() for read in reads},
    )
    monkeypatch.setattr(committed_evidence, "known_placements", known_placements)
    monkeypatch.setattr(committed_evidence, "stable_reads", lambda snapshot, reads: list(reads))
    contracts: Any = Contracts(by_key=frozenset(names))
    unused: Any = None
    CountedRange.looks = 0
    with pytest.raises(StopIteration):
        committed_evidence.count_committed(unused, unused, result, contracts, DeclaredContents(), rate=None)
    assert CountedRange.looks < 10 * len(names)
