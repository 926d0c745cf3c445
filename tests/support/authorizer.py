"""Configure a cluster that enforces ACLs: it uses Kafka's own authorizer, and all clients are anonymous."""

from __future__ import annotations

from collections.abc import Iterable

from kafka import KafkaAdminClient
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType

_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"

# Brokers authenticate to the controller as a separate user: until ACLs are loaded, only a super user is allowed.
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
"""Broker properties. Resources without an ACL are open to everyone."""


def permit(admin: KafkaAdminClient, kind: ResourceType, name: str, operations: Iterable[ACLOperation]) -> None:
    """Allow anonymous users only these ``operations`` on a resource, from now on."""
    pattern = ResourcePattern(kind, name)
    admin.create_acls([ACL("User:ANONYMOUS", "*", op, ACLPermissionType.ALLOW, pattern) for op in operations])
