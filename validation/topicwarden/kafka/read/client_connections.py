"""The place of an adapter for the clients that are connected to brokers (KIP-1329, ListClientConnections).

The KIP would let brokers report principal, client id and address of each connection. No release of Kafka offers it:
``NoClientConnections`` says so. An implementation for brokers that do only has to return ``ClientConnections``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class ClientConnection:
    """One open connection of a client to a broker. ``principal`` is as in ACLs, such as ``User:billing``."""

    broker: int
    principal: str
    client_id: str
    host: str


@dataclass(frozen=True)
class ClientConnections:
    """The open connections of all brokers. ``missing`` says why they are not known; empty if they are."""

    connections: tuple[ClientConnection, ...] = ()
    missing: str = ""


class ClientConnectionReads(Protocol):
    """Reads the open connections of clients."""

    def connections(self) -> ClientConnections:
        """Return the connections of all brokers."""


class NoClientConnections:
    """Says that the brokers do not report connections of clients."""

    def connections(self) -> ClientConnections:
        return ClientConnections(missing="the brokers do not report the connections of clients (KIP-1329)")
