"""Use the fixtures of ``tests.system.watch``, with a cluster of their own."""

from __future__ import annotations

from tests.system.watch.conftest import project, sandbox

__all__ = ["project", "sandbox"]
