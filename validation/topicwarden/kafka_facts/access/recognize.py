"""Recognise the roles in a set of ACLs: the reverse of ``roles``.

What no role says stays as operations on a resource, so that the result has exactly the same ACLs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from topicwarden.kafka_facts.access import roles
from topicwarden.kafka_facts.access.roles import NamePattern, StreamsApplication
from topicwarden.model.access import (
    Acl,
    Grant,
    Operation,
    OperationGrant,
    PatternType,
    PermissionType,
    ResourceType,
    TopicAccess,
)

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
            yield from roles.produce(name, grant)
        for grant in access.consume:
            yield from roles.consume(name, grant)
        for entry in access.acls:
            yield from roles.operations(entry, ResourceType.TOPIC, NamePattern(name))
    for application in recognized.applications.values():
        yield from roles.streams(application)
    for (resource_type, names), grants in recognized.operations.items():
        for entry in grants:
            yield from roles.operations(entry, resource_type, names)


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
            needed = set(roles.streams(application))
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
