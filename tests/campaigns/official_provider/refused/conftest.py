"""Use the fixtures of the predictions' tests, with a cluster of their own."""

from __future__ import annotations

from tests.engine.predictions.conftest import cache, cluster, sandbox, servers

__all__ = ["cache", "cluster", "sandbox", "servers"]
