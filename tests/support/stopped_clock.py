"""A clock for tests of loops, which never wait."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Clock:
    """A clock that moves only while something waits, and that ends the loops at ``end``."""

    end: float
    now: float = 0.0

    def __call__(self) -> float:
        return self.now

    def is_set(self) -> bool:
        return self.now >= self.end

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None and timeout > 0
        self.now += timeout
        return self.is_set()
