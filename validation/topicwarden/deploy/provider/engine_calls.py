"""Notes when the engine calls: as long as it does, more resources follow."""

from __future__ import annotations

import asyncio
import time
from typing import Final

_QUIET_S: Final = 0.2
"""The engine calls at least this often, in seconds, while a program registers resources one after another."""


class EngineCalls:
    """The calls of the engine, of all resources together."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def note(self) -> None:
        """Note that the engine calls now."""
        self._last = time.monotonic()

    async def quiet(self) -> bool:
        """Return whether the engine has not called for a while; otherwise wait until then, and return False."""
        remaining = self._last + _QUIET_S - time.monotonic()
        if remaining <= 0:
            return True
        await asyncio.sleep(remaining)
        return False
