"""Test connections to Pulumi's engine with servers in its place."""

# ruff: noqa: N802 -- the methods are named by resource.proto and engine.proto

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pulumi
import pytest
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime._grpc_settings import _GRPC_CHANNEL_OPTIONS
from pulumi.runtime.proto import engine_pb2_grpc, language_pb2, resource_pb2, resource_pb2_grpc
from pulumi.runtime.settings import get_monitor

from topicwarden.deploy.engine_connection import engine_channel
from topicwarden.deploy.program_execution import executed


class Monitor(resource_pb2_grpc.ResourceMonitorServicer, engine_pb2_grpc.EngineServicer):
    """An engine that supports nothing and notes the messages that it gets."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def SupportsFeature(self, request: Any, context: Any) -> Any:
        return resource_pb2.SupportsFeatureResponse(hasSupport=False)

    def Log(self, request: Any, context: Any) -> Empty:
        self.messages.append(request.message)
        return Empty()


@contextmanager
def listening(port: int = 0) -> Iterator[tuple[Monitor, int]]:
    monitor, server = Monitor(), grpc.server(ThreadPoolExecutor(4))
    resource_pb2_grpc.add_ResourceMonitorServicer_to_server(monitor, server)
    engine_pb2_grpc.add_EngineServicer_to_server(monitor, server)
    taken = server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    try:
        yield monitor, taken
    finally:
        server.stop(0).wait()


def lost(channel: grpc.Channel) -> bool:
    """Return whether a call to the engine at the end of ``channel`` fails as one that has ended."""
    with pytest.raises(grpc.RpcError) as failed:
        resource_pb2_grpc.ResourceMonitorStub(channel).SupportsFeature(resource_pb2.SupportsFeatureRequest(id="x"))
    return bool(failed.value.code() == grpc.StatusCode.UNAVAILABLE)


def no_program() -> None:
    pytest.fail("the program must not run")


def channel_of_the_sdk(address: str) -> grpc.Channel:
    return grpc.insecure_channel(address, options=_GRPC_CHANNEL_OPTIONS)


@pytest.mark.parametrize("earlier", [engine_channel, channel_of_the_sdk])
def test_an_engine_on_the_port_of_an_earlier_one_is_reached(tmp_path: Path, earlier: Any) -> None:
    with listening() as (_, port):
        channel = earlier(f"127.0.0.1:{port}")
    assert lost(channel)
    with listening(port) as (monitor, _):
        address = f"127.0.0.1:{port}"
        request = language_pb2.RunRequest(project="p", stack="s", monitor_address=address, args=[address], parallel=4)

        def prepare() -> None:
            pulumi.log.info("reached")
            raise pulumi.RunError("done")

        assert not executed(request, tmp_path, no_program, prepare)
    assert monitor.messages == ["reached", "done"]
    channel.close()


def test_the_connections_of_a_program_end_with_it(tmp_path: Path) -> None:
    closed: list[Any] = []
    with listening() as (_, port):
        request = language_pb2.RunRequest(project="p", stack="s", monitor_address=f"127.0.0.1:{port}", parallel=4)

        def prepare() -> None:
            closed.append(get_monitor())
            raise pulumi.RunError("done")

        executed(request, tmp_path, no_program, prepare)
        with pytest.raises(ValueError, match="closed channel"):
            closed[0].SupportsFeature(resource_pb2.SupportsFeatureRequest(id="x"))
