"""What the sandbox tells about itself."""

from __future__ import annotations

from dataclasses import dataclass

from topicwarden.sandbox.broker import BrokerCondition
from topicwarden.sandbox.sandbox_state import HOST


@dataclass(frozen=True)
class BrokerStatus:
    """One broker; ``pid`` is None unless it runs, ``in_cluster`` says that the cluster's metadata lists it."""

    id: int
    rack: str
    port: int
    pid: int | None
    condition: BrokerCondition
    in_cluster: bool


@dataclass(frozen=True)
class SandboxStatus:
    """The sandbox at one moment; without brokers where none was ever started, or it was removed."""

    brokers: tuple[BrokerStatus, ...] = ()

    @property
    def bootstrap_servers(self) -> list[str]:
        return [f"{HOST}:{broker.port}" for broker in self.brokers]

    @property
    def answers(self) -> bool:
        """Whether a broker answers with the cluster's metadata."""
        return any(broker.in_cluster for broker in self.brokers)

    @property
    def ready(self) -> bool:
        """Whether every broker runs and has joined."""
        return bool(self.brokers) and all(
            broker.in_cluster and broker.condition is BrokerCondition.RUNNING for broker in self.brokers
        )
