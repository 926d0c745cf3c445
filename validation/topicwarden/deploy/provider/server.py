"""Serves the provider over gRPC on a free port of this machine."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import grpc.aio

from topicwarden.deploy.engine_connection import NO_LIMIT
from topicwarden.deploy.provider.engine_log import EngineLog
from topicwarden.deploy.provider.home import ProviderHome
from topicwarden.deploy.provider.service import KafkaProvider, SharedByProviders
from topicwarden.deploy.provider.stubs import provider_pb2_grpc

_MOST_REQUESTS = 1_000_000
_OPTIONS = [
    *NO_LIMIT,
    # gRPC cancels requests at random from 1,000 on that no handler has begun; the engine may send all at once.
    ("grpc.server.max_pending_requests", _MOST_REQUESTS),
    ("grpc.server.max_pending_requests_hard_limit", _MOST_REQUESTS),
]
_ORPHAN_POLL_S = 0.5


class _ProviderOfConnection(provider_pb2_grpc.ResourceProviderServicer):
    """Gives each connection a provider of its own.

    The engine opens a connection for each provider resource, and their settings may lead to different clusters.
    """

    def __init__(self, new_provider: Callable[[], KafkaProvider]) -> None:
        self._new_provider = new_provider
        self._providers: dict[str, KafkaProvider] = {}

    def of(self, peer: str) -> KafkaProvider:
        """Return the provider of the connection from the address ``peer``."""
        if peer not in self._providers:
            self._providers[peer] = self._new_provider()
        return self._providers[peer]


def _delegated(name: str) -> Callable[[_ProviderOfConnection, Any, grpc.aio.ServicerContext], Any]:
    async def call(self: _ProviderOfConnection, request: Any, context: grpc.aio.ServicerContext) -> Any:
        return await getattr(self.of(context.peer()), name)(request, context)

    return call


for _name in provider_pb2_grpc.ResourceProviderServicer.__dict__.keys() & KafkaProvider.__dict__.keys():
    if not _name.startswith("_"):
        setattr(_ProviderOfConnection, _name, _delegated(_name))


@dataclass(frozen=True)
class ProviderServer:
    """A server of providers for an engine, and its port."""

    port: int
    _server: grpc.aio.Server
    _shared: SharedByProviders

    async def stop(self) -> None:
        """End the server and the connections of its providers to clusters."""
        await self._server.stop(None)
        self._shared.sessions.close()


async def start_provider(engine: str | None, home: ProviderHome) -> ProviderServer:
    """Serve providers for the engine at the address ``engine``."""
    server = grpc.aio.server(options=_OPTIONS)
    shared = SharedByProviders()
    servicer = _ProviderOfConnection(lambda: KafkaProvider(EngineLog(engine), home, shared))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    return ProviderServer(port, server, shared)


async def serve(engine: str | None) -> None:
    """Print the port and serve, until a signal arrives or the process that started this one has ended."""
    parent = os.getppid()
    server = await start_provider(engine, ProviderHome.here())
    print(server.port, flush=True)
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    while not stopped.is_set() and os.getppid() == parent:
        try:
            await asyncio.wait_for(stopped.wait(), _ORPHAN_POLL_S)
        except TimeoutError:
            continue
    await server.stop()
