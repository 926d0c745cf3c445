"""Roles of applications: the complete and minimal set of ACLs that each one needs, and the roles in a set of ACLs.

Read and Write imply Describe, so no role names it. A topic that a role creates does not need Create on the cluster.
Sources: the tables of operations and protocols in Kafka's documentation of authorization, "ACL requirements" of Kafka
Connect, and "Required ACL setting" of Kafka Streams. What no role says stays as operations on a resource, so that a
recognised set has exactly the same ACLs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from topicwarden.model.access import (
    WILDCARD,
    Acl,
    Grant,
    Operation,
    OperationGrant,
    PatternType,
    PermissionType,
    ResourceType,
    TopicAccess,
)

SINK_GROUPS: Final = "connect-"
"""The start of the consumer groups of Kafka Connect's sink connectors; the name of the connector follows."""
LEADER_TRANSACTIONS: Final = "connect-cluster-"
"""The start of the transactional id of the leader of a Connect cluster; the group of the cluster follows."""


@dataclass(frozen=True, order=True)
class NamePattern:
    """A resource name, or with ``prefix`` the start of resource names."""

    name: str
    prefix: bool = False


@dataclass(frozen=True)
class StreamsApplication:
    """A Kafka Streams application: its topics, and whether it processes exactly once (``exactly_once_v2``)."""

    principal: str
    application_id: str
    inputs: tuple[NamePattern, ...] = ()
    outputs: tuple[NamePattern, ...] = ()
    exactly_once: bool = False
    host: str = WILDCARD


@dataclass(frozen=True)
class ConnectCluster:
    """A Kafka Connect cluster, whose connectors use the principal of its workers.

    ``reads`` are the topics of sink connectors, ``writes`` those of source connectors. ``exactly_once`` is
    ``exactly.once.source.support``.
    """

    principal: str
    group: str
    config_topic: str
    offset_topic: str
    status_topic: str
    reads: tuple[NamePattern, ...] = ()
    writes: tuple[NamePattern, ...] = ()
    exactly_once: bool = False
    host: str = WILDCARD


def produce(topic: str, grant: Grant) -> Iterator[Acl]:
    """Yield what a producer of ``topic`` needs. An idempotent producer needs no more since Kafka 3.0 (KIP-679)."""
    yield from _allow(grant, Operation.WRITE, ResourceType.TOPIC, NamePattern(topic))
    if grant.name is not None:
        name = NamePattern(grant.name, grant.prefix)
        yield from _allow(grant, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, name)


def consume(topic: str, grant: Grant) -> Iterator[Acl]:
    """Yield what a consumer of ``topic`` needs."""
    yield from _allow(grant, Operation.READ, ResourceType.TOPIC, NamePattern(topic))
    if grant.name is not None:
        yield from _allow(grant, Operation.READ, ResourceType.GROUP, NamePattern(grant.name, grant.prefix))


def streams(application: StreamsApplication) -> Iterator[Acl]:
    """Yield what a Kafka Streams application needs, with both of its group protocols.

    It creates, reads and writes its internal topics, ``<application id>-…-changelog`` and ``-repartition``, and deletes
    the processed records of the latter. With exactly-once, its transactional ids have the same start.
    """
    own = NamePattern(f"{application.application_id}-", prefix=True)
    for topic in application.inputs:
        yield from _allow(application, Operation.READ, ResourceType.TOPIC, topic)
    for topic in application.outputs:
        yield from _allow(application, Operation.WRITE, ResourceType.TOPIC, topic)
    for operation in (Operation.CREATE, Operation.READ, Operation.WRITE, Operation.DELETE):
        yield from _allow(application, operation, ResourceType.TOPIC, own)
    yield from _allow(application, Operation.READ, ResourceType.GROUP, NamePattern(application.application_id))
    if application.exactly_once:
        yield from _allow(application, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, own)


