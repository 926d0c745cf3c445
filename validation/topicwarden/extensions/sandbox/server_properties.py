"""The contents of a broker's ``server.properties``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from topicwarden.extensions.sandbox.ports import QUORUM
from topicwarden.extensions.sandbox.sandbox_state import HOST, BrokerPorts, SandboxState

HEADER: Final = "# Written by `topicwarden sandbox up`. Every start overwrites this file."


_AUTHORIZER: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,USERS:SASL_PLAINTEXT",
    "listener.name.users.sasl.enabled.mechanisms": "SCRAM-SHA-512",
    "listener.name.users.scram-sha-512.sasl.jaas.config": (
        "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    ),
}
"""Clients of the plain listener, such as topicwarden, are the super user. Users with a password need ACLs."""


def rack(broker_id: int) -> str:
    """Return the broker's rack. Each broker has its own rack."""
    return f"rack-{broker_id}"


def server_properties(state: SandboxState, ports: BrokerPorts, data: Path) -> str:
    """Return the file for one broker, with a comment for settings that differ from Kafka's defaults to be faster."""
    replicas = min(3, len(state.brokers))
    in_sync = min(2, replicas)
    voters = ",".join(f"{other.id}@{HOST}:{other.controller_port}" for other in state.brokers[:QUORUM])
    controller = f",CONTROLLER://{HOST}:{ports.controller_port}" if ports.controller_port else ""
    users = f",USERS://{HOST}:{ports.user_port}" if state.authorizer else ""
    settings = {
        "process.roles": "broker,controller" if ports.controller_port else "broker",
        "node.id": str(ports.id),
        "broker.rack": rack(ports.id),
        "controller.quorum.voters": voters,
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://{HOST}:{ports.port}{users}{controller}",
        "log.dirs": str(data),
        "auto.create.topics.enable": "false",
        "unclean.leader.election.enable": "false",
        "controlled.shutdown.enable": "true",
        "offsets.topic.replication.factor": str(replicas),
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": str(in_sync),
        "share.coordinator.state.topic.replication.factor": str(replicas),
        "share.coordinator.state.topic.min.isr": str(in_sync),
    }
    faster = {
        "offsets.topic.num.partitions": "5",
        "transaction.state.log.num.partitions": "5",
        "share.coordinator.state.topic.num.partitions": "5",
        "group.initial.rebalance.delay.ms": "0",
        "log.cleaner.dedupe.buffer.size": "16777216",
        "log.retention.check.interval.ms": "15000",
        "metadata.max.idle.interval.ms": "5000",
        "num.io.threads": "3",
        "num.network.threads": "1",
    }
    settings |= _AUTHORIZER if state.authorizer else {}
    overrides = dict(state.overrides)
    lines = [HEADER]
    lines += _lines({name: value for name, value in settings.items() if name not in overrides})
    lines += [
        "# Kafka's defaults are for large clusters. Fewer partitions of internal topics and no wait for further group",
        "# members make a small machine faster. Retention is checked every 15 s instead of every 5 minutes, so that",
        "# its effects are visible soon. The log cleaner checks every 15 s by default. Fewer threads and fewer empty",
        "# metadata records, which Kafka writes twice a second, let an idle broker use a third less CPU time. The",
        "# cleaner's buffer for 600,000 keys, instead of five million, saves a third of a broker's memory.",
    ]
    lines += _lines({name: value for name, value in faster.items() if name not in overrides})
    if overrides:
        lines += ["# Overrides from the start of the sandbox.", *_lines(overrides)]
    return "\n".join(lines) + "\n"


def _lines(settings: dict[str, str]) -> list[str]:
    return [f"{name}={_escape(value)}" for name, value in settings.items()]


def _escape(value: str) -> str:
    """Return ``value`` in the syntax of ``java.util.Properties.load``: ISO 8859-1, with backslash escapes."""
    units = value.replace("\\", "\\\\").replace("\n", "\\n").encode("utf-16-be")
    codes = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return "".join(chr(code) if 0x20 <= code < 0x7F else f"\\u{code:04x}" for code in codes)
