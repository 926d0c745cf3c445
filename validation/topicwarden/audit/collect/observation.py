"""Read from the cluster what an audit needs to know before it reads any record."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from topicwarden.audit.collect.changes_during_audit import changes_or_none
from topicwarden.audit.collect.cluster_context import ClusterContext, read_cluster_context
from topicwarden.audit.collect.horizon import Horizon, TopicPartition, horizons
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.kafka.read.snapshot import LiveTopic, Snapshot
from topicwarden.model.problem import Refusal

_MOST_ATTEMPTS = 3


@dataclass(frozen=True)
class Observation:
    """The cluster at the start of an audit.

    ``selected``: the live topics to audit, by name. ``readable``: those of them whose records this user may read, with
    their ``horizons``.
    """

    snapshot: Snapshot
    selected: Mapping[str, LiveTopic]
    context: ClusterContext
    readable: tuple[LiveTopic, ...]
    horizons: Mapping[TopicPartition, Horizon]

    def without_records(self, topics: Collection[str], partitions: Collection[TopicPartition] = ()) -> Observation:
        """Return this observation as if no record of some topics and partitions could be read."""
        return replace(
            self,
            snapshot=self.snapshot.without(partitions),
            readable=tuple(
                self.snapshot.without(partitions).topics[live.topic.name]
                for live in self.readable
                if live.topic.name not in topics
            ),
            horizons={
                partition: horizon
                for partition, horizon in self.horizons.items()
                if partition[0] not in topics and partition not in partitions
            },
        )


def observe(connection: Connection, declared: Collection[str], selects: Callable[[str], bool]) -> Observation:
    """Return the cluster now. ``declared`` are the names of the declared topics; ``selects`` says which to audit.

    A topic that is deleted between two requests makes the second one fail; the cluster is then read again. Raises
    Refusal if the cluster is unreachable.
    """
    attempts = 0
    while True:
        attempts, snapshot = attempts + 1, None
        try:
            with open_cluster(connection) as cluster:
                snapshot = cluster.snapshot(expected=declared)
                selected = {name: topic for name, topic in snapshot.topics.items() if selects(name)}
                context = read_cluster_context(cluster, snapshot, selected)
                readable = tuple(topic for name, topic in selected.items() if name not in context.unreadable)
                return Observation(snapshot, selected, context, readable, horizons(cluster, snapshot, readable))
        except Refusal:
            changes = snapshot and changes_or_none(connection, snapshot, snapshot.topics)
            if attempts == _MOST_ATTEMPTS or not changes:
                raise