def connect(cluster: ConnectCluster) -> Iterator[Acl]:
    """Yield what the workers and the connectors of a Kafka Connect cluster need. Its three topics must exist."""
    yield from _allow(cluster, Operation.READ, ResourceType.GROUP, NamePattern(cluster.group))
    for topic in (cluster.config_topic, cluster.offset_topic, cluster.status_topic):
        for operation in (Operation.READ, Operation.WRITE):
            yield from _allow(cluster, operation, ResourceType.TOPIC, NamePattern(topic))
    for pattern in cluster.reads:
        yield from _allow(cluster, Operation.READ, ResourceType.TOPIC, pattern)
    if cluster.reads:
        yield from _allow(cluster, Operation.READ, ResourceType.GROUP, NamePattern(SINK_GROUPS, prefix=True))
    for pattern in cluster.writes:
        yield from _allow(cluster, Operation.WRITE, ResourceType.TOPIC, pattern)
    if cluster.exactly_once:
        leader, tasks = NamePattern(LEADER_TRANSACTIONS + cluster.group), NamePattern(f"{cluster.group}-", prefix=True)
        for name in (leader, tasks):
            yield from _allow(cluster, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, name)


def operations(grant: OperationGrant, resource_type: ResourceType, names: NamePattern) -> Iterator[Acl]:
    """Yield one ACL for each operation of ``grant`` on the resources with ``names``."""
    for operation in grant.operations:
        yield _acl(grant, operation, grant.permission, resource_type, names)


def _allow(
    holder: Grant | StreamsApplication | ConnectCluster,
    operation: Operation,
    resource_type: ResourceType,
    names: NamePattern,
) -> Iterator[Acl]:
    yield _acl(holder, operation, PermissionType.ALLOW, resource_type, names)


def _acl(
    holder: Grant | OperationGrant | StreamsApplication | ConnectCluster,
    operation: Operation,
    permission: PermissionType,
    resource_type: ResourceType,
    names: NamePattern,
) -> Acl:
    pattern_type = PatternType.PREFIXED if names.prefix else PatternType.LITERAL
    return Acl(holder.principal, holder.host, operation, permission, resource_type, names.name, pattern_type)


Holder: TypeAlias = tuple[str, str]
"""A principal and its host."""

_INTERNAL_TOPICS = frozenset({Operation.CREATE, Operation.READ, Operation.WRITE, Operation.DELETE})


@dataclass(frozen=True)
class RecognizedAccess:
    """The roles and operations of a set of ACLs.

    ``topics``: the access of each topic. ``applications``: Kafka Streams applications by application id; their inputs
    and outputs are grants of the topics. ``operations``: all others, by resource.
    """

    topics: Mapping[str, TopicAccess] = field(default_factory=dict)
    applications: Mapping[str, StreamsApplication] = field(default_factory=dict)
    operations: Mapping[tuple[ResourceType, NamePattern], tuple[OperationGrant, ...]] = field(default_factory=dict)


def recognize(acls: Collection[Acl], topics: Collection[str]) -> RecognizedAccess:
    """Return the roles in ``acls``. ``topics`` are the topics that get their own access; others stay operations.

    A role gets a group or a transactional id if its principal has exactly one from the same host: with several, the
    ACLs do not tell which belongs to which topic.
    """
    remaining = set(acls)
    applications = dict(_applications(remaining))
    produce: dict[str, list[Grant]] = defaultdict(list)
    consume: dict[str, list[Grant]] = defaultdict(list)
    for operation, named, grants in (
        (Operation.WRITE, ResourceType.TRANSACTIONAL_ID, produce),
        (Operation.READ, ResourceType.GROUP, consume),
    ):
        by_holder = _topics_by_holder(remaining, operation, topics)
        names = _names_by_holder(remaining, operation, named)
        for holder, of_topics in sorted(by_holder.items()):
            only = names[holder] if len(names[holder]) == 1 else []
            for acl in of_topics:
                name = NamePattern(only[0].resource_name, _prefixed(only[0])) if only else None
                grants[acl.resource_name].append(Grant(*holder, name.name, name.prefix) if name else Grant(*holder))
            remaining -= {*of_topics, *only}
    own = _grouped(acl for acl in remaining if _is_own(acl, topics))
    others = _grouped(acl for acl in remaining if not _is_own(acl, topics))
    operations = {names.name: grants for (_, names), grants in own.items()}
    return RecognizedAccess(
        topics={
            name: TopicAccess(tuple(produce[name]), tuple(consume[name]), operations.get(name, ()))
            for name in sorted({*produce, *consume, *operations})
        },
        applications=applications,
        operations=others,
    )


