"""Reads the offsets and the sizes of partitions, of all partitions with the same requests."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import UnsupportedVersionError
from kafka.protocol.consumer import IsolationLevel, OffsetSpec

from topicwarden.kafka.read.snapshot import PartitionExtent, PartitionReplicas


def read_offsets(
    admin: KafkaAdminClient,
    specs: Mapping[TopicPartition, Any],
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
) -> dict[tuple[str, int], Any]:
    """Return ListOffsets' results by (topic, partition). ``specs`` are times (ms) or members of ``OffsetSpec``."""
    results = admin.list_partition_offsets(specs, isolation_level=isolation) if specs else {}
    return {(partition.topic, partition.partition): result for partition, result in results.items()}


def read_extents(
    admin: KafkaAdminClient, replicas: Mapping[str, tuple[PartitionReplicas, ...]], brokers: list[int]
) -> tuple[dict[str, dict[int, PartitionExtent]], dict[tuple[str, int, int], int]]:
    """Return the extents of all partitions with a leader, by topic, and the bytes of all logs on ``brokers``.

    The bytes are read last, by topic, partition and broker. They are empty if the cluster does not report them.
    """
    leaders = {
        TopicPartition(name, state.partition): state.leader
        for name, states in replicas.items()
        for state in states
        if state.leader is not None
    }
    start = read_offsets(admin, dict.fromkeys(leaders, OffsetSpec.EARLIEST))
    stable = read_offsets(admin, dict.fromkeys(leaders, OffsetSpec.LATEST), IsolationLevel.READ_COMMITTED)
    latest = _latest(admin, leaders)
    end = read_offsets(admin, dict.fromkeys(leaders, OffsetSpec.LATEST))
    sizes = _log_bytes(admin, brokers)
    extents: dict[str, dict[int, PartitionExtent]] = {}
    for (name, partition), leader in leaders.items():
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
        )
    return extents, sizes


def _latest(admin: KafkaAdminClient, partitions: Collection[TopicPartition]) -> dict[tuple[str, int], Any]:
    try:
        return read_offsets(admin, dict.fromkeys(partitions, OffsetSpec.MAX_TIMESTAMP))
    except UnsupportedVersionError:  # brokers before KIP-734: checks that need the timestamp are undecidable
        return {}


def _log_bytes(admin: KafkaAdminClient, brokers: list[int]) -> dict[tuple[str, int, int], int]:
    """Return bytes on disk by topic, partition and broker; empty if they are not reported.

    This is so without Describe on the Cluster resource, and on services without DescribeLogDirs.
    """
    try:
        return log_sizes(admin.describe_log_dirs(brokers=brokers))
    except UnsupportedVersionError:
        return {}


def log_sizes(responses: Iterable[Mapping[str, Any]]) -> dict[tuple[str, int, int], int]:
    """Return bytes on disk by topic, partition and broker, from responses to DescribeLogDirs (KIP-113).

    While a broker moves a replica to another of its disks, it reports the log twice. The incomplete copy is left out.
    """
    return {
        (topic["name"], partition["partition_index"], response["broker"]): partition["partition_size"]
        for response in responses
        for directory in response["log_dirs"]
        for topic in directory["topics"]
        for partition in topic["partitions"]
        if not partition["is_future_key"]
    }
