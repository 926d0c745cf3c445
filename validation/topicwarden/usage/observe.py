"""One observation of the use of a cluster, as plain values: what brokers showed at one time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from topicwarden.kafka.read.snapshot import LiveTopic, Snapshot
from topicwarden.kafka.read.transactions import ProducerPosition, TopicProducers
from topicwarden.usage.cost import replica_bytes

if TYPE_CHECKING:
    from topicwarden.kafka.read.consumer_groups import ConsumerGroup
    from topicwarden.kafka.read.use_reads import ClusterUse


@dataclass(frozen=True)
class ObservedGroup:
    """A group that has committed offsets in a topic, or whose members read it.

    ``active``: members read or subscribe to the topic. ``committed``: the next offset to read by partition; the start
    offset of a share group.
    """

    name: str
    type: str = ""
    active: bool = False
    members: int | None = None
    hosts: frozenset[str] = frozenset()
    committed: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ObservedProducers:
    """The producers of one partition by producer id, and the epoch of the leader that reported them."""

    leader_epoch: int | None
    positions: Mapping[int, ProducerPosition] = field(default_factory=dict)


@dataclass(frozen=True)
class ObservedTopic:
    """One topic in an observation.

    - ``log_ends``: by partition, as far as brokers reported them.
    - ``replica_bytes``: the size on all replicas; None if the brokers did not report all sizes.
    - ``producers``: by partition; without the partitions whose producers could not be read.
    - ``transactional_ids``: by producer id, as far as they are known.
    - ``ongoing``: the transactional ids that have a transaction with this topic now.
    - ``sees_groups``, ``sees_producers``, ``sees_log_ends``: whether all of them were seen.
    - ``access``: the digest of the declared access; see ``AclUse.digest``.
    - ``deployed``: the digest of the live ACLs and of the scope of the stack; empty if they are not known.
    """

    topic: str
    topic_id: str
    log_ends: Mapping[int, int] = field(default_factory=dict)
    replica_bytes: int | None = None
    groups: tuple[ObservedGroup, ...] = ()
    producers: Mapping[int, ObservedProducers] = field(default_factory=dict)
    transactional_ids: Mapping[int, str] = field(default_factory=dict)
    ongoing: frozenset[str] = frozenset()
    sees_groups: bool = True
    sees_producers: bool = True
    sees_log_ends: bool = True
    access: str = ""
    deployed: str = ""


@dataclass(frozen=True)
class GroupState:
    """A group in an observation, whatever it reads. ``active``: it has members."""

    name: str
    type: str = ""
    active: bool = False
    topics: frozenset[str] = frozenset()


@dataclass(frozen=True)
class UseObservation:
    """The use of a cluster at one time (``taken_at``, ms); topics and groups by name."""

    cluster_id: str
    taken_at: int
    topics: Mapping[str, ObservedTopic] = field(default_factory=dict)
    groups: Mapping[str, GroupState] = field(default_factory=dict)


def observe_use(
    snapshot: Snapshot,
    use: ClusterUse,
    digest: Callable[[str], str] = lambda topic: "",
    deployed: Callable[[str], str] = lambda topic: "",
) -> UseObservation:
    """Return what ``snapshot`` and ``use`` show of all topics of the snapshot.

    ``digest`` returns the digest of a topic's declared access, ``deployed`` that of its live ACLs. The cluster must
    have an id.
    """
    by_topic: dict[str, list[ConsumerGroup]] = {}
    for group in use.groups:
        if not group.hidden:
            for topic in group.topics | group.subscribed:
                by_topic.setdefault(topic, []).append(group)
    transactional_ids = {each.producer_id: each.name for each in use.transactions.found}
    ongoing: dict[str, set[str]] = {}
    for transaction in use.transactions.found:
        if transaction.ongoing:
            for topic in transaction.topics:
                ongoing.setdefault(topic, set()).add(transaction.name)
    return UseObservation(
        snapshot.cluster_id or "",
        snapshot.taken_at,
        {
            name: _topic(
                live,
                by_topic.get(name, ()),
                use.producers.get(name) or TopicProducers(missing="not read"),
                transactional_ids,
                frozenset(ongoing.get(name, ())),
                sees_groups=not use.groups_missing,
                sees_transactions=not use.transactions_missing,
                access=digest(name),
                deployed=deployed(name),
            )
            for name, live in snapshot.topics.items()
        },
        {
            group.name: GroupState(group.name, group.type, group.active, group.topics | group.subscribed)
            for group in use.groups
            if not group.hidden
        },
    )


def _topic(
    live: LiveTopic,
    groups: Iterable[ConsumerGroup],
    producers: TopicProducers,
    transactional_ids: Mapping[int, str],
    ongoing: frozenset[str],
    *,
    sees_groups: bool,
    sees_transactions: bool,
    access: str,
    deployed: str,
) -> ObservedTopic:
    name, extents = live.topic.name, live.extents
    positions: dict[int, dict[int, ProducerPosition]] = {}
    for (partition, producer), position in producers.positions.items():
        positions.setdefault(partition, {})[producer] = position
    return ObservedTopic(
        topic=name,
        topic_id=live.id,
        log_ends={partition: extent.end for partition, extent in extents.items()},
        replica_bytes=replica_bytes(live),
        groups=tuple(_group(group, name) for group in groups),
        producers={}
        if producers.missing and not producers.unread
        else {
            state.partition: ObservedProducers(state.leader_epoch, positions.get(state.partition, {}))
            for state in live.replicas
            if state.partition not in producers.unread
        },
        transactional_ids={
            producer: transactional_ids[producer]
            for producer in producers.last_written
            if producer in transactional_ids
        },
        ongoing=ongoing,
        sees_groups=sees_groups,
        sees_producers=sees_transactions and not producers.missing,
        sees_log_ends=len(extents) == len(live.replicas),
        access=access,
        deployed=deployed,
    )


def _group(group: ConsumerGroup, topic: str) -> ObservedGroup:
    return ObservedGroup(
        group.name,
        group.type,
        active=topic in group.subscribed or topic in group.assigned_topics,
        members=group.members,
        hosts=group.hosts,
        committed=group.offsets_by_topic.get(topic, {}),
    )
