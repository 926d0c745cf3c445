"""Test which groups a cluster lists, by protocol. The broker responses are written by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.errors import (
    GroupAuthorizationFailedError,
    GroupIdNotFoundError,
    IncompatibleBrokerVersion,
    KafkaConnectionError,
    KafkaError,
    NotCoordinatorError,
)
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from topicwarden.kafka.connect import request_errors
from topicwarden.kafka.read import consumer_groups
from topicwarden.kafka.read.consumer_groups import AllGroups, ConsumerGroup, read_all_groups, read_groups
from topicwarden.kafka.read.group_requests import classic_group, streams_group

DENIED = GroupAuthorizationFailedError.errno


def listed(name: str, protocol: str = "consumer", state: str = "Stable", kind: str = "") -> SimpleNamespace:
    return SimpleNamespace(group_id=name, protocol_type=protocol, group_state=state, group_type=kind)


def described(name: str, members: Sequence[Any] = (), error: int = 0, **more: Any) -> SimpleNamespace:
    parts = {"group_state": "Stable", "protocol_data": "range", "topology": None, **more}
    return SimpleNamespace(group_id=name, error_code=error, members=list(members), **parts)


def committed(name: str, offsets: Mapping[tuple[str, int], int] | None = None, error: int = 0) -> SimpleNamespace:
    topics = [
        SimpleNamespace(
            name=topic,
            partitions=[SimpleNamespace(partition_index=partition, committed_offset=offset, metadata="", error_code=0)],
        )
        for (topic, partition), offset in (offsets or {}).items()
    ]
    return SimpleNamespace(group_id=name, error_code=error, topics=topics)


class Brokers:
    """Brokers that list these groups, and answer requests about them.

    ``answers`` has, by the name of a request, its answers about groups or the error of the whole request. Groups
    without an answer are unknown to the request.
    """

    def __init__(self, groups: Mapping[int, Any], **answers: Any) -> None:
        self.groups, self.answers = groups, answers

    def send(self, _: object, requests: Mapping[int, Sequence[Any]]) -> dict[int, list[Any]]:
        return {broker: [self.answer(broker, request) for request in each] for broker, each in requests.items()}

    def answer(self, broker: int, request: Any) -> Any:
        kind = type(request).__name__.removesuffix("Request")
        answers = {"ListGroups": self.groups[broker], **self.answers}
        answer = answers.get(kind, IncompatibleBrokerVersion())
        if callable(answer):
            answer = answer()
        if isinstance(answer, KafkaError):
            return answer
        if name := getattr(request, "group_id", None):  # before Kafka 3.0
            (only,) = [group for group in answer if group.group_id == name]
            return SimpleNamespace(groups=(), error_code=only.error_code, topics=only.topics)
        names = requested(request)
        groups = answer if names is None else [group for group in answer if group.group_id in names]
        return SimpleNamespace(groups=groups, error_code=0)


def requested(request: Any) -> set[str] | None:
    names = getattr(request, "group_ids", None) or getattr(request, "groups", None)
    return None if names is None else {getattr(name, "group_id", name) for name in names}


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that reads all groups of brokers with these answers."""
    monkeypatch.setattr(consumer_groups, "fetches_offsets_of_several_groups", lambda _: True)
    monkeypatch.setattr(consumer_groups, "_PAUSE_S", 0)
    monkeypatch.setattr(consumer_groups, "_TIMEOUT_S", 1)
    monkeypatch.setattr(request_errors, "_TIMEOUT_S", 0)

    def read(groups: Mapping[int, Any], **answers: Any) -> AllGroups:
        monkeypatch.setattr(consumer_groups, "broker_ids", lambda _: sorted(groups))
        monkeypatch.setattr(consumer_groups, "send_to_brokers", Brokers(groups, **answers).send)
        return read_all_groups(None)

    return read


def test_share_groups_are_named_without_read_positions(answering: Any) -> None:
    answering(
        {1: [listed("by-type", "", kind="Share"), listed("by-protocol", "share", "Empty"), listed("c", "connect")]}
    )
    groups = read_groups(None, ["t"])
    assert [(group.name, group.type, group.share, group.hidden) for group in groups] == [
        ("by-protocol", "share", True, False),
        ("by-type", "share", True, False),
    ]
    assert [group.name for group in read_groups(None, ["t"], lambda name: name == "c")] == [
        "by-protocol",
        "by-type",
        "c",
    ]


def test_an_active_group_that_nobody_describes_may_read_any_topic(answering: Any) -> None:
    groups = [listed("active"), listed("idle", state="Empty"), listed("sealed"), listed("elsewhere")]
    offsets = [
        committed("active"),
        committed("idle"),
        committed("sealed", error=DENIED),
        committed("elsewhere", {("other", 0): 7}),
    ]
    read = answering({1: groups}, OffsetFetch=offsets)
    assert {group.name: (group.hidden, group.members) for group in read.groups} == {
        "active": (True, None),
        "elsewhere": (False, None),
        "idle": (False, 0),
        "sealed": (True, None),
    }
    assert {group.name: group.hidden for group in read_groups(None, ["t"])} == dict.fromkeys(
        ("active", "elsewhere", "sealed"), True
    )


def test_a_streams_group_is_described_by_its_own_request(answering: Any) -> None:
    subtopology = SimpleNamespace(subtopology_id="0", source_topics=["t"], repartition_source_topics=[])
    task = SimpleNamespace(subtopology_id="0", partitions=[0])
    member = SimpleNamespace(assignment=SimpleNamespace(active_tasks=[task]), client_host="/10.0.0.7")
    app = described("app", [member], topology=SimpleNamespace(subtopologies=[subtopology]))
    read = answering(
        {1: [listed("app", "streams", kind="Streams")]}, OffsetFetch=[committed("app")], StreamsGroupDescribe=[app]
    )
    (group,) = read.groups
    assert (group.name, group.state, group.members, group.streams, group.type) == ("app", "Stable", 1, True, "streams")
    assert (group.assigned, group.subscribed) == ({("t", 0)}, {"t"})


