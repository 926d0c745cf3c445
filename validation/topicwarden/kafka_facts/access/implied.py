"""The operations that each type of resource supports, and those that an ACL allows or denies beside its own.

Sources: ``AclEntry.supportedOperations``, ``StandardAuthorizerData.findResult``, ``AclAuthorizer.authorizeAction``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topicwarden.model.access import Operation, PermissionType, ResourceType

SUPPORTED_OPERATIONS: Final[Mapping[ResourceType, tuple[Operation, ...]]] = {
    ResourceType.TOPIC: (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (
        Operation.READ,
        Operation.DELETE,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.CLUSTER: (
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
    ),
    ResourceType.TRANSACTIONAL_ID: (Operation.WRITE, Operation.DESCRIBE, Operation.TWO_PHASE_COMMIT),
    ResourceType.DELEGATION_TOKEN: (Operation.DESCRIBE,),
    ResourceType.USER: (Operation.CREATE_TOKENS, Operation.DESCRIBE_TOKENS),
}
"""The operations of each type of resource, without ``All``, in the order of ``AclOperation``.

Kafka 3.9 has no settings of groups (KIP-848) and no ``TwoPhaseCommit`` (KIP-939). It ignores ACLs with them.
"""

_ALLOWS_ALSO: Final[Mapping[Operation, Operation]] = {
    Operation.READ: Operation.DESCRIBE,
    Operation.WRITE: Operation.DESCRIBE,
    Operation.DELETE: Operation.DESCRIBE,
    Operation.ALTER: Operation.DESCRIBE,
    Operation.ALTER_CONFIGS: Operation.DESCRIBE_CONFIGS,
}

ALLOWED_BY: Final[Mapping[Operation, tuple[Operation, ...]]] = {
    each: (each, Operation.ALL, *(granted for granted, implied in _ALLOWS_ALSO.items() if implied is each))
    for each in Operation
}
"""The operations of ACLs that allow an operation. An ACL denies only its own operation, and ``All`` every one."""


def covers(operation: Operation, permission: PermissionType, requested: Operation) -> bool:
    """Return whether an ACL with this operation and permission is about the ``requested`` operation.

    ``All`` is about every operation. Only an ACL that allows has implied operations: to deny Read does not deny
    Describe.
    """
    if permission is PermissionType.ALLOW:
        return operation in ALLOWED_BY[requested]
    return operation in (requested, Operation.ALL)


def covered_operations(
    operation: Operation, permission: PermissionType, resource_type: ResourceType
) -> tuple[Operation, ...]:
    """Return all operations on a resource that an ACL allows or denies. Empty if it has no effect."""
    return tuple(each for each in SUPPORTED_OPERATIONS[resource_type] if covers(operation, permission, each))


def implied_operations(operation: Operation, resource_type: ResourceType) -> tuple[Operation, ...]:
    """Return the operations that an ACL which allows ``operation`` allows too, without ``operation`` itself."""
    allowed = covered_operations(operation, PermissionType.ALLOW, resource_type)
    return tuple(each for each in allowed if each is not operation)
