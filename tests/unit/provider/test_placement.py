"""Test that the replicas of new topics need no rebalance."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from topicwarden.kafka.read.snapshot import PartitionReplicas
from topicwarden.plan.placement.broker_choice import is_placed, racks_of
from topicwarden.plan.placement.new_topic import NewTopicPlacement


@given(
    racks=st.dictionaries(st.integers(0, 9), st.sampled_from(["a", "b", "c", None]), min_size=1),
    topics=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 4)), max_size=6),
)
def test_every_partition_is_placed_as_a_rebalance_would_place_it(
    racks: dict[int, str | None], topics: list[tuple[int, int]]
) -> None:
    placement = NewTopicPlacement(racks_of(racks), existing=[])
    for partitions, factor in topics:
        placed = placement.place(partitions, factor)
        assert len(placed) == (partitions if factor <= len(racks) else 0)
        for number, brokers in enumerate(placed):
            assert len(set(brokers)) == factor
            assert is_placed(PartitionReplicas(number, brokers[0], brokers, brokers), factor, racks_of(racks))


def test_replicas_and_leaders_are_spread_evenly_over_brokers_and_topics() -> None:
    placement = NewTopicPlacement({1: "a", 2: "b", 3: "c"}, existing=[])
    placed = [brokers for _ in range(20) for brokers in placement.place(partitions=3, factor=2)]
    assert set(Counter(broker for brokers in placed for broker in brokers).values()) == {40}
    assert set(Counter(brokers[0] for brokers in placed).values()) == {20}


def test_brokers_with_fewer_replicas_come_first() -> None:
    placement = NewTopicPlacement({1: "a", 2: "b", 3: "c"}, existing=[(1, 2)] * 5)
    assert placement.place(partitions=1, factor=1) == ((3,),)
