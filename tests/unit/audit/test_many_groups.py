"""Test that the time to collect and judge the groups of all topics grows with the topics, and not with their square."""

from __future__ import annotations

import time
from collections import UserDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pytest

from tests.support.growth import MOST, growth
from tests.support.subjects import NOW, subject
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.checks.common.undeclared_use import _offsets
from topicwarden.audit.collect.cluster_context import GroupProgress, read_cluster_context
from topicwarden.audit.judge import results_of
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.read.consumer_groups import ConsumerGroup
from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent, PartitionReplicas, Snapshot
from topicwarden.kinds.subject.records import RecordsOfTopics
from topicwarden.kinds.topic.evidence import PlanEvidence
from topicwarden.model.topic import Topic
from topicwarden.model.usage import Use, UseAction, UserKind
from topicwarden.plan.consequence_text import reader_reasons
from topicwarden.usage.observe import _group


class Counted(ConsumerGroup):
    """A group that counts how often somebody looks at its topics."""

    looks: ClassVar[int] = 0

    def __getattribute__(self, name: str) -> Any:
        Counted.looks += name == "topics"
        return super().__getattribute__(name)


class CountedOffsets(UserDict[tuple[str, int], int]):
    """Committed offsets that count how often somebody goes through all of them."""

    passes = 0

    def __iter__(self) -> Iterator[tuple[str, int]]:
        self.passes += 1
        return super().__iter__()


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

    assert growth(seconds, 500) < MOST


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


def judged_lag(group: ConsumerGroup, live: LiveTopic) -> bool:
    of = replace(subject(), live=live, consumer_groups=GroupProgress((group,), {0: 100}))
    messages = [each.message for each in results_of(CHECKS["group-lag"], of) or ()]
    return messages == ["10 offsets are committed after the log end; most by group g: 10"]


def named_readers(group: ConsumerGroup, live: LiveTopic) -> bool:
    evidence = PlanEvidence(snapshot_of(1), groups=(group,))
    return any("1 visible consumer group (g)" in each for each in reader_reasons(evidence, live.topic.name, ()))


def described_user(group: ConsumerGroup, live: LiveTopic) -> bool:
    of = SimpleNamespace(live=live, consumer_groups=GroupProgress((group,)))
    return [*_offsets(cast(Any, of), Use(UseAction.READ, UserKind.GROUP, "g", 0))] == [
        "its committed offsets: 110 in partition 0"
    ]


def observed_group(group: ConsumerGroup, live: LiveTopic) -> bool:
    observed = _group(group, live.topic.name)
    return observed.active and observed.committed == {0: 110}


@pytest.mark.parametrize("of_topic", [judged_lag, named_readers, described_user, observed_group])
def test_the_offsets_of_a_group_are_not_searched_for_each_topic(
    of_topic: Callable[[ConsumerGroup, LiveTopic], bool],
) -> None:
    topics = snapshot_of(20).topics.values()
    offsets = CountedOffsets({(live.topic.name, 0): 110 for live in topics})
    group = ConsumerGroup("g", "Stable", 1, offsets, frozenset(offsets))
    offsets.passes = 0
    assert all(of_topic(group, live) for live in topics)
    assert offsets.passes == 1
