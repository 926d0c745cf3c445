"""A broker's ``server.properties``."""

from __future__ import annotations

from pathlib import Path

from topicwarden.sandbox.ports import QUORUM
from topicwarden.sandbox.sandbox_state import HOST, BrokerPorts, SandboxState


def rack(broker_id: int) -> str:
    """Each broker stands in a rack of its own."""
    return f"rack-{broker_id}"


def server_properties(state: SandboxState, place: BrokerPorts, data: Path) -> str:
    """The whole file for one broker, with a comment wherever it leaves Kafka's default for the sandbox's sake."""
    copies = min(3, len(state.brokers))
    in_sync = min(2, copies)
    voters = ",".join(f"{other.id}@{HOST}:{other.controller_port}" for other in state.brokers[:QUORUM])
    controller = f",CONTROLLER://{HOST}:{place.controller_port}" if place.controller_port else ""
    settings = {
        "process.roles": "broker,controller" if place.controller_port else "broker",
        "node.id": str(place.id),
        "broker.rack": rack(place.id),
        "controller.quorum.voters": voters,
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://{HOST}:{place.port}{controller}",
        "log.dirs": str(data),
        "auto.create.topics.enable": "false",
        "unclean.leader.election.enable": "false",
        "controlled.shutdown.enable": "true",
        "offsets.topic.replication.factor": str(copies),
        "transaction.state.log.replication.factor": str(copies),
        "transaction.state.log.min.isr": str(in_sync),
        "share.coordinator.state.topic.replication.factor": str(copies),
        "share.coordinator.state.topic.min.isr": str(in_sync),
    }
    quick = {
        "offsets.topic.num.partitions": "5",
        "transaction.state.log.num.partitions": "5",
        "share.coordinator.state.topic.num.partitions": "5",
        "group.initial.rebalance.delay.ms": "0",
        "log.retention.check.interval.ms": "15000",
    }
    demanded = dict(state.overrides)
    lines = ["# Written by `topicwarden sandbox up`, anew at each start."]
    lines += _lines({name: value for name, value in settings.items() if name not in demanded})
    lines += [
        "# Kafka's defaults are made for large clusters: 50 partitions of each internal topic, and three seconds of",
        "# waiting for further members of a group, are slow on a small machine; and retention that is looked at every",
        "# five minutes would keep one waiting to see it work. The cleaner looks every 15 s by default already.",
    ]
    lines += _lines({name: value for name, value in quick.items() if name not in demanded})
    if demanded:
        lines += ["# Demanded by whoever started it.", *_lines(demanded)]
    return "\n".join(lines) + "\n"


def _lines(settings: dict[str, str]) -> list[str]:
    return [f"{name}={_escaped(value)}" for name, value in settings.items()]


def _escaped(value: str) -> str:
    """As ``java.util.Properties.load`` reads it: ISO 8859-1, with a backslash that escapes."""
    units = value.replace("\\", "\\\\").replace("\n", "\\n").encode("utf-16-be")
    codes = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return "".join(chr(code) if 0x20 <= code < 0x7F else f"\\u{code:04x}" for code in codes)
