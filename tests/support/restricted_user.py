"""Run clusters that enforce ACLs: for anonymous users, or for one user with exactly the permissions that a test
grants.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType

from tests.support.sandboxes import running
from topicwarden.kafka.write.access_admin import AccessRule, create_rules, delete_rules, wait_for_rules
from topicwarden.sandbox.local_cluster import Sandbox
from topicwarden.sandbox.sandbox_state import HOST, BrokerPorts, SandboxState
from topicwarden.sandbox.server_properties import server_properties

USER, PASSWORD = "warden", "secret"
_PORT_OFFSET = 3_000
_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
_OVERRIDES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,USERS:SASL_PLAINTEXT",
    "listener.name.users.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.users.plain.sasl.jaas.config": f'{_MODULE} required user_{USER}="{PASSWORD}";',
}


@dataclass(frozen=True)
class RestrictedCluster:
    """A cluster with a listener for its brokers, and one for ``USER``."""

    servers: list[str]
    """The listener of the brokers, whose clients may do everything."""

    @property
    def settings(self) -> str:
        """The settings of a stack whose principal is ``USER``."""
        addresses = [f"{HOST}:{int(address.rpartition(':')[2]) + _PORT_OFFSET}" for address in self.servers]
        return (
            f"config: {{'kafka:bootstrapServers': [{', '.join(addresses)}], 'kafka:tlsEnabled': false, "
            f"'kafka:saslMechanism': plain, 'kafka:saslUsername': {USER}, 'kafka:saslPassword': {PASSWORD}}}\n"
        )

    @contextmanager
    def granted(self, rules: Collection[AccessRule]) -> Iterator[None]:
        """Give ``USER`` exactly these ACLs during the block."""
        with KafkaAdminClient(bootstrap_servers=self.servers) as admin:
            assert create_rules(admin, [*rules]) == {}
            try:
                assert not wait_for_rules(admin, rules, exist=True)
                yield
            finally:
                assert delete_rules(admin, [*rules]) == {}
                assert not wait_for_rules(admin, rules, exist=False)


def rule(
    operation: str, resource: str, name: str = "*", permission: str = "Allow", pattern: str = "Literal"
) -> AccessRule:
    """Return an ACL of ``USER``."""
    return AccessRule(f"User:{USER}", "*", operation, permission, resource, name, pattern)


@contextmanager
def restricted_cluster(
    sandbox: Sandbox, brokers: int, overrides: Mapping[str, str] | None = None
) -> Iterator[RestrictedCluster]:
    """Run ``sandbox`` with this number of brokers, where ``USER`` has no permissions."""

    def with_listener(state: SandboxState, ports: BrokerPorts, data: Path) -> str:
        controller = f",CONTROLLER://{HOST}:{ports.controller_port}" if ports.controller_port else ""
        listeners = f"PLAINTEXT://{ports.address},USERS://{HOST}:{ports.port + _PORT_OFFSET}{controller}"
        return server_properties(state, ports, data) + f"listeners={listeners}\n"

    with pytest.MonkeyPatch.context() as patch:
        # Overrides of a sandbox are the same for all brokers; these ports are not.
        patch.setattr("topicwarden.sandbox.broker_fleet.server_properties", with_listener)
        with running(sandbox, brokers, _OVERRIDES | dict(overrides or {}), heap="384m") as running_sandbox:
            yield RestrictedCluster(running_sandbox.bootstrap_servers)


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
