"""Reads the eligible leader replicas of partitions (KIP-966)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import UnsupportedVersionError

_PARTITIONS_AT_ONCE = 2_000
"""Kafka's default of ``max.request.partition.size.limit``."""


def eligible_leaders(admin: KafkaAdminClient, topics: Collection[str]) -> dict[tuple[str, int], tuple[int, ...]]:
    """Return the brokers by (topic, partition) that are not in sync, but have every acknowledged record.

    Partitions without such brokers are left out. Empty if the brokers are older than Kafka 3.7 or run on ZooKeeper, or
    if the cluster does not have the feature ``eligible.leader.replicas.version``.
    """
    eligible: dict[tuple[str, int], tuple[int, ...]] = {}
    cursor: Any = None
    while topics:
        try:
            answer = admin.describe_topic_partitions(sorted(topics), _PARTITIONS_AT_ONCE, cursor)
        except UnsupportedVersionError:
            return {}
        eligible |= {
            (topic["name"], state["partition_index"]): tuple(sorted(state["eligible_leader_replicas"]))
            for topic in answer["topics"]
            for state in topic["partitions"]
            if state["eligible_leader_replicas"]
        }
        cursor = answer["next_cursor"]
        if cursor is None:
            break
    return eligible
