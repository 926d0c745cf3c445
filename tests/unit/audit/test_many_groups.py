"""Test that the time to collect and judge the groups of all topics grows with the topics, and not with their square."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pytest

from tests.support.subjects import NOW
from topicwarden.audit.collect.cluster_context import read_cluster_context
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.read.consumer_groups import ConsumerGroup
from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent, PartitionReplicas, Snapshot
from topicwarden.kinds.subject.records import RecordsOfTopics
from topicwarden.model.topic import Topic


class Counted(ConsumerGroup):
    """A group that counts how often somebody looks at its topics."""

    looks: ClassVar[int] = 0

    def __getattribute__(self, name: str) -> Any:
        Counted.looks += name == "topics"
        return super().__getattribute__(name)


class FakeCluster:
    """Returns these groups, and that records before offset 50 expire soon."""

    def __init__(self, groups: tuple[ConsumerGroup, ...]) -> None:
        self._groups = groups

    def groups(self, *_: Any) -> tuple[ConsumerGroup, ...]:
        return self._groups

    def unreadable(self, _: Snapshot, topics: Iterable[str]) -> frozenset[str]:
        return frozenset(topics)

    def first_offsets_at(self, times: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], tuple[int, int]]:
        return dict.fromkeys(times, (50, NOW))

    def log_ends(self, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        return dict.fromkeys(partitions, 120)


def topic(name: str) -> LiveTopic:
    return LiveTopic(
        Topic(name, 1, 1, {"cleanup.policy": "delete", "retention.ms": "604800000"}),
        f"id-{name}",
        {},
        (PartitionReplicas(0, 1, (1,), (1,), 1),),
        {0: PartitionExtent(0, 100, 100, NOW, 99, 1_000, 3_000)},
    )


def snapshot_of(number: int) -> Snapshot:
    return Snapshot("c", NOW, {1: ""}, {1: {}}, {f"t{each}": topic(f"t{each}") for each in range(number)})


def ratio(seconds: Callable[[int], float], few: int) -> float:
    """Return how many times as long four times as many take."""
    return min(seconds(4 * few) for _ in range(2)) / min(seconds(few) for _ in range(3))


def test_the_context_of_many_topics_with_a_group_each() -> None:
    def seconds(number: int) -> float:
        snapshot = snapshot_of(number)
        cluster = FakeCluster(
            tuple(ConsumerGroup(f"g{each}", "Stable", 1, {(f"t{each}", 0): 10 + 100 * each}) for each in range(number))
        )
        started = time.process_time()
        context = read_cluster_context(cast(Cluster, cluster), snapshot, snapshot.topics)
        taken = time.process_time() - started
        first, second = (context.consumer_groups[name] for name in ("t0", "t1"))
        assert [group.name for group in first.groups] == ["g0"]
        assert (first.ends, first.expiring_before, first.tombstones_removable_before) == ({0: 100}, {0: 50}, {})
        assert (second.ends, second.expiring_before) == ({0: 120}, {})
        return taken

    assert ratio(seconds, 500) < 8


def test_the_readers_of_topics_with_a_new_schema_are_found_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counted, "looks", 0)
    groups = tuple(Counted(f"g{each}", "Stable", 1, {(f"t{each}", 0): 10}) for each in range(20))
    snapshot, scans = snapshot_of(20), [SimpleNamespace(topic=f"t{each}") for each in range(20)]
    records = RecordsOfTopics(cast(Cluster, FakeCluster(groups)), snapshot, {}, cast(Any, None))
    readers = records._readers(cast(Any, scans), snapshot.topics)
    assert {name: [group.name for group in each.groups] for name, each in readers.items()} == {
        f"t{each}": [f"g{each}"] for each in range(20)
    }
    assert Counted.looks == 20
