"""A cluster that asks who may do what: Kafka's own authorizer, with everyone anonymous."""

from __future__ import annotations

from collections.abc import Iterable

from kafka import KafkaAdminClient
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType

_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"

# The brokers enter the controller as a user of their own: before ACLs are loaded, only a super user may.
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "super.users": "User:controller",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
    "sasl.mechanism.controller.protocol": "PLAIN",
    "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.controller.plain.sasl.jaas.config": (
        f'{_MODULE} required username="controller" password="secret" user_controller="secret";'
    ),
}
"""What a broker's properties take: whatever no ACL speaks of is everyone's."""


def permit(admin: KafkaAdminClient, kind: ResourceType, name: str, operations: Iterable[ACLOperation]) -> None:
    """From now on anonymous users may do with a resource these ``operations`` only."""
    pattern = ResourcePattern(kind, name)
    admin.create_acls([ACL("User:ANONYMOUS", "*", op, ACLPermissionType.ALLOW, pattern) for op in operations])
