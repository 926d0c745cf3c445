"""Import Pulumi's gRPC stubs without the SDK, whose import takes longer than the start of the provider's process."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType


def _without_sdk() -> None:
    """Put empty packages in the places of ``pulumi`` and ``pulumi.runtime``, unless the SDK is already imported."""
    found = importlib.util.find_spec("pulumi")
    if "pulumi" in sys.modules or found is None or found.submodule_search_locations is None:
        return
    folder = next(iter(found.submodule_search_locations))
    for name, path in (("pulumi", folder), ("pulumi.runtime", f"{folder}/runtime")):
        package = ModuleType(name)
        package.__path__ = [path]
        sys.modules[name] = package


_without_sdk()

from pulumi.runtime.proto import (  # noqa: E402
    engine_pb2,
    engine_pb2_grpc,
    plugin_pb2,
    provider_pb2,
    provider_pb2_grpc,
)

__all__ = ["engine_pb2", "engine_pb2_grpc", "plugin_pb2", "provider_pb2", "provider_pb2_grpc"]
