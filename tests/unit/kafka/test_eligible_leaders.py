"""Test how eligible leader replicas are read page by page. The broker responses are written by hand."""

from __future__ import annotations

from typing import Any

from kafka.errors import UnsupportedVersionError

from topicwarden.kafka.read.eligible_leaders import eligible_leaders

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
