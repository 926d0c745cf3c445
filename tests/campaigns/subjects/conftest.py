"""Use the fixtures of ``tests.engine.subjects``, with a cluster of their own."""

from __future__ import annotations

from tests.engine.subjects.conftest import folder, sandbox, stack

__all__ = ["folder", "sandbox", "stack"]
