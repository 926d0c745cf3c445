"""Read from the cluster what an audit needs to know before it reads any record."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from topicwarden.audit.collect.audited_subject import AuditedSubject
from topicwarden.audit.collect.changes_during_audit import changes_or_none
from topicwarden.audit.collect.cluster_context import ClusterContext, read_cluster_context
from topicwarden.audit.collect.horizon import Horizon, TopicPartition, horizons
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import Cluster, open_cluster
from topicwarden.kafka.read.snapshot import LiveTopic, Snapshot
from topicwarden.kafka.read.use_reads import ClusterUse
from topicwarden.kinds.group_config.change import requested_groups
from topicwarden.model.access import NO_ACCESS, WILDCARD, DeclaredAccess, LiveAccess, PatternType, ResourceType
from topicwarden.model.problem import Refusal

_MOST_ATTEMPTS = 3


@dataclass(frozen=True)
class Observation:
    """The cluster at the start of an audit.

    ``selected``: the live topics to audit, by name. ``readable``: those of them whose records this user may read, with
    their ``horizons``. ``access`` is None if the stack declares none. ``absent_topics``: names in ACLs that no
    topic has. ``use``: who uses the topics of the snapshot, by groups, transactions and producers.
    ``subjects``: the declared subjects of the selected topics, as the Schema Registry has them.
    """

    snapshot: Snapshot
    selected: Mapping[str, LiveTopic]
    context: ClusterContext
    readable: tuple[LiveTopic, ...]
    horizons: Mapping[TopicPartition, Horizon]
    access: LiveAccess | None = None
    absent_topics: frozenset[str] = frozenset()
    use: ClusterUse = field(default_factory=ClusterUse)
    subjects: Mapping[str, AuditedSubject] = field(default_factory=dict)

    def without_records(self, topics: Collection[str], partitions: Collection[TopicPartition] = ()) -> Observation:
        """Return this observation as if no record of some topics and partitions could be read."""
        snapshot = self.snapshot.without(partitions)
        return replace(
            self,
            snapshot=snapshot,
            readable=tuple(snapshot.topics[live.topic.name] for live in self.readable if live.topic.name not in topics),
            horizons={
                partition: horizon
                for partition, horizon in self.horizons.items()
                if partition[0] not in topics and partition not in partitions
            },
        )


def observe(
    connection: Connection,
    declared: Collection[str],
    selects: Callable[[str], bool],
    access: DeclaredAccess = NO_ACCESS,
    on_snapshot: Callable[[Snapshot], object] | None = None,
) -> Observation:
    """Return the cluster now. ``declared`` are the names of the declared topics; ``selects`` says which to audit.

    The access of the cluster is read only if the stack declares ``access``. ``on_snapshot`` receives each snapshot that
    is taken, before anything else is read.

    A topic that is deleted between two requests makes the second one fail; the cluster is then read again. Raises
    Refusal if the cluster is unreachable.
    """
    attempts = 0
    while True:
        attempts, snapshot = attempts + 1, None
        try:
            with open_cluster(connection) as cluster:
                snapshot = cluster.snapshot(expected=declared)
                if on_snapshot is not None:
                    on_snapshot(snapshot)
                selected = {name: topic for name, topic in snapshot.topics.items() if selects(name)}
                context = read_cluster_context(cluster, snapshot, selected)
                readable = tuple(topic for name, topic in selected.items() if name not in context.unreadable)
                use = cluster.use(snapshot, groups=context.groups)
                observed = Observation(
                    snapshot, selected, context, readable, horizons(cluster, snapshot, readable), use=use
                )
                return observed if access.empty else _with_access(cluster, observed, access)
        except Refusal:
            changes = snapshot and changes_or_none(connection, snapshot, snapshot.topics)
            if attempts == _MOST_ATTEMPTS or not changes:
                raise


def _with_access(cluster: Cluster, observed: Observation, declared: DeclaredAccess) -> Observation:
    live = cluster.access(requested_groups(declared))
    named = {
        acl.resource_name
        for acl in live.acls or ()
        if acl.resource_type is ResourceType.TOPIC and acl.pattern_type is PatternType.LITERAL
    }
    return replace(
        observed,
        access=live,
        absent_topics=cluster.absent_topics(named - observed.snapshot.topics.keys() - {WILDCARD}),
    )