def test_a_task_of_a_streams_group_reads_its_partition_of_every_source_topic() -> None:
    subtopology = SimpleNamespace(
        subtopology_id="0",
        source_topics=["a", "b"],
        repartition_source_topics=[SimpleNamespace(name="app-repartition")],
    )
    tasks = [
        SimpleNamespace(subtopology_id="0", partitions=[1, 2]),
        SimpleNamespace(subtopology_id="9", partitions=[3]),
    ]
    member = SimpleNamespace(assignment=SimpleNamespace(active_tasks=tasks), client_host="/10.0.0.7")
    found = streams_group(described("app", [member], topology=SimpleNamespace(subtopologies=[subtopology])))
    assert found.assigned == {(topic, number) for topic in ("a", "b", "app-repartition") for number in (1, 2)}
    assert found.hosts == {"10.0.0.7"}
    starting = streams_group(described("starting", [member]))
    assert (starting.members, starting.assigned) == (1, frozenset())


def test_members_of_a_classic_group_read_their_assignments_and_any_client_may_send_any_bytes() -> None:
    part = ConsumerProtocolAssignment.TopicPartition(topic="t", partitions=[0, 2])
    assignment = ConsumerProtocolAssignment(assigned_partitions=[part], user_data=None).encode(version=0, header=True)
    subscription = ConsumerProtocolSubscription(topics=["t", "u"], user_data=None).encode(version=0, header=True)
    junk = (b"\x07", b"", b"\xff" * 40, b"\x00\x00\x7f\xff\xff\xff")
    members = [
        SimpleNamespace(member_metadata=metadata, member_assignment=assigned, client_host=f"/10.0.0.{number}")
        for number, (metadata, assigned) in enumerate([(subscription, assignment), *((each, each) for each in junk)])
    ]
    found = classic_group(described("read", members, protocol_data="stream"))
    assert (found.members, found.streams) == (5, True)
    assert found.assigned == {("t", 0), ("t", 2)}
    assert found.subscribed == {"t", "u"}
    assert found.hosts == {f"10.0.0.{number}" for number in range(5)}


def test_one_broken_broker_and_one_broken_group_do_not_stop_the_others(answering: Any) -> None:
    groups = [listed("good", state="Empty"), listed("denied", state="Empty"), listed("gone", state="Empty")]
    offsets = [
        committed("good", {("t", 0): 3}),
        committed("denied", error=DENIED),
        committed("gone", error=GroupIdNotFoundError.errno),
    ]
    read = answering({1: groups, 2: KafkaConnectionError("lost")}, OffsetFetch=offsets)
    assert [(group.name, group.hidden, group.offsets) for group in read.groups] == [
        ("good", False, {("t", 0): 3}),
        ("denied", True, {}),
    ]
    assert read.failures.keys() == {2}
    with pytest.raises(KafkaConnectionError):
        read_groups(None, ["t"])


def test_groups_are_read_again_while_their_coordinator_moves(answering: Any) -> None:
    answers = iter([[committed("g", error=NotCoordinatorError.errno)], [committed("g", {("t", 0): 3})]])
    read = answering({1: [listed("g", state="Empty")]}, OffsetFetch=lambda: next(answers))
    assert read.groups == (ConsumerGroup("g", "Empty", 0, {("t", 0): 3}),)


@pytest.mark.parametrize("several", [True, False], ids=["Kafka 3.0 and later", "before Kafka 3.0"])
def test_an_error_of_one_group_is_never_that_of_the_others(
    answering: Any, monkeypatch: pytest.MonkeyPatch, several: bool
) -> None:
    monkeypatch.setattr(consumer_groups, "fetches_offsets_of_several_groups", lambda _: several)
    monkeypatch.setattr(consumer_groups, "_TIMEOUT_S", 0.1)
    groups = [listed(name, state="Empty") for name in ("good", "denied", "gone", "moved")]
    offsets = [
        committed("good", {("t", 0): 3}),
        committed("denied", error=DENIED),
        committed("gone", error=GroupIdNotFoundError.errno),
        committed("moved", error=NotCoordinatorError.errno),
    ]
    read = answering({1: groups}, OffsetFetch=offsets)
    assert [(group.name, group.hidden) for group in read.groups] == [("good", False), ("denied", True), ("moved", True)]
    assert not read.failures


def test_a_group_whose_coordinator_moves_is_read_again_before_kafka_3(
    answering: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer_groups, "fetches_offsets_of_several_groups", lambda _: False)
    answers = iter([[committed("g", error=NotCoordinatorError.errno)], [committed("g", {("t", 0): 3})]])
    read = answering({1: [listed("g", state="Empty")]}, OffsetFetch=lambda: next(answers))
    assert read == AllGroups((ConsumerGroup("g", "Empty", 0, {("t", 0): 3}),))


def test_groups_are_hidden_if_brokers_do_not_describe_them(answering: Any) -> None:
    groups = [listed("classic"), listed("new", kind="Consumer"), listed("app", "streams")]
    read = answering({1: groups}, OffsetFetch=[committed("classic"), committed("new"), committed("app")])
    assert [(group.name, group.hidden) for group in read.groups] == [("app", True), ("classic", True), ("new", True)]
