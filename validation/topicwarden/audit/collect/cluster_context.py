"""The purpose and the consumer groups of each topic, and the offsets before which records expire soon."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from topicwarden.audit.collect.horizon import TopicPartition
from topicwarden.audit.collect.internal_topics import InternalTopic, connect_candidates, recognise_internal_topics
from topicwarden.kafka.read.group_lags import GroupLag, UnreadRecords, group_lags, unread_positions
from topicwarden.kafka.read.groups_by_topic import groups_by_topic
from topicwarden.kafka.read.snapshot import LiveTopic, Snapshot

if TYPE_CHECKING:
    from topicwarden.kafka.read.cluster import Cluster
    from topicwarden.kafka.read.consumer_groups import ConsumerGroup

SOON = 10
"""A record expires soon if it expires within a tenth of the retention time from now."""


@dataclass(frozen=True)
class GroupProgress:
    """The consumer groups with committed offsets in one topic, and the offsets by partition that matter to them.

    ``ends``: the log end offsets, read after the groups. ``expiring_before``: every record before this offset expires
    soon, if there is any. ``tombstones_removable_before``: tombstones before this offset may have been removed. The
    last two only have the partitions in which a group lags. ``complete`` is false if this user may not see all groups.
    """

    groups: tuple[ConsumerGroup, ...] = ()
    ends: Mapping[int, int] = field(default_factory=dict)
    expiring_before: Mapping[int, int] = field(default_factory=dict)
    tombstones_removable_before: Mapping[int, int] = field(default_factory=dict)
    complete: bool = True


@dataclass(frozen=True)
class ClusterContext:
    """Facts about topics from the cluster, besides their records.

    ``internal``: the internal topics and their roles. ``consumer_groups``: the groups of each topic. ``unreadable``:
    the topics that this user may not read. ``groups``: all groups of the cluster, whatever they read. ``group_lags``:
    what the groups of each readable topic have not read, by topic and group.
    """

    internal: Mapping[str, InternalTopic] = field(default_factory=dict)
    consumer_groups: Mapping[str, GroupProgress] = field(default_factory=dict)
    unreadable: frozenset[str] = frozenset()
    groups: tuple[ConsumerGroup, ...] = ()
    group_lags: Mapping[str, Mapping[str, GroupLag]] = field(default_factory=dict)


def read_cluster_context(cluster: Cluster, snapshot: Snapshot, topics: Mapping[str, LiveTopic]) -> ClusterContext:
    """Return the context of ``topics``.

    The number of requests is bounded: the group requests of ``kafka/read/consumer_groups.py``, three for offsets, and
    the fetches of ``kafka/read/single_records.py``.
    Groups are read after the snapshot, so that no committed offset is older than the log start offsets.
    """
    # Groups of all topics: a Kafka Streams application's group identifies its changelog topics.
    every = cluster.groups(snapshot.topics, lambda _: True)
    groups = tuple(group for group in every if _may_read(group, snapshot.topics))
    candidates = connect_candidates(topics)
    newest = cluster.newest_records(candidates) if candidates else {}
    samples = {name: records.sample for name, records in newest.items()}
    workers = any(samples.values()) and cluster.has_connect_workers()
    internal = recognise_internal_topics(topics, groups, samples, workers=workers)
    consumer_groups = _consumer_groups(cluster, snapshot, topics, groups)
    unreadable = cluster.unreadable(snapshot, topics)
    lags = _group_lags(cluster, snapshot, {name: topics[name] for name in topics.keys() - unreadable}, groups)
    return ClusterContext(internal, consumer_groups, unreadable, every, lags)


def _may_read(group: ConsumerGroup, topics: Collection[str]) -> bool:
    unknown = group.hidden or (group.share and not group.offsets)
    return unknown or not group.topics.isdisjoint(topics)


def _group_lags(
    cluster: Cluster, snapshot: Snapshot, topics: Mapping[str, LiveTopic], groups: tuple[ConsumerGroup, ...]
) -> dict[str, dict[str, GroupLag]]:
    positions = unread_positions(groups, topics)
    unread = cluster.unread_records(snapshot, positions) if positions else UnreadRecords()
    by_topic: dict[str, dict[str, GroupLag]] = {name: {} for name in topics}
    for (group, topic), lag in group_lags(groups, topics, unread).items():
        by_topic[topic][group] = lag
    return by_topic


def _consumer_groups(
    cluster: Cluster, snapshot: Snapshot, topics: Mapping[str, LiveTopic], groups: tuple[ConsumerGroup, ...]
) -> dict[str, GroupProgress]:
    logs = {(name, number): log for name, live in topics.items() for number, log in live.extents.items()}
    lowest: dict[TopicPartition, int] = {}
    for group in groups:
        for partition, offset in group.offsets.items():
            if partition in logs:
                lowest[partition] = min(offset, lowest.get(partition, offset))
    beyond_end = {
        partition
        for group in groups
        for partition, offset in group.offsets.items()
        if partition in logs and offset > logs[partition].end
    }
    lagging = {
        partition: topics[partition[0]].topic for partition, offset in lowest.items() if offset < logs[partition].end
    }
    now = snapshot.taken_at
    expiry_times = {
        partition: now - retention + retention // SOON
        for partition, topic in lagging.items()
        if (retention := topic.retention_time) is not None
    }
    tombstone_times = {
        partition: now - delete_retention
        for partition, topic in lagging.items()
        if topic.compacted and (delete_retention := topic.number("delete.retention.ms")) is not None
    }

    def first_offsets(times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        found = cluster.first_offsets_at(times)
        # Without any timestamp, the age of records is not known. A broker may report no record although there are some
        # (see audit/scan/timestamp_borders.py).
        older = {
            partition: logs[partition].end
            for partition, time in times.items()
            if (latest := logs[partition].latest_timestamp) is not None and latest < time
        }
        return older | {partition: offset for partition, (offset, _) in found.items()}

    expiring, removable = _by_topic(first_offsets(expiry_times)), _by_topic(first_offsets(tombstone_times))
    ends = _by_topic(cluster.log_ends(beyond_end))
    complete = snapshot.cluster_described and not any(group.hidden for group in groups)
    groups_of = groups_by_topic(groups)
    return {
        name: GroupProgress(
            groups_of.get(name, ()),
            ends={number: log.end for number, log in live.extents.items()} | ends.get(name, {}),
            expiring_before=expiring.get(name, {}),
            tombstones_removable_before=removable.get(name, {}),
            complete=complete,
        )
        for name, live in topics.items()
    }


def _by_topic(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[int, int]]:
    found: dict[str, dict[int, int]] = {}
    for (topic, number), offset in offsets.items():
        found.setdefault(topic, {})[number] = offset
    return found
