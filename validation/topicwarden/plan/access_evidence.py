"""Reads who uses the access that changes: consumer groups, transactional ids and producers.

Nothing is read unless a change may take access away. Brokers never report the principal of a client.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from topicwarden.kafka.read.groups_by_topic import groups_by_topic
from topicwarden.kafka.read.snapshot import LiveTopic, Snapshot
from topicwarden.kafka.read.transactions import TopicProducers, Transaction, Transactions
from topicwarden.model.access import WILDCARD, Acl, Operation, PatternType, Resource, ResourceType
from topicwarden.plan.access_change import AccessChange
from topicwarden.plan.access_effects import changed_resources, may_take_away

if TYPE_CHECKING:
    from topicwarden.kafka.read.cluster import Cluster
    from topicwarden.kafka.read.consumer_groups import ConsumerGroup

_GROUPS_HIDDEN = "this user may not describe all consumer groups (Describe on Group)"
_TRANSACTIONS_HIDDEN = "this user may not describe all transactional ids (Describe on TransactionalId)"


@dataclass(frozen=True)
class AccessEvidence:
    """The clients of the resources that change.

    ``topics`` are the topics on which access may be taken away, as the brokers report them. ``lag`` is the number of
    offsets that a group has not read, by group, as far as it has committed offsets. ``rates`` are bytes per second by
    client and limit, where anything reports them; Kafka's Admin API does not. The texts say why something is not known.
    """

    topics: Mapping[str, LiveTopic] = field(default_factory=dict)
    groups: tuple[ConsumerGroup, ...] = ()
    lag: Mapping[str, int] = field(default_factory=dict)
    transactions: tuple[Transaction, ...] = ()
    producers: Mapping[str, TopicProducers] = field(default_factory=dict)
    rates: Mapping[tuple[tuple[tuple[str, str | None], ...], str], float] = field(default_factory=dict)
    groups_missing: str = ""
    transactions_missing: str = ""
    known: Mapping[ResourceType, Collection[str]] = field(default_factory=dict)
    """The names of existing resources that this user sees, by type."""
    of_rules: Mapping[str, Mapping[Any, Any]] = field(default_factory=dict)
    """The evidence that only one kind of consequence needs, by its name; see ``RULE_EVIDENCE``."""

    @cached_property
    def groups_of(self) -> Mapping[Resource, tuple[ConsumerGroup, ...]]:
        """The groups that read each topic, and those with the name of each group."""
        found = {Resource(ResourceType.TOPIC, name): each for name, each in groups_by_topic(self.groups).items()}
        for group in self.groups:
            named = Resource(ResourceType.GROUP, group.name)
            found[named] = (*found.get(named, ()), group)
        return found

    @cached_property
    def transactions_of(self) -> Mapping[Resource, tuple[Transaction, ...]]:
        """The transactional ids whose producers write to each topic, and those with each name, in order."""
        writing: dict[int, list[str]] = {}
        for topic, producers in self.producers.items():
            for producer in producers.last_written:
                writing.setdefault(producer, []).append(topic)
        found: dict[Resource, list[Transaction]] = {}
        for each in self.transactions:
            for topic in writing.get(each.producer_id, ()):
                found.setdefault(Resource(ResourceType.TOPIC, topic), []).append(each)
            found.setdefault(Resource(ResourceType.TRANSACTIONAL_ID, each.name), []).append(each)
        return {resource: tuple(transactions) for resource, transactions in found.items()}

    @cached_property
    def transactional_producers(self) -> frozenset[int]:
        """The producer ids of all transactional ids."""
        return frozenset(each.producer_id for each in self.transactions)


def gather_access(cluster: Cluster, snapshot: Snapshot, change: AccessChange) -> AccessEvidence:
    """Return who uses the access that ``change`` may take away. Sends no request if it changes no ACL."""
    if not change.changed_acls:
        return AccessEvidence()
    losing = [acl for acl in change.changed_acls if may_take_away(acl, change)]
    existing = cluster.topic_names() if any(map(_is_topic_pattern, change.changed_acls)) else frozenset()
    names = frozenset(each.name for each in _resources(change, {ResourceType.TOPIC: existing}, ResourceType.TOPIC))
    if not losing:
        return AccessEvidence(known={ResourceType.TOPIC: existing | snapshot.topics.keys()})
    lost = frozenset(filter(_matcher(losing, ResourceType.TOPIC), names))
    topics = cluster.snapshot(lost).topics if lost else {}
    groups = cluster.groups(topics, _matcher(losing, ResourceType.GROUP))
    written = {name: topics[name] for name in filter(_matcher(_of_writers(losing, change), ResourceType.TOPIC), topics)}
    producers = cluster.producers(written) if written else {}
    transactions = _transactions(cluster, snapshot, losing, producers)
    hidden = any(group.hidden for group in groups)
    return AccessEvidence(
        topics,
        tuple(group for group in groups if not group.hidden),
        _lag(cluster, groups),
        transactions.found,
        producers,
        groups_missing=_GROUPS_HIDDEN if hidden else "",
        transactions_missing=transactions.missing or (_TRANSACTIONS_HIDDEN if transactions.hidden else ""),
        known={
            ResourceType.TOPIC: existing | topics.keys() | snapshot.topics.keys(),
            ResourceType.GROUP: {group.name for group in groups},
            ResourceType.TRANSACTIONAL_ID: {each.name for each in transactions.found},
        },
    )


def _transactions(
    cluster: Cluster, snapshot: Snapshot, losing: Collection[Acl], producers: Mapping[str, TopicProducers]
) -> Transactions:
    """Return the transactional ids that lose access, and those whose producers write to topics that lose it."""
    ids = [acl for acl in losing if acl.resource_type is ResourceType.TRANSACTIONAL_ID]
    writers = {producer for each in producers.values() for producer in each.last_written}
    if not ids and not writers:
        return Transactions()
    # A prefix itself is asked for as well: the answer tells whether ids like it are hidden.
    names = {acl.resource_name for acl in ids if acl.resource_name != WILDCARD}
    matches = _matcher(ids, ResourceType.TRANSACTIONAL_ID)
    return cluster.transactions(snapshot, names, lambda name, producer: producer in writers or matches(name))


def _lag(cluster: Cluster, groups: Iterable[ConsumerGroup]) -> dict[str, int]:
    """Return the number of offsets that each active group has not read, in the partitions with committed offsets."""
    active = [group for group in groups if group.active and group.offsets and not group.share]
    ends = cluster.log_ends({partition for group in active for partition in group.offsets}) if active else {}
    return {
        group.name: sum(
            max(0, ends[partition] - offset) for partition, offset in group.offsets.items() if partition in ends
        )
        for group in active
    }


def _resources(
    change: AccessChange, known: Mapping[ResourceType, Collection[str]], kind: ResourceType
) -> Iterable[Resource]:
    return (resource for resource in changed_resources(change, known) if resource.type is kind)


def _matcher(acls: Iterable[Acl], kind: ResourceType) -> Callable[[str], bool]:
    """Return a function that tells whether one of ``acls`` is about the resource with a name."""
    names: dict[PatternType, set[str]] = {pattern: set() for pattern in PatternType}
    for acl in acls:
        if acl.resource_type is kind:
            names[acl.pattern_type].add(acl.resource_name)
    literal, prefixes = names[PatternType.LITERAL], tuple(names[PatternType.PREFIXED])
    return lambda name: WILDCARD in literal or name in literal or name.startswith(prefixes)


def _is_topic_pattern(acl: Acl) -> bool:
    return acl.resource_type is ResourceType.TOPIC and acl.is_pattern


def _of_writers(losing: Iterable[Acl], change: AccessChange) -> Iterable[Acl]:
    """Return the ACLs by which producers may lose a topic.

    The first ACL of a topic shuts out its producers, whatever the ACL allows.
    """
    writing = (Operation.WRITE, Operation.ALL)
    return (acl for acl in losing if acl.operation in writing or acl not in change.before)
