"""Test that a topic that is deleted while offsets are read hides no other one."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest
from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import NotLeaderForPartitionError, UnknownTopicOrPartitionError
from kafka.protocol.consumer import IsolationLevel, OffsetSpec

from topicwarden.kafka.read.partition_extents import read_extents, read_offsets
from topicwarden.kafka.read.snapshot import PartitionReplicas

MODULE = "topicwarden.kafka.read.partition_extents"
UNKNOWN = UnknownTopicOrPartitionError.errno
REPLICAS = (PartitionReplicas(0, 1, (1,), (1,)),)


class Admin:
    """Stands in for Kafka's admin client: each request deletes the next of ``going`` first."""

    def __init__(self, topics: set[str], going: list[str]) -> None:
        self.topics, self.going = topics, going

    def list_partition_offsets(self, specs: Mapping[TopicPartition, Any], **_: object) -> dict[TopicPartition, Any]:
        self.topics -= {self.going.pop(0)} if self.going else set()
        if {partition.topic for partition in specs} - self.topics:
            raise UnknownTopicOrPartitionError
        return dict.fromkeys(specs, SimpleNamespace(offset=7, timestamp=1))

    def describe_topics(self, names: list[str]) -> list[dict[str, Any]]:
        return [
            {"name": name, "error_code": 0, "partitions": [{"partition_index": 0}]}
            if name in self.topics
            else {"name": name, "error_code": UNKNOWN, "partitions": []}
            for name in names
        ]


def at_leaders(admin: Admin, specs: Mapping[int, Mapping[TopicPartition, Any]], _: object) -> dict[TopicPartition, Any]:
    return admin.list_partition_offsets(
        {partition: spec for each in specs.values() for partition, spec in each.items()}
    )


def admin(topics: set[str], *going: str) -> KafkaAdminClient:
    return cast("KafkaAdminClient", Admin(topics, [*going]))


def test_topics_that_are_deleted_one_after_the_other_are_left_out() -> None:
    specs = {TopicPartition(name, 0): OffsetSpec.LATEST for name in "abc"}
    assert [*read_offsets(admin({*"abc"}, "a", "b"), specs)] == [("c", 0)]
    assert read_offsets(admin({*"a"}, "a"), {TopicPartition("a", 0): OffsetSpec.LATEST}) == {}


def test_an_error_of_a_topic_that_exists_is_not_hidden() -> None:
    broken = admin({"a"})
    broken.list_partition_offsets = lambda *_, **__: (_ for _ in ()).throw(UnknownTopicOrPartitionError)
    with pytest.raises(UnknownTopicOrPartitionError):
        read_offsets(broken, {TopicPartition("a", 0): OffsetSpec.LATEST})


@pytest.fixture(autouse=True)
def _metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{MODULE}.describe_topics", Admin.describe_topics)


@pytest.mark.parametrize("requests_before", range(4))
def test_the_extents_of_the_other_topics_are_read(requests_before: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{MODULE}._log_bytes", lambda *_: ({}, (), None))
    monkeypatch.setattr(f"{MODULE}.offsets_at_leaders", at_leaders)
    going = admin({*"ab"}, *[""] * requests_before, "a")
    extents, _, _ = read_extents(going, dict.fromkeys("ab", REPLICAS), [1])
    assert extents["b"][0].end == 7
    assert "a" not in extents


def test_known_leaders_get_the_requests_for_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = []

    def answer(_: object, specs: Mapping[int, Mapping[TopicPartition, Any]], isolation: object) -> dict[Any, Any]:
        requests.append((specs, isolation))
        return {TopicPartition("a", 0): "first", TopicPartition("b", 0): "second"}

    monkeypatch.setattr(f"{MODULE}.offsets_at_leaders", answer)
    a, b = TopicPartition("a", 0), TopicPartition("b", 0)
    found = read_offsets(admin(set()), dict.fromkeys((a, b), OffsetSpec.LATEST), leaders={a: 1, b: 2})
    assert found == {("a", 0): "first", ("b", 0): "second"}
    assert requests == [({1: {a: OffsetSpec.LATEST}, 2: {b: OffsetSpec.LATEST}}, IsolationLevel.READ_UNCOMMITTED)]


def test_offsets_of_a_leader_that_has_moved_are_requested_after_the_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    def moved(*_: object) -> dict[Any, Any]:
        raise NotLeaderForPartitionError

    monkeypatch.setattr(f"{MODULE}.offsets_at_leaders", moved)
    partition = TopicPartition("a", 0)
    found = read_offsets(admin({"a"}), {partition: OffsetSpec.LATEST}, leaders={partition: 1})
    assert found["a", 0].offset == 7
