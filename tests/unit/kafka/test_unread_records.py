"""Test the lag of groups on plain values, and how a search of one partition goes on after each response."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.record import MemoryRecordsBuilder

from tests.support.subjects import NOW, subject
from topicwarden.kafka.read.consumer_groups import ConsumerGroup
from topicwarden.kafka.read.group_lags import (
    GroupLag,
    PartitionLag,
    UnreadRecord,
    UnreadRecords,
    group_lags,
    unread_groups,
    unread_positions,
)
from topicwarden.kafka.read.single_records import _PartitionSearch
from topicwarden.kafka.read.snapshot import LiveTopic
from topicwarden.kafka_facts.access.lag_limits import lag_limit, lag_limits
from topicwarden.model.access import Grant, TopicAccess
from topicwarden.model.contents import ConsumerContents, Contents
from topicwarden.model.topic import Topic

HOUR = 3_600_000
OLD = UnreadRecord(60, NOW - HOUR, True)


def live() -> dict[str, LiveTopic]:
    """Return the topic ``t``, whose log has the offsets 0 to 99."""
    topic = subject().live
    assert topic
    return {"t": topic}


def test_equal_positions_are_listed_once_and_read_or_unknown_partitions_not() -> None:
    groups = (
        ConsumerGroup("a", "Empty", 0, {("t", 0): 55, ("t", 7): 0, ("other", 0): 1}),
        ConsumerGroup("b", "Empty", 0, {("t", 0): 55}),
        ConsumerGroup("done", "Empty", 0, {("t", 0): 100}),
        ConsumerGroup("beyond", "Empty", 0, {("t", 0): 101}),
    )
    assert unread_positions(groups, live()) == {("t", 0, 55)}


def test_the_lag_of_a_group_is_in_offsets_and_by_the_oldest_record() -> None:
    groups = (
        ConsumerGroup("a", "Empty", 0, {("t", 0): 55}),
        ConsumerGroup("s", "Empty", None, {("t", 0): 55}, share=True),
        ConsumerGroup("done", "Empty", 0, {("t", 0): 100}),
    )
    lags = group_lags(groups, live(), UnreadRecords({("t", 0, 55): OLD}))
    assert lags["a", "t"] == GroupLag("a", "t", {0: PartitionLag(55, 45, OLD)})
    assert (lags["a", "t"].offsets, lags["a", "t"].age_ms(NOW)) == (45, HOUR)
    assert (lags["s", "t"].at_most, lags["s", "t"].offsets) == (True, 45)
    assert (lags["done", "t"].offsets, lags["done", "t"].age_ms(NOW)) == (0, 0)
    assert lags["a", "t"].expires_at(3 * HOUR) == NOW + 2 * HOUR
    assert (lags["a", "t"].expires_at(None), lags["done", "t"].expires_at(HOUR)) == (None, None)


@pytest.mark.parametrize(
    ("unread", "offsets", "age"),
    [
        (UnreadRecords({("t", 0, 55): None}), 0, 0),
        (UnreadRecords(unknown={("t", 0, 55): "no"}), 45, None),
        (UnreadRecords(), 45, None),
        (UnreadRecords({("t", 0, 55): UnreadRecord(60, -1, False)}), 45, None),
        (UnreadRecords({("t", 0, 55): UnreadRecord(60, NOW + HOUR, False)}), 45, 0),
    ],
    ids=["only markers", "unknown", "not asked", "without a timestamp", "in the future"],
)
def test_the_age_is_none_if_it_is_not_known(unread: UnreadRecords, offsets: int, age: int | None) -> None:
    lag = group_lags((ConsumerGroup("a", "Empty", 0, {("t", 0): 55}),), live(), unread)["a", "t"]
    assert (lag.offsets, lag.age_ms(NOW)) == (offsets, age)
    assert (lag.expires_at(0) is None) == (age != 0 or offsets == 0)


def response(*offsets: int, error: int = 0, end: int = 100, stable: int | None = None, damaged: bool = False) -> Any:
    """Return a fetch response with one batch for each of ``offsets``."""
    records = b""
    for offset in offsets:
        builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1 << 20, offset=offset)
        builder.append(1_000 + offset, b"k", b"v", [])
        builder.close()
        records += bytes(builder.buffer())
    if damaged:
        records = records[:-1] + b"\xff"
        records = records[:61] + b"\x01" + records[62:]
    last_stable = end if stable is None else stable
    return SimpleNamespace(
        error_code=error,
        records=records,
        aborted_transactions=None,
        high_watermark=end,
        last_stable_offset=last_stable,
    )


def take(search: _PartitionSearch, answer: Any, *, committed: bool = True, larger: bool = True) -> None:
    search.take(answer, committed=committed, larger=larger)


def found(search: _PartitionSearch) -> dict[int, int | None]:
    return {requested: None if record is None else record.offset for (_, _, requested), record in search.found.items()}


def test_one_response_settles_all_offsets_that_it_covers() -> None:
    search = _PartitionSearch("t", 0, [3, 5, 9])
    take(search, response(4, 6))
    assert (found(search), search.next) == ({3: 4, 5: 6}, {9: 9})
    take(search, response(end=9))
    assert found(search) == {3: 4, 5: 6, 9: None}


def test_a_response_without_a_batch_raises_the_limit_and_then_counts_as_a_failure() -> None:
    search = _PartitionSearch("t", 0, [3])
    for limit, larger in ((1, True), (2, True), (2, False)):
        take(search, response(), larger=larger)
        assert search.limit == limit
    for _ in range(4):
        take(search, response(), larger=False)
    assert search.unknown == {("t", 0, 3): "its leader returned no batch"}


def test_offsets_in_open_transactions_are_searched_again() -> None:
    search = _PartitionSearch("t", 0, [3])
    take(search, response(stable=3))
    assert (search.next, search.found) == ({}, {})
    search.search_open_transactions()
    take(search, response(3), committed=False)
    assert search.found == {("t", 0, 3): UnreadRecord(3, 1_003, False, 0, committed=False)}


def test_an_error_of_the_leader_is_repeated_and_then_reported() -> None:
    search = _PartitionSearch("t", 0, [3, 4])
    for _ in range(4):
        take(search, response(error=6))
    assert search.unknown == {}
    take(search, response(error=6))
    assert search.unknown == dict.fromkeys((("t", 0, 3), ("t", 0, 4)), "its leader returned NotLeaderForPartitionError")


def test_a_damaged_batch_only_hides_the_offset_that_needs_it() -> None:
    search = _PartitionSearch("t", 0, [3, 9])
    take(search, response(3, damaged=True))
    assert search.unknown == {("t", 0, 3): "its batch is damaged, too large, or has an unknown codec"}
    assert search.next == {9: 9}


def test_the_limit_of_a_group_is_the_closest_one() -> None:
    consume = (
        Grant("User:a", name="bill", prefix=True, max_lag=1),
        Grant("User:a", name="billing", prefix=True, max_lag=2),
        Grant("User:a", name="billing", max_lag=4),
        Grant("User:b", name="billing", max_lag=3),
        Grant("User:c", name="free"),
    )
    topic = Topic("t", 1, 1, access=TopicAccess(consume=consume))
    everyone = Topic("t", 1, 1, access=topic.access, contents=Contents(consumers=ConsumerContents(max_lag=9)))
    limits = {name: limit and limit.max_lag for name in _NAMES for limit in [lag_limit(topic, name)]}
    assert limits == {"billing": 3, "billing-x": 2, "bill": 1, "free": None, "other": None}
    assert [limit and limit.max_lag for limit in (lag_limit(everyone, "free"), lag_limit(everyone, "bill"))] == [9, 1]
    assert sorted(lag_limits(topic)) == [1, 2, 3, 4]
    assert sorted(lag_limits(everyone)) == [1, 2, 3, 4, 9]


_NAMES = ("billing", "billing-x", "bill", "free", "other")


def test_a_group_that_waits_for_an_open_transaction_has_no_record_to_read_for_certain() -> None:
    def lag(group: str, record: UnreadRecord | None, *, at_most: bool = False) -> GroupLag:
        return GroupLag(group, "t", {0: PartitionLag(55, 45, record)}, at_most)

    lags = [
        lag("behind", OLD),
        lag("waiting", replace(OLD, committed=False)),
        lag("nothing", None),
        lag("sharing", OLD, at_most=True),
    ]
    assert unread_groups(lags) == {"behind"}
