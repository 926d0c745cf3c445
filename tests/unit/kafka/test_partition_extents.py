"""Test that a topic that is deleted while offsets are read hides no other one."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest
from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import UnknownTopicOrPartitionError
from kafka.protocol.consumer import OffsetSpec

from topicwarden.kafka.read.partition_extents import read_extents, read_offsets
from topicwarden.kafka.read.snapshot import PartitionReplicas

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


@pytest.mark.parametrize("requests_before", range(4))
def test_the_extents_of_the_other_topics_are_read(requests_before: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicwarden.kafka.read.partition_extents._log_bytes", lambda *_: ({}, None))
    going = admin({*"ab"}, *[""] * requests_before, "a")
    extents, _, _ = read_extents(going, dict.fromkeys("ab", REPLICAS), [1])
    assert extents["b"][0].end == 7
    assert "a" not in extents
