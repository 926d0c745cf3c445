"""The operations that each type of resource supports, what an ACL implies, and what the requests of clients require.

Sources: ``AclEntry.supportedOperations``, ``StandardAuthorizerData.findResult``, ``AclAuthorizer.authorizeAction``; of
requests, ``KafkaApis``, and the authorization table of KIP-11. A Kafka client sends all requests of its row, so it
stops when its principal loses any one of these operations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

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


def implied_operations(operation: Operation, resource_type: ResourceType) -> tuple[Operation, ...]:
    """Return the operations that an ACL which allows ``operation`` allows too, without ``operation`` itself."""
    allowed = (each for each in SUPPORTED_OPERATIONS[resource_type] if operation in ALLOWED_BY[each])
    return tuple(each for each in allowed if each is not operation)


_Needs: TypeAlias = tuple[tuple[Operation, ResourceType], ...]
_READ_GROUP: Final = (Operation.READ, ResourceType.GROUP)
_DESCRIBE_GROUP: Final = (Operation.DESCRIBE, ResourceType.GROUP)
_READ_TOPIC: Final = (Operation.READ, ResourceType.TOPIC)
_WRITE_TOPIC: Final = (Operation.WRITE, ResourceType.TOPIC)
_DESCRIBE_TOPIC: Final = (Operation.DESCRIBE, ResourceType.TOPIC)
_WRITE_ID: Final = (Operation.WRITE, ResourceType.TRANSACTIONAL_ID)
_DESCRIBE_ID: Final = (Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID)

_FIND_GROUP, _FIND_TRANSACTION = "group", "transaction"


@dataclass(frozen=True)
class ApiKey:
    """An API key. ``key_type`` is the key type of FindCoordinator, which decides what the request needs."""

    number: int
    key_type: str = ""


REQUIRED: Final[Mapping[ApiKey, _Needs]] = {
    ApiKey(0): (_WRITE_TOPIC,),  # Produce
    ApiKey(1): (_READ_TOPIC,),  # Fetch, of a consumer
    ApiKey(2): (_DESCRIBE_TOPIC,),  # ListOffsets
    ApiKey(3): (_DESCRIBE_TOPIC,),  # Metadata
    ApiKey(8): (_READ_GROUP, _READ_TOPIC),  # OffsetCommit
    ApiKey(9): (_DESCRIBE_GROUP, _DESCRIBE_TOPIC),  # OffsetFetch
    ApiKey(10, _FIND_GROUP): (_DESCRIBE_GROUP,),  # FindCoordinator
    ApiKey(10, _FIND_TRANSACTION): (_DESCRIBE_ID,),
    ApiKey(11): (_READ_GROUP,),  # JoinGroup
    ApiKey(12): (_READ_GROUP,),  # Heartbeat
    ApiKey(14): (_READ_GROUP,),  # SyncGroup
    ApiKey(22): (_WRITE_ID,),  # InitProducerId, with a transactional id
    ApiKey(23): (_DESCRIBE_TOPIC,),  # OffsetForLeaderEpoch
    ApiKey(24): (_WRITE_ID, _WRITE_TOPIC),  # AddPartitionsToTxn
    ApiKey(26): (_WRITE_ID,),  # EndTxn
    ApiKey(68): (_READ_GROUP, _DESCRIBE_TOPIC),  # ConsumerGroupHeartbeat (KIP-848)
    ApiKey(76): (_READ_GROUP, _DESCRIBE_TOPIC),  # ShareGroupHeartbeat (KIP-932)
    ApiKey(78): (_READ_GROUP, _READ_TOPIC),  # ShareFetch
    ApiKey(79): (_READ_GROUP, _READ_TOPIC),  # ShareAcknowledge
    ApiKey(88): (_READ_GROUP, _DESCRIBE_TOPIC),  # StreamsGroupHeartbeat (KIP-1071)
}
"""The operations that a request needs on the resources that it names, without those of rare options."""

_FINDS_GROUP, _FINDS_ID = ApiKey(10, _FIND_GROUP), ApiKey(10, _FIND_TRANSACTION)


class ClientKind(Enum):
    """The kinds of clients that brokers show, with the API keys of the requests that each of them sends."""

    CONSUMER = (*map(ApiKey, (1, 2, 3, 8, 9, 11, 12, 14, 23)), _FINDS_GROUP)
    """A member of a group by the classic or the new protocol, or a consumer with ``assign()`` that commits."""
    SHARE_CONSUMER = (*map(ApiKey, (3, 76, 78, 79)), _FINDS_GROUP)
    CONNECT_WORKER = (*map(ApiKey, (11, 12, 14)), _FINDS_GROUP)
    """A member of a Connect cluster's group, which has no topics."""
    PRODUCER = tuple(map(ApiKey, (0, 3)))
    TRANSACTIONAL_PRODUCER = (*map(ApiKey, (0, 3, 22, 24, 26)), _FINDS_ID)

    def operations(self, resource_type: ResourceType) -> tuple[Operation, ...]:
        """Return the operations that the client needs on its resources of this type, in the order of ``Operation``."""
        needed = {operation for key in self.value for operation, kind in REQUIRED[key] if kind is resource_type}
        return tuple(operation for operation in Operation if operation in needed)
