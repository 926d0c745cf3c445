"""Lists the access control lists (ACLs) of a cluster with one request (KIP-117, KIP-290), by the protocol's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kafka import KafkaAdminClient
from kafka.protocol.admin import DescribeAclsRequest

from topicwarden.kafka.connect.client_internals import send_to_broker
from topicwarden.kafka.connect.request_error import raise_if_refused
from topicwarden.model.access import Acl, Operation, PatternType, PermissionType, ResourceType

# kafka-python has fewer numbers: it lacks the operation TWO_PHASE_COMMIT (KIP-939).
ANY: Final = 1
"""Matches every value of a part, in a filter."""

OPERATIONS: Final[Mapping[Operation, int]] = {operation: number for number, operation in enumerate(Operation, 2)}
RESOURCE_TYPES: Final[Mapping[ResourceType, int]] = {kind: number for number, kind in enumerate(ResourceType, 2)}
PATTERN_TYPES: Final[Mapping[PatternType, int]] = {PatternType.LITERAL: 3, PatternType.PREFIXED: 4}
PERMISSIONS: Final[Mapping[PermissionType, int]] = {PermissionType.DENY: 2, PermissionType.ALLOW: 3}
_OPERATIONS: Final = {number: operation for operation, number in OPERATIONS.items()}
_TYPES: Final = {number: kind for kind, number in RESOURCE_TYPES.items()}
_PATTERNS: Final = {number: pattern for pattern, number in PATTERN_TYPES.items()}
_PERMISSIONS: Final = {number: permission for permission, number in PERMISSIONS.items()}


@dataclass(frozen=True)
class AclListing:
    """All ACLs of a cluster. ``unknown`` is the number of ACLs with a type or operation that this version lacks."""

    acls: frozenset[Acl]
    unknown: int


def list_acls(admin: KafkaAdminClient, broker: int | None = None) -> AclListing:
    """Return the ACLs that ``broker`` knows; None for any broker. Needs Describe on the Cluster resource.

    Raises KafkaError, such as SecurityDisabledError if the broker has no authorizer.
    """
    everything = DescribeAclsRequest(
        resource_type_filter=ANY,
        resource_name_filter=None,
        pattern_type_filter=ANY,
        principal_filter=None,
        host_filter=None,
        operation=ANY,
        permission_type=ANY,
    )
    answer = send_to_broker(admin, everything, broker)
    raise_if_refused(answer)
    acls: list[Acl] = []
    unknown = 0
    for resource in answer.resources:
        kind, pattern = _TYPES.get(resource.resource_type), _PATTERNS.get(resource.pattern_type)
        for acl in resource.acls:
            operation, permission = _OPERATIONS.get(acl.operation), _PERMISSIONS.get(acl.permission_type)
            if kind is None or pattern is None or operation is None or permission is None:
                unknown += 1
                continue
            acls.append(Acl(acl.principal, acl.host, operation, permission, kind, resource.resource_name, pattern))
    return AclListing(frozenset(acls), unknown)
