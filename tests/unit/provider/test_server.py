"""Test that each provider resource of a program has a provider of its own, although one process serves all of them."""

from __future__ import annotations

import asyncio

import grpc.aio
import pulumi  # noqa: F401 - otherwise the provider's stubs put an empty package in its place, for all other tests
import pytest

from topicwarden.deploy.provider.home import ProviderHome
from topicwarden.deploy.provider.properties import to_struct
from topicwarden.deploy.provider.server import start_provider
from topicwarden.deploy.provider.stubs import provider_pb2 as rpc
from topicwarden.deploy.provider.stubs import provider_pb2_grpc

URN = "urn:pulumi:dev::p::kafka:index/topic:Topic::t"
ADDRESSES = ("127.0.0.1:1", "127.0.0.1:2")


async def _errors() -> list[str]:
    """Configure two providers with an address each; return the error of reading a topic with each of them."""
    server, port = await start_provider(None, ProviderHome(None))
    # As the engine does: a connection for each provider resource.
    options = [("grpc.use_local_subchannel_pool", 1)]
    channels = [grpc.aio.insecure_channel(f"127.0.0.1:{port}", options) for _ in ADDRESSES]
    stubs = [provider_pb2_grpc.ResourceProviderStub(channel) for channel in channels]
    for stub, address in zip(stubs, ADDRESSES, strict=True):
        settings = {"bootstrapServers": [address], "tlsEnabled": False}
        await stub.Configure(rpc.ConfigureRequest(args=to_struct(settings)))
    errors = []
    for stub in stubs:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await stub.Read(rpc.ReadRequest(id="t", urn=URN))
        errors.append(str(refused.value.details()))
    for channel in channels:
        await channel.close()
    await server.stop(None)
    return errors


def test_each_provider_reaches_the_cluster_of_its_own_settings() -> None:
    for address, error in zip(ADDRESSES, asyncio.run(_errors()), strict=True):
        assert f"{address}: nothing listens on this port" in error
