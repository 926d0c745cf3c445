"""The status of the sandbox and its brokers."""

from __future__ import annotations

from dataclasses import dataclass

from topicwarden.sandbox.broker import BrokerCondition
from topicwarden.sandbox.sandbox_state import HOST


@dataclass(frozen=True)
class BrokerStatus:
    """One broker. ``pid`` is None if it is not running; ``in_cluster``: the cluster's metadata lists the broker."""

    id: int
    rack: str
    port: int
    pid: int | None
    condition: BrokerCondition
    in_cluster: bool


@dataclass(frozen=True)
class SandboxStatus:
    """The status of all brokers; empty if the sandbox was never started, or was deleted."""

    brokers: tuple[BrokerStatus, ...] = ()

    @property
    def bootstrap_servers(self) -> list[str]:
        return [f"{HOST}:{broker.port}" for broker in self.brokers]

    @property
    def answers(self) -> bool:
        """True if a broker answers with the cluster's metadata."""
        return any(broker.in_cluster for broker in self.brokers)

    @property
    def ready(self) -> bool:
        """True if every broker is running and has joined the cluster."""
        return bool(self.brokers) and all(
            broker.in_cluster and broker.condition is BrokerCondition.RUNNING for broker in self.brokers
        )