def expand(recognized: RecognizedAccess) -> frozenset[Acl]:
    """Return the ACLs of all roles and operations."""
    return frozenset(_expanded(recognized))


def _expanded(recognized: RecognizedAccess) -> Iterator[Acl]:
    for name, access in recognized.topics.items():
        for grant in access.produce:
            yield from produce(name, grant)
        for grant in access.consume:
            yield from consume(name, grant)
        for entry in access.acls:
            yield from operations(entry, ResourceType.TOPIC, NamePattern(name))
    for application in recognized.applications.values():
        yield from streams(application)
    for (resource_type, names), grants in recognized.operations.items():
        for entry in grants:
            yield from operations(entry, resource_type, names)


def _applications(remaining: set[Acl]) -> Iterator[tuple[str, StreamsApplication]]:
    """Yield the Kafka Streams applications whose ACLs are all in ``remaining``, and remove these from it."""
    candidates = sorted(
        {
            (acl.resource_name, acl.principal, acl.host)
            for acl in remaining
            if acl.resource_type is ResourceType.TOPIC
            and acl.operation in _INTERNAL_TOPICS
            and _prefixed(acl)
            and acl.resource_name.endswith("-")
            and len(acl.resource_name) > 1
        }
    )
    found: set[str] = set()
    for start, principal, host in candidates:
        application_id = start.removesuffix("-")
        for exactly_once in (True, False):
            application = StreamsApplication(principal, application_id, exactly_once=exactly_once, host=host)
            needed = set(streams(application))
            if needed <= remaining and application_id not in found:
                found.add(application_id)
                remaining -= needed
                yield application_id, application


def _topics_by_holder(acls: Iterable[Acl], operation: Operation, topics: Collection[str]) -> dict[Holder, list[Acl]]:
    found: dict[Holder, list[Acl]] = defaultdict(list)
    for acl in sorted(acls, key=_order):
        if acl.operation is operation and acl.permission is PermissionType.ALLOW and _is_own(acl, topics):
            found[acl.principal, acl.host].append(acl)
    return found


def _names_by_holder(acls: Iterable[Acl], operation: Operation, kind: ResourceType) -> defaultdict[Holder, list[Acl]]:
    found: defaultdict[Holder, list[Acl]] = defaultdict(list)
    for acl in acls:
        if acl.operation is operation and acl.permission is PermissionType.ALLOW and acl.resource_type is kind:
            found[acl.principal, acl.host].append(acl)
    return found


def _order(acl: Acl) -> tuple[str, ...]:
    """Return the parts by which ACLs are sorted; much faster than the comparison of dataclasses."""
    resource = acl.resource_type, acl.resource_name, acl.pattern_type
    return acl.principal, acl.host, acl.operation, acl.permission, *resource


def _is_own(acl: Acl, topics: Collection[str]) -> bool:
    """Return whether the ACL is about exactly one of ``topics``."""
    return acl.resource_type is ResourceType.TOPIC and not _prefixed(acl) and acl.resource_name in topics


def _prefixed(acl: Acl) -> bool:
    return acl.pattern_type is PatternType.PREFIXED


def _grouped(acls: Iterable[Acl]) -> dict[tuple[ResourceType, NamePattern], tuple[OperationGrant, ...]]:
    """Return the operations of each principal by resource, in one entry for each permission and host."""
    found: dict[tuple[ResourceType, NamePattern], dict[tuple[str, PermissionType, str], list[Operation]]] = {}
    for acl in sorted(acls, key=_order):
        resource = acl.resource_type, NamePattern(acl.resource_name, _prefixed(acl))
        holder = acl.principal, acl.permission, acl.host
        found.setdefault(resource, {}).setdefault(holder, []).append(acl.operation)
    return {
        resource: tuple(
            OperationGrant(principal, tuple(operations), permission, host)
            for (principal, permission, host), operations in grants.items()
        )
        for resource, grants in sorted(found.items())
    }
