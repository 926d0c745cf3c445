"""Test from which offsets on producers certainly knew today's number of partitions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import TypeAdapter

from tests.support.subjects import NOW, subject
from topicwarden.audit.history.partition_growth import partition_growth, proven_ends
from topicwarden.audit.history.topic_state import PartitionGrowth, PartitionState, TopicState
from topicwarden.kafka.read.snapshot import LiveTopic

HOUR = 3_600_000
DAY = 24 * HOUR


def live(partitions: int, end: int) -> LiveTopic:
    of = subject().live
    assert of
    extents = {number: replace(of.extents[0], end=end) for number in range(partitions)}
    return replace(of, topic=replace(of.topic, partitions=partitions), extents=extents)


def audits(*seen: tuple[int, int, int], margin: int = DAY) -> list[dict[int, int]]:
    """Return the proven ends that each audit leaves; ``seen``: its time, the number of partitions and their ends."""
    state, found = TopicState("c", "t", "id", 0, {}, {}, (), growth=PartitionGrowth(0, 0)), []
    for at, partitions, end in seen:
        growth = partition_growth(live(partitions, end), state, NOW + at, margin)
        state = replace(state, taken_at=NOW + at, growth=growth)
        found.append(proven_ends(growth, partitions, margin))
    return found


def test_an_end_counts_a_margin_after_the_first_audit_that_saw_todays_partitions() -> None:
    assert audits((0, 2, 5), (DAY - 1, 2, 6), (DAY, 2, 7)) == [{}, {}, {0: 7, 1: 7}]


def test_the_first_such_end_is_remembered_as_long_as_the_history() -> None:
    """Records behind it stay misplaced, whatever later audits see."""
    assert audits((0, 2, 5), (DAY, 2, 7), (2 * DAY, 2, 9), (90 * DAY, 2, 99))[1:] == [{0: 7, 1: 7}] * 3


def test_new_partitions_start_the_time_again() -> None:
    assert audits((0, 2, 5), (DAY, 2, 7), (DAY + HOUR, 3, 9), (2 * DAY, 3, 10))[2:] == [{}, {}]
    assert audits((0, 2, 5), (HOUR, 3, 7), (DAY + HOUR, 3, 9))[-1] == {0: 9, 1: 9, 2: 9}


def test_a_clock_that_went_backwards_starts_the_time_again() -> None:
    assert audits((DAY, 2, 5), (0, 2, 6), (DAY - 1, 2, 7), (DAY, 2, 8)) == [{}, {}, {}, {0: 8, 1: 8}]


def test_a_longer_margin_is_not_proven_by_a_shorter_one() -> None:
    growth = PartitionGrowth(2, NOW, HOUR, {0: 7, 1: 7})
    assert proven_ends(growth, 2, HOUR) == {0: 7, 1: 7}
    assert proven_ends(growth, 2, DAY) == proven_ends(growth, 3, HOUR) == proven_ends(None, 2, HOUR) == {}


def test_a_partition_that_had_no_leader_gets_its_end_later() -> None:
    growth = PartitionGrowth(2, NOW, DAY, {0: 7})
    state = TopicState("c", "t", "id", NOW, {}, {}, (), growth=growth)
    assert partition_growth(live(2, 9), state, NOW + 2 * DAY, DAY).ends == {0: 7, 1: 9}


@pytest.mark.parametrize(("saved", "since"), [(2, NOW - DAY), (1, NOW)])
def test_the_state_of_an_earlier_version_counts_if_it_has_as_many_partitions(saved: int, since: int) -> None:
    partitions = tuple(PartitionState(number, 0, 5, 5, None, 1, 1, 0) for number in range(saved))
    state = TopicState("c", "t", "id", NOW - DAY, {}, {}, partitions)
    assert partition_growth(live(2, 9), state, NOW, DAY).since == since


def test_the_history_keeps_it() -> None:
    states = TypeAdapter(list[TopicState])
    state = TopicState("c", "t", "id", NOW, {}, {}, (), growth=PartitionGrowth(2, NOW, DAY, {0: 7, 1: 8}))
    assert states.validate_json(states.dump_json([state])) == [state]
