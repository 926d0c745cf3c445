"""Test which groups a cluster lists, by protocol. The broker responses are written by hand."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.errors import GroupAuthorizationFailedError, IncompatibleBrokerVersion

from topicwarden.kafka.read import consumer_groups as kafka_groups
from topicwarden.kafka.read import member_groups, streams_groups
from topicwarden.kafka.read.consumer_groups import read_groups
from topicwarden.kafka.read.member_groups import GroupDescription, describe_classic_groups, describe_consumer_groups
from topicwarden.kafka.read.streams_groups import describe_streams_groups


class Listing:
    """An Admin client of a cluster that lists two share groups and a Kafka Connect group."""

    def list_groups(self) -> list[dict[str, Any]]:
        return [
            {"group_id": "by-type", "protocol_type": "", "group_state": "Stable", "group_type": "share"},
            {"group_id": "by-protocol", "protocol_type": "share", "group_state": "Empty"},
            {"group_id": "connect", "protocol_type": "connect", "group_state": "Stable"},
        ]

    def list_group_offsets(self, names: list[str]) -> dict[str, Any]:
        return {name: {} for name in names}


def test_share_groups_are_named_without_read_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_groups, "start_offsets", lambda *_: {})
    groups = read_groups(Listing(), ["t"])
    assert [(group.name, group.share, group.hidden) for group in groups] == [
        ("by-protocol", True, False),
        ("by-type", True, False),
    ]


class Committing(Listing):
    """A cluster whose groups have no committed offsets: one with members, one without, and one that is hidden."""

    def list_groups(self) -> list[dict[str, Any]]:
        states = {"active": "Stable", "idle": "Empty", "sealed": "Stable"}
        return [{"group_id": name, "protocol_type": "consumer", "group_state": state} for name, state in states.items()]

    def list_group_offsets(self, names: list[str]) -> dict[str, Any]:
        if "sealed" in names:
            raise GroupAuthorizationFailedError
        return {name: {} for name in names}


def test_an_active_group_that_nobody_describes_may_read_any_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_groups, "_described", lambda *_: {})
    found = read_groups(Committing(), ["t"])
    assert [(group.name, group.hidden, group.members) for group in found] == [
        ("active", True, None),
        ("sealed", True, None),
    ]


class Streaming(Listing):
    """A cluster with a streams group (KIP-1071), which is described by another request than consumer groups."""

    def list_groups(self) -> list[dict[str, Any]]:
        return [{"group_id": "app", "protocol_type": "streams", "group_state": "Stable", "group_type": "streams"}]


def test_a_streams_group_is_described_by_its_own_request(monkeypatch: pytest.MonkeyPatch) -> None:
    described = GroupDescription("Stable", 2, frozenset({("t", 0)}), streams=True)
    monkeypatch.setattr(kafka_groups, "describe_streams_groups", lambda _, names: dict.fromkeys(names, described))
    (group,) = read_groups(Streaming(), ["t"])
    assert (group.name, group.state, group.members, group.streams) == ("app", "Stable", 2, True)
    assert group.assigned == {("t", 0)}


def test_a_task_of_a_streams_group_reads_its_partition_of_every_source_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    subtopology = SimpleNamespace(
        subtopology_id="0",
        source_topics=["a", "b"],
        repartition_source_topics=[SimpleNamespace(name="app-repartition")],
    )
    tasks = [
        SimpleNamespace(subtopology_id="0", partitions=[1, 2]),
        SimpleNamespace(subtopology_id="9", partitions=[3]),
    ]
    member = SimpleNamespace(assignment=SimpleNamespace(active_tasks=tasks))
    known = {"group_id": "app", "error_code": 0, "group_state": "Stable", "members": [member]}
    groups = [
        SimpleNamespace(**known, topology=SimpleNamespace(subtopologies=[subtopology])),
        SimpleNamespace(**{**known, "group_id": "starting"}, topology=None),
        SimpleNamespace(**{**known, "group_id": "denied", "error_code": 30}, topology=None),
    ]
    monkeypatch.setattr(streams_groups, "send_to_coordinators", lambda *_: [SimpleNamespace(groups=groups)])
    found = describe_streams_groups(None, ["app", "starting", "denied"])
    assert found.keys() == {"app", "starting"}
    assert found["app"].assigned == {(topic, number) for topic in ("a", "b", "app-repartition") for number in (1, 2)}
    assert (found["starting"].members, found["starting"].assigned) == (1, frozenset())


class Describing(Listing):
    """A cluster that describes a group whose members have an assignment, a foreign one and none, and denies another."""

    def describe_groups(self, names: list[str]) -> dict[str, Any]:
        topics = [{"topic": "t", "partitions": [0, 2]}]
        assignments = [{"version": 0, "assigned_partitions": topics, "user_data": None}, b"\x07", b""]
        members = [{"member_id": str(number), "member_assignment": each} for number, each in enumerate(assignments)]
        described = {"group_state": "Stable", "protocol_data": "stream", "members": members, "error": None}
        return {"read": described, "denied": {**described, "error": "[Error 30] GROUP_AUTHORIZATION_FAILED"}}


def test_members_of_a_classic_group_read_their_assignments() -> None:
    found = describe_classic_groups(Describing(), ["read", "denied"])
    assert found == {"read": GroupDescription("Stable", 3, frozenset({("t", 0), ("t", 2)}), streams=True)}


@pytest.mark.parametrize("describe", [describe_classic_groups, describe_consumer_groups])
def test_groups_are_hidden_if_brokers_do_not_describe_them(
    describe: Callable[[Any, list[str]], dict[str, GroupDescription]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise IncompatibleBrokerVersion

    monkeypatch.setattr(member_groups, "send_to_coordinators", refuse)
    assert describe(SimpleNamespace(describe_groups=refuse), ["a"]) == {}
