"""Test what is read of topics: descriptions, sizes of logs, and eligible leader replicas."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.errors import UnsupportedVersionError

from topicwarden.kafka.read.partition_extents import log_sizes
from topicwarden.kafka.read.snapshot_reads import eligible_leaders
from topicwarden.kafka.read.topic_reads import TopicProperties


@pytest.mark.parametrize(
    ("config", "same"),
    [
        ({"cleanup.policy": "compact,delete", "preallocate": "true"}, True),
        ({"cleanup.policy": "compact, delete", "preallocate": "TRUE"}, True),
        ({"cleanup.policy": "delete", "preallocate": "true"}, False),
        ({"cleanup.policy": "compact,delete"}, False),
        ({"cleanup.policy": "compact,delete", "preallocate": "true", "flush.ms": "1"}, False),
    ],
)
def test_settings_that_are_spelled_differently_are_the_same(config: dict[str, str], same: bool) -> None:
    live = TopicProperties(3, 2, {"cleanup.policy": "compact,delete", "preallocate": "true"})
    assert live.agrees(TopicProperties(3, 2, config)) is same
    assert not live.agrees(TopicProperties(4, 2, config))
    assert not live.agrees(TopicProperties(3, 1, config))


def test_a_setting_that_was_set_to_its_default_may_be_reported_as_not_set() -> None:
    live = TopicProperties(3, 2, {"segment.ms": "9"}, {"retention.ms": "604800000", "flush.ms": "1"})
    assert live.agrees(TopicProperties(3, 2, {"segment.ms": "9", "retention.ms": "604800000"}))
    assert live.agrees(TopicProperties(3, 2, {"segment.ms": "9"}))
    assert not live.agrees(TopicProperties(3, 2, {"segment.ms": "9", "retention.ms": "1"}))
    assert not live.agrees(TopicProperties(3, 2, {"retention.ms": "604800000"}))
    assert live.config_like({"retention.ms": "604800000"}) == {"segment.ms": "9", "retention.ms": "604800000"}
    assert live.config_like({"retention.ms": "1"}) == live.config_like({}) == {"segment.ms": "9"}


@pytest.mark.parametrize("order", [1, -1])
def test_the_incomplete_copy_on_another_disk_does_not_count(order: int) -> None:
    def directory(size: int, *, copy: bool) -> dict[str, Any]:
        partition = {"partition_index": 0, "partition_size": size, "offset_lag": 0, "is_future_key": copy}
        return {"error_code": 0, "log_dir": "/disk", "topics": [{"name": "orders", "partitions": [partition]}]}

    directories = [directory(5_000, copy=False), directory(17, copy=True)][::order]
    assert log_sizes([{"broker": 2, "log_dirs": directories}]) == {("orders", 0, 2): 5_000}


PAGES: dict[str | None, dict[str, Any]] = {
    None: {"topics": [("a", 0, [3, 2]), ("a", 1, None)], "next_cursor": {"topic_name": "a", "partition_index": 2}},
    "a": {"topics": [("a", 2, [1]), ("b", 0, None)], "next_cursor": None},
}


class Paging:
    """An Admin client whose answers have two partitions each."""

    def describe_topic_partitions(self, topics: list[str], limit: int, cursor: dict[str, Any] | None) -> dict[str, Any]:
        assert topics == ["a", "b"]
        page = PAGES[cursor["topic_name"] if cursor else None]
        partitions = [
            {"name": name, "partitions": [{"partition_index": number, "eligible_leader_replicas": brokers}]}
            for name, number, brokers in page["topics"]
        ]
        return {"topics": partitions, "next_cursor": page["next_cursor"]}


class Old:
    """An Admin client of brokers that do not know the request."""

    def describe_topic_partitions(self, *_: object) -> dict[str, Any]:
        raise UnsupportedVersionError


def test_every_page_is_read() -> None:
    assert eligible_leaders(Paging(), {"b", "a"}) == {("a", 0): (2, 3), ("a", 2): (1,)}


def test_brokers_that_do_not_know_the_request_have_none() -> None:
    assert eligible_leaders(Old(), ["a"]) == {}
    assert eligible_leaders(Old(), []) == {}
