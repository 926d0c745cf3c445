"""Who follows which topics, and how far each is from what is, or will soon be, gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from topicwarden.audit.collect.horizon import PartitionOf
from topicwarden.audit.collect.internal_topics import InternalTopic, candidates, recognised
from topicwarden.kafka.cluster import Cluster
from topicwarden.kafka.consumer_groups import ConsumerGroup
from topicwarden.kafka.snapshot import LiveTopic, Snapshot

SOON = 10
"""What expires within a tenth of the retention from now expires soon."""


@dataclass(frozen=True)
class GroupFollowing:
    """The groups that have committed offsets in one topic, and the borders in its partitions that matter to them.

    ``expiring`` has the offset before which every record expires soon, ``forgotten`` the one before which tombstones
    may have been removed, each where a group lags; ``ends`` where the log ended once the groups were known.
    ``complete`` is false where there may be groups that this user may not see.
    """

    groups: tuple[ConsumerGroup, ...] = ()
    ends: Mapping[int, int] = field(default_factory=dict)
    expiring: Mapping[int, int] = field(default_factory=dict)
    forgotten: Mapping[int, int] = field(default_factory=dict)
    complete: bool = True


@dataclass(frozen=True)
class ClusterContext:
    """What is known of topics beside their records: what they are for, who follows them, which may not be read."""

    internal: Mapping[str, InternalTopic] = field(default_factory=dict)
    following: Mapping[str, GroupFollowing] = field(default_factory=dict)
    unreadable: frozenset[str] = frozenset()


def surroundings(cluster: Cluster, snapshot: Snapshot, topics: Mapping[str, LiveTopic]) -> ClusterContext:
    """Of ``topics``, in a bounded number of requests: groups as in ``kafka/consumer_groups.py``, and three for offsets.

    The groups are asked for after the snapshot, so that what is committed is no older than where the logs began.
    """
    groups = cluster.groups(snapshot.topics)  # of all: an application tells by its group which changelogs are its own
    newest_records = cluster.newest_records(held) if (held := candidates(topics)) else {}
    internal = recognised(topics, groups, {name: newest.keys for name, newest in newest_records.items()})
    return ClusterContext(internal, _following(cluster, snapshot, topics, groups), cluster.unreadable(snapshot, topics))


def _following(
    cluster: Cluster, snapshot: Snapshot, topics: Mapping[str, LiveTopic], groups: tuple[ConsumerGroup, ...]
) -> dict[str, GroupFollowing]:
    logs = {(name, number): log for name, live in topics.items() for number, log in live.extents.items()}
    lowest: dict[PartitionOf, int] = {}
    for group in groups:
        for place, offset in group.offsets.items():
            if place in logs:
                lowest[place] = min(offset, lowest.get(place, offset))
    beyond = {
        place for group in groups for place, at in group.offsets.items() if place in logs and at > logs[place].end
    }
    lagging = {place: topics[place[0]].topic for place, at in lowest.items() if at < logs[place].end}
    now = snapshot.taken_at
    expiring = {
        place: now - retention + retention // SOON
        for place, topic in lagging.items()
        if (retention := topic.retention_time) is not None
    }
    forgotten = {
        place: now - kept
        for place, topic in lagging.items()
        if topic.compacted and (kept := topic.number("delete.retention.ms")) is not None
    }

    def borders(times: Mapping[PartitionOf, int]) -> dict[PartitionOf, int]:
        found = cluster.first_offsets_at(times)
        return {place: found[place][0] if place in found else logs[place].end for place in times}

    expire, forget, ends = borders(expiring), borders(forgotten), cluster.log_ends(beyond)
    complete = snapshot.cluster_described and not any(group.hidden for group in groups)

    def of(name: str, places: Mapping[PartitionOf, int]) -> dict[int, int]:
        return {number: at for (topic, number), at in places.items() if topic == name}

    return {
        name: GroupFollowing(
            tuple(group for group in groups if name in group.topics),
            ends={number: log.end for number, log in live.extents.items()} | of(name, ends),
            expiring=of(name, expire),
            forgotten=of(name, forget),
            complete=complete,
        )
        for name, live in topics.items()
    }
