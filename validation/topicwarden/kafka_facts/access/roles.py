"""Roles of applications, and the complete and minimal set of ACLs that each one needs.

Read and Write imply Describe, so no role names it. A topic that a role creates does not need Create on the cluster.
Sources: the tables of operations and protocols in Kafka's documentation of authorization, "ACL requirements" of Kafka
Connect, and "Required ACL setting" of Kafka Streams.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from topicwarden.model.access import (
    WILDCARD,
    Acl,
    Grant,
    Operation,
    OperationGrant,
    PatternType,
    PermissionType,
    ResourceType,
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
