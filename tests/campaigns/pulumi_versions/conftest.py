"""Use the fixtures of the provider's tests."""

from __future__ import annotations

from tests.engine.provider.conftest import folder, sandbox, stack

__all__ = ["folder", "sandbox", "stack"]
