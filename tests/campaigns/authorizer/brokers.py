"""Run one broker with an authorizer, a listener of super users, and a listener of users with a password."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.campaigns.authorizer.wire import Connection
from tests.campaigns.versions.clusters import KafkaVersion, jars_of, zookeeper_cluster
from tests.support.sandboxes import running
from topicwarden.extensions.sandbox.jvm import Jvm
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.sandbox_state import HOST, BrokerPorts, SandboxState
from topicwarden.extensions.sandbox.server_properties import server_properties
from topicwarden.kafka_facts.access.authorizer import ACL_AUTHORIZER
from topicwarden.model.access import AuthorizerSettings, Operation

STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
USERS: Final = (
    "alice",
    "alic",
    "Alice",
    "User:alice",
    "CN=orders,OU=apps",
    "CN=orders,OU=apps,O=Acme",
    "bill|ing",
    "a b",
    "größe",
    "数据",
    "*x",
    "root",
    "CN=root,OU=ops",
)
"""The users that ask. The last two are super users."""
SUPER_USERS: Final = frozenset({"User:ANONYMOUS", "User:root", "User:CN=root,OU=ops"})
SOURCES: Final = {
    "127.0.0.1": "127.0.0.1",
    "127.0.0.2": "127.0.0.2",
    "127.0.1.9": "127.0.1.9",
    "::1": "0:0:0:0:0:0:0:1",
}
"""The addresses from which users connect, and how Java writes each (``InetAddress.getHostAddress``)."""

_PASSWORD: Final = "secret"
_PORT_OFFSET: Final = 3_000


@dataclass(frozen=True)
class AuthorizingBroker:
    """A running broker, and what its authorizer decides by."""

    name: str
    address: str
    version: KafkaVersion
    settings: AuthorizerSettings
    log: Path

    @property
    def operations(self) -> list[Operation]:
        """The operations that the version knows."""
        has_two_phase_commit = _numbers(self.version) >= (4, 1)  # KIP-939
        return [each for each in Operation if has_two_phase_commit or each is not Operation.TWO_PHASE_COMMIT]

    @property
    def group_configs(self) -> bool:
        """True if groups have settings with operations of their own."""
        return _numbers(self.version) >= (4, 0)

    def super_user(self) -> Connection:
        return Connection(self.address)

    def user(self, name: str, source: str) -> Connection:
        """Connect as the user ``name`` from the address ``source``."""
        port = int(self.address.rpartition(":")[2]) + _PORT_OFFSET
        host = "[::1]" if ":" in source else HOST
        return Connection(f"{host}:{port}", source, name, _PASSWORD)


@contextmanager
def authorizing_broker(
    version: KafkaVersion, java: Path, folder: Path, *, open_without_acl: bool, jars: Path | None = None
) -> Iterator[AuthorizingBroker]:
    """Run a broker of ``version`` with its files in ``folder``; ``jars`` are already installed jars of the version."""
    jvm = Jvm(java, jars or jars_of(version))
    settings = AuthorizerSettings(
        ACL_AUTHORIZER if version.zookeeper else STANDARD_AUTHORIZER,
        SUPER_USERS,
        open_without_acl,
        host_ranges=_numbers(version) >= (4, 4),  # KIP-1276
    )
    name = f"{version}, allow.everyone.if.no.acl.found={str(open_without_acl).lower()}"
    if version.zookeeper:
        with zookeeper_cluster(jvm, folder, 1, lambda ports: _properties(settings, ports)) as servers:
            yield AuthorizingBroker(name, servers[0], version, settings, folder / "broker-1" / "server.log")
        return

    def with_listeners(state: SandboxState, ports: BrokerPorts, data: Path) -> str:
        lines = [f"{name}={value}" for name, value in _properties(settings, ports).items()]
        return server_properties(state, ports, data) + "\n".join(lines) + "\n"

    with pytest.MonkeyPatch.context() as patch:
        # Overrides of a sandbox do not know its ports.
        patch.setattr("topicwarden.extensions.sandbox.broker_fleet.server_properties", with_listeners)
        with running(Sandbox(folder / "sandbox", jvm.java, jvm.jars), 1, heap="384m") as sandbox:
            log = folder / "sandbox" / "broker-1" / "server.log"
            yield AuthorizingBroker(name, sandbox.bootstrap_servers[0], version, settings, log)


def _properties(settings: AuthorizerSettings, ports: BrokerPorts) -> Mapping[str, str]:
    users = _escaped(" ".join(f'"user_{user}"="{_PASSWORD}"' for user in USERS))
    controller = f",CONTROLLER://{HOST}:{ports.controller_port}" if ports.controller_port else ""
    port = ports.port + _PORT_OFFSET
    listeners = f"PLAINTEXT://{ports.address},USERS://{HOST}:{port},USERS6://[::1]:{port}{controller}"
    protocols = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,USERS:SASL_PLAINTEXT,USERS6:SASL_PLAINTEXT"
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    return {
        "authorizer.class.name": settings.class_name or "",
        "super.users": ";".join(sorted(settings.super_users or ())),
        "allow.everyone.if.no.acl.found": str(settings.open_without_acl).lower(),
        "listeners": listeners,
        "listener.security.protocol.map": protocols,
        **{f"listener.name.{name}.sasl.enabled.mechanisms": "PLAIN" for name in ("users", "users6")},
        **{
            f"listener.name.{name}.plain.sasl.jaas.config": f"{module} required {users};"
            for name in ("users", "users6")
        },
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
    }


def _numbers(version: KafkaVersion) -> tuple[int, ...]:
    return tuple(map(int, version.line.split(".")))


def _escaped(value: str) -> str:
    """Return ``value`` with the escapes of a properties file, which Java reads as ISO 8859-1."""
    return "".join(character if character.isascii() else f"\\u{ord(character):04x}" for character in value)
