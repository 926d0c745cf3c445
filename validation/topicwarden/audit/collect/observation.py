"""Read from the cluster what an audit needs to know before it reads any record."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from topicwarden.audit.collect.cluster_context import ClusterContext, read_cluster_context
from topicwarden.audit.collect.horizon import Horizon, TopicPartition, horizons
from topicwarden.kafka.cluster import open_cluster
from topicwarden.kafka.connection import Connection
from topicwarden.kafka.snapshot import LiveTopic, Snapshot


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


def observe(connection: Connection, declared: Collection[str], selects: Callable[[str], bool]) -> Observation:
    """Return the cluster now. ``declared`` are the names of the declared topics; ``selects`` says which to audit.

    Raises Refusal if the cluster is unreachable.
    """
    with open_cluster(connection) as cluster:
        snapshot = cluster.snapshot(expected=declared)
        selected = {name: topic for name, topic in snapshot.topics.items() if selects(name)}
        context = read_cluster_context(cluster, snapshot, selected)
        readable = tuple(topic for name, topic in selected.items() if name not in context.unreadable)
        return Observation(snapshot, selected, context, readable, horizons(cluster, snapshot, readable))
