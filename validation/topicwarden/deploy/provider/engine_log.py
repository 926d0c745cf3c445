"""Messages of the provider in Pulumi's output."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import grpc

from topicwarden.deploy.engine_connection import engine_channel
from topicwarden.deploy.provider.stubs import engine_pb2, engine_pb2_grpc

_WARNING_S: Final = 5.0


class EngineLog:
    """Sends messages to the engine at ``address``; to none until it is known."""

    def __init__(self, address: str | None) -> None:
        self._stub: engine_pb2_grpc.EngineStub | None = None
        if address:
            self.attach(address)

    def attach(self, address: str) -> None:
        """Send messages to the engine at ``address`` from now on."""
        self._stub = engine_pb2_grpc.EngineStub(engine_channel(address))

    def progress(self, message: str) -> None:
        """Show a line about work that takes long. It does not stay in the output of a terminal."""
        if self._stub is not None:
            self._stub.Log.future(engine_pb2.LogRequest(severity=engine_pb2.INFO, message=message, ephemeral=True))

    def warn(self, message: str) -> None:
        """Show a warning, which stays in the output; return when the engine has it."""
        if self._stub is not None:
            with suppress(grpc.RpcError):  # a warning that cannot be shown fails no resource
                self._stub.Log(engine_pb2.LogRequest(severity=engine_pb2.WARNING, message=message), timeout=_WARNING_S)
