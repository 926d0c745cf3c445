"""Run clusters that enforce ACLs: for anonymous users, or for one user with exactly the permissions that a test
grants.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from kafka import KafkaAdminClient
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType

from tests.support.sandboxes import running
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.kafka.write.access_admin import create_acls, delete_acls, wait_for_acls
from topicwarden.model.access import Acl, Operation, PatternType, PermissionType
from topicwarden.model.access import ResourceType as AclResource

USER, PASSWORD = "warden", "secret"
_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
_PLAIN = {
    "listener.name.users.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.users.plain.sasl.jaas.config": f'{_MODULE} required user_{USER}="{PASSWORD}";',
}
"""Properties of brokers that know the password of ``USER`` without a SCRAM credential."""


@dataclass(frozen=True)
class RestrictedCluster:
    """A cluster with a listener for its brokers, and one for ``USER``."""

    servers: list[str]
    """The listener of the brokers, whose clients may do everything."""
    user_servers: list[str]
    """The listener of ``USER``."""

    @property
    def settings(self) -> str:
        """The settings of a stack whose principal is ``USER``."""
        return (
            f"config: {{'kafka:bootstrapServers': [{', '.join(self.user_servers)}], 'kafka:tlsEnabled': false, "
            f"'kafka:saslMechanism': plain, 'kafka:saslUsername': {USER}, 'kafka:saslPassword': {PASSWORD}}}\n"
        )

    @contextmanager
    def granted(self, acls: Collection[Acl]) -> Iterator[None]:
        """Give ``USER`` exactly these ACLs during the block."""
        with KafkaAdminClient(bootstrap_servers=self.servers) as admin:
            assert create_acls(admin, [*acls]) == {}
            try:
                assert not wait_for_acls(admin, acls, exist=True)
                yield
            finally:
                assert delete_acls(admin, [*acls]) == {}
                assert not wait_for_acls(admin, acls, exist=False)


def rule(operation: str, resource: str, name: str = "*", permission: str = "Allow", pattern: str = "Literal") -> Acl:
    """Return an ACL of ``USER``."""
    principal, allowed = f"User:{USER}", PermissionType(permission)
    return Acl(principal, "*", Operation(operation), allowed, AclResource(resource), name, PatternType(pattern))


@contextmanager
def restricted_cluster(
    sandbox: Sandbox, brokers: int, overrides: Mapping[str, str] | None = None
) -> Iterator[RestrictedCluster]:
    """Run ``sandbox`` with this number of brokers, where ``USER`` has no permissions."""
    settings = _PLAIN | dict(overrides or {})
    with running(sandbox, brokers, settings, heap="384m", authorizer=True) as running_sandbox:
        yield RestrictedCluster(running_sandbox.bootstrap_servers, running_sandbox.user_servers)


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


def grant(admin: KafkaAdminClient, kind: ResourceType, name: str, operations: Iterable[ACLOperation]) -> None:
    """Allow anonymous users only these ``operations`` on a resource, from now on."""
    pattern = ResourcePattern(kind, name)
    admin.create_acls([ACL("User:ANONYMOUS", "*", op, ACLPermissionType.ALLOW, pattern) for op in operations])
