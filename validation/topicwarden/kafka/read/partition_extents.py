"""Reads the offsets and the sizes of partitions, of all partitions with the same requests."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import (
    ClusterAuthorizationFailedError,
    KafkaError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
)
from kafka.protocol.admin import DescribeLogDirsRequest
from kafka.protocol.consumer import IsolationLevel, OffsetForLeaderEpochRequest, OffsetSpec

from topicwarden.kafka.connect.client_internals import (
    describe_topics,
    offsets_at_leaders,
    send_to_broker,
    send_to_brokers,
)
from topicwarden.kafka.connect.request_errors import error_of_code
from topicwarden.kafka.read.snapshot import LogDirsAnswer, PartitionExtent, PartitionReplicas


def read_offsets(
    admin: KafkaAdminClient,
    specs: Mapping[TopicPartition, Any],
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    leaders: Mapping[TopicPartition, int] = MappingProxyType({}),
) -> dict[tuple[str, int], Any]:
    """Return ListOffsets' results by (topic, partition). ``specs`` are times (ms) or members of ``OffsetSpec``.

    Partitions that do not exist any more are left out, so that a topic that is deleted meanwhile hides no other one.
    ``leaders`` are those of all partitions, if they are known; if one has moved, the metadata is read as without them.
    """
    try:
        results = _results(admin, specs, isolation, leaders)
    except UnknownTopicOrPartitionError:
        existing = _existing(admin, specs)
        if len(existing) == len(specs):  # a broker did not know a new topic yet
            raise
        return read_offsets(admin, existing, isolation)
    return {(partition.topic, partition.partition): result for partition, result in results.items()}


def _results(
    admin: KafkaAdminClient,
    specs: Mapping[TopicPartition, Any],
    isolation: IsolationLevel,
    leaders: Mapping[TopicPartition, int],
) -> Mapping[TopicPartition, Any]:
    if not specs:
        return {}
    by_leader: dict[int, dict[TopicPartition, Any]] = {}
    for partition in leaders:
        by_leader.setdefault(leaders[partition], {})[partition] = specs[partition]
    if by_leader:
        with suppress(KafkaError):
            return offsets_at_leaders(admin, by_leader, isolation)
    return dict(admin.list_partition_offsets(specs, isolation_level=isolation))


def _existing(admin: KafkaAdminClient, specs: Mapping[TopicPartition, Any]) -> dict[TopicPartition, Any]:
    """Return the ``specs`` of the partitions that are on the cluster now."""
    described = describe_topics(admin, sorted({partition.topic for partition in specs}))
    there = {
        (topic["name"], state["partition_index"])
        for topic in described
        if topic["error_code"] != UnknownTopicOrPartitionError.errno
        for state in topic["partitions"]
    }
    return {partition: spec for partition, spec in specs.items() if tuple(partition) in there}


def read_extents(
    admin: KafkaAdminClient, replicas: Mapping[str, tuple[PartitionReplicas, ...]], brokers: list[int]
) -> tuple[dict[str, dict[int, PartitionExtent]], dict[tuple[str, int, int], int], LogDirsAnswer]:
    """Return the extents of all partitions with a leader, by topic, and the bytes of all logs on ``brokers``.

    Those of a topic that is deleted meanwhile are left out.
    The bytes are read last, by topic, partition and broker. The last value is how the brokers answered this request.
    """
    leaders = {
        TopicPartition(name, state.partition): state.leader
        for name, states in replicas.items()
        for state in states
        if state.leader is not None
    }
    placed = {(name, state.partition): state.replicas for name, states in replicas.items() for state in states}
    start = read_offsets(admin, dict.fromkeys(leaders, OffsetSpec.EARLIEST), leaders=leaders)
    stable = read_offsets(
        admin, dict.fromkeys(leaders, OffsetSpec.LATEST), IsolationLevel.READ_COMMITTED, leaders=leaders
    )
    latest = _latest(admin, leaders)
    end = read_offsets(admin, dict.fromkeys(leaders, OffsetSpec.LATEST), leaders=leaders)
    sizes, disk_moves, log_dirs = _log_bytes(admin, brokers)
    extents: dict[str, dict[int, PartitionExtent]] = {}
    for (name, partition), leader in leaders.items():
        if not all((name, partition) in offsets for offsets in (start, stable, end)):
            continue  # deleted meanwhile
        newest = latest.get((name, partition))
        if newest is not None and newest.offset < 0:  # no record has a timestamp
            newest = None
        extents.setdefault(name, {})[partition] = PartitionExtent(
            start=start[name, partition].offset,
            end=end[name, partition].offset,
            last_stable=stable[name, partition].offset,
            latest_timestamp=newest.timestamp if newest else None,
            latest_offset=newest.offset if newest else None,
            log_bytes=sizes.get((name, partition, leader)),
            replica_bytes=_replica_bytes(sizes, name, partition, placed[name, partition]),
            moves_between_disks=(name, partition, leader) in disk_moves,
        )
    return extents, sizes, log_dirs


def read_epoch_ends(
    admin: KafkaAdminClient, epochs: Mapping[tuple[str, int], int], leaders: Mapping[tuple[str, int], int]
) -> dict[tuple[str, int], int]:
    """Return where the leaders' logs end for each of ``epochs``: the offset of the first record of a later epoch.

    So all records before this offset are of this epoch or of earlier ones, which had one leader each (KIP-101,
    KIP-279). ``epochs`` and ``leaders``, the ids of brokers, are by topic and partition. Partitions whose leader does
    not know are left out.
    """
    of_topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    by_leader: dict[int, dict[str, list[Any]]] = {}
    for (topic, partition), epoch in epochs.items():
        requested = of_topic.OffsetForLeaderPartition(partition=partition, current_leader_epoch=-1, leader_epoch=epoch)
        by_leader.setdefault(leaders[topic, partition], {}).setdefault(topic, []).append(requested)
    requests = {
        broker: [
            OffsetForLeaderEpochRequest(
                replica_id=-1,
                topics=[of_topic(topic=topic, partitions=requested) for topic, requested in topics.items()],
            )
        ]
        for broker, topics in by_leader.items()
    }
    return {
        (topic.topic, partition.partition): partition.end_offset
        for answers in send_to_brokers(admin, requests).values()
        for answer in answers
        if not isinstance(answer, KafkaError)
        for topic in answer.topics
        for partition in topic.partitions
        if partition.error_code == 0 and partition.end_offset >= 0
    }


def _replica_bytes(
    sizes: Mapping[tuple[str, int, int], int], topic: str, partition: int, replicas: Collection[int]
) -> int | None:
    found = [sizes.get((topic, partition, broker)) for broker in replicas]
    return None if None in found else sum(size for size in found if size is not None)


def _latest(admin: KafkaAdminClient, leaders: Mapping[TopicPartition, int]) -> dict[tuple[str, int], Any]:
    try:
        return read_offsets(admin, dict.fromkeys(leaders, OffsetSpec.MAX_TIMESTAMP), leaders=leaders)
    except UnsupportedVersionError:  # brokers before KIP-734: checks that need the timestamp are undecidable
        return {}


def _log_bytes(
    admin: KafkaAdminClient, brokers: list[int]
) -> tuple[dict[tuple[str, int, int], int], Collection[tuple[str, int, int]], LogDirsAnswer]:
    """Return bytes on disk by topic, partition and broker, the logs that move to another disk, and the answer's errors.

    ``KafkaAdminClient.describe_log_dirs`` drops the error of the response.
    """
    try:
        answers = {broker: send_to_broker(admin, DescribeLogDirsRequest(topics=None), broker) for broker in brokers}
    except UnsupportedVersionError:
        return {}, (), LogDirsAnswer(supported=False)
    directories = {broker: [directory.to_dict() for directory in answer.results] for broker, answer in answers.items()}
    responses = [{"broker": broker, "log_dirs": found} for broker, found in directories.items()]
    errors = log_dirs_answer({broker: answer.error_code for broker, answer in answers.items()}, directories)
    return log_sizes(responses), log_sizes(responses, future=True).keys(), errors


def log_dirs_answer(
    codes: Mapping[int, int], directories: Mapping[int, Collection[Mapping[str, Any]]]
) -> LogDirsAnswer:
    """Return how the brokers answered, from the error code and the log directories of each broker's response.

    Brokers before Kafka 3.2 return no directory and no error if Describe on the Cluster resource is denied (KIP-784).
    """
    denied = ClusterAuthorizationFailedError.errno
    failed = {
        broker: code
        for broker, found in directories.items()
        for code in [codes[broker], *(directory["error_code"] for directory in found)]
        if code not in (0, denied)
    }
    return LogDirsAnswer(
        denied=any(codes[broker] == denied or not (found or codes[broker]) for broker, found in directories.items()),
        errors={broker: error_of_code(code, None).name for broker, code in failed.items()},
    )


def log_sizes(responses: Iterable[Mapping[str, Any]], *, future: bool = False) -> dict[tuple[str, int, int], int]:
    """Return bytes on disk by topic, partition and broker, from responses to DescribeLogDirs (KIP-113).

    While a broker moves a replica to another of its disks, it reports the log twice. The incomplete copies are left
    out, or with ``future`` only these are returned.
    """
    return {
        (topic["name"], partition["partition_index"], response["broker"]): partition["partition_size"]
        for response in responses
        for directory in response["log_dirs"]
        for topic in directory["topics"]
        for partition in topic["partitions"]
        if bool(partition["is_future_key"]) is future
    }
