"""Test that the evidence of many topics is sorted once, and not searched again for each topic."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from topicwarden.kinds.topic.evidence import RequiredEvidence, gather

TOPICS = ("a", "b", "c")


class CountedGroup:
    """A consumer group that counts how often its topics are computed."""

    share, hidden, offsets = False, False, {("a", 0): 1}

    def __init__(self, *topics: str) -> None:
        self._topics, self.computed = topics, 0

    @property
    def topics(self) -> frozenset[str]:
        self.computed += 1
        return frozenset(self._topics)


def test_each_topic_gets_its_own_evidence_and_the_topics_of_a_group_are_computed_once() -> None:
    groups: Any = (CountedGroup("a", "b"), CountedGroup("b"), CountedGroup("elsewhere"))
    cluster: Any = SimpleNamespace(
        groups=lambda *_: groups,
        local_starts=lambda partitions: {each: 7 + each[1] for each in partitions},
        largest_batches=lambda _, topics: {(name, 0): len(name) for name in topics},
        newest_records=lambda _: {},
        first_offsets_at=lambda _: {},
    )
    log = SimpleNamespace(start=0, end=5)
    snapshot: Any = SimpleNamespace(
        topics={name: SimpleNamespace(extents={0: log, 1: log}) for name in TOPICS}, cluster_described=True
    )
    every = RequiredEvidence(groups=True, local=True, batches=True)
    found = gather(cluster, snapshot, {"a": every, "b": every, "c": RequiredEvidence()})
    assert {name: each.groups for name, each in found.items()} == {"a": groups[:1], "b": groups[:2], "c": ()}
    assert {name: each.local_starts for name, each in found.items()} == {"a": {0: 7, 1: 8}, "b": {0: 7, 1: 8}, "c": {}}
    assert [found[name].largest_batches for name in TOPICS] == [{0: 1}, {0: 1}, {}]
    assert {group.computed for group in groups} == {1}
