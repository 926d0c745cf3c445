"""Messages of the provider in Pulumi's output."""

from __future__ import annotations

import grpc

from topicwarden.deploy.provider.stubs import engine_pb2, engine_pb2_grpc


class EngineLog:
    """Sends messages to the engine at ``address``; to none until it is known."""

    def __init__(self, address: str | None) -> None:
        self._stub: engine_pb2_grpc.EngineStub | None = None
        if address:
            self.attach(address)

    def attach(self, address: str) -> None:
        """Send messages to the engine at ``address`` from now on."""
        self._stub = engine_pb2_grpc.EngineStub(grpc.insecure_channel(address))

    def progress(self, message: str) -> None:
        """Show a line about work that takes long. It does not stay in the output of a terminal."""
        if self._stub is None:
            return
        request = engine_pb2.LogRequest(severity=engine_pb2.INFO, message=message, ephemeral=True)
        self._stub.Log.future(request)
