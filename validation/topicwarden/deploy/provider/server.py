"""Serves the provider over gRPC on a free port of this machine."""

from __future__ import annotations

import asyncio
import os
import signal

import grpc.aio

from topicwarden.deploy.provider.engine_log import EngineLog
from topicwarden.deploy.provider.home import ProviderHome
from topicwarden.deploy.provider.service import KafkaProvider
from topicwarden.deploy.provider.stubs import provider_pb2_grpc

_MOST_REQUESTS = 1_000_000
_NO_LIMIT = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # gRPC cancels requests at random from 1,000 on that no handler has begun; the engine may send all at once.
    ("grpc.server.max_pending_requests", _MOST_REQUESTS),
    ("grpc.server.max_pending_requests_hard_limit", _MOST_REQUESTS),
]
_ORPHAN_POLL_S = 0.5


async def start_provider(engine: str | None, home: ProviderHome) -> tuple[grpc.aio.Server, int]:
    """Return a provider that serves the engine at the address ``engine``, and its port."""
    server = grpc.aio.server(options=_NO_LIMIT)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(KafkaProvider(EngineLog(engine), home), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    return server, port


async def serve(engine: str | None) -> None:
    """Print the port and serve, until a signal arrives or the process that started this one has ended."""
    parent = os.getppid()
    server, port = await start_provider(engine, ProviderHome.here())
    print(port, flush=True)
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    while not stopped.is_set() and os.getppid() == parent:
        try:
            await asyncio.wait_for(stopped.wait(), _ORPHAN_POLL_S)
        except TimeoutError:
            continue
    await server.stop(None)
