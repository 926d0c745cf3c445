"""Tells linear growth of time from quadratic growth on a machine that also does other work."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Final

ATTEMPTS: Final = 4
MOST: Final = 9
"""Four times as many entries take four times as long if the time is linear, and 16 times if it is quadratic."""


def growth(seconds: Callable[[int], float], number: int) -> float:
    """Return how many times as long 4 × ``number`` entries take as ``number``, by ``seconds`` (CPU seconds).

    The least of some attempts, which end at the first one that is linear: other work only makes a ratio larger or
    smaller by chance, and a quadratic step is far above ``MOST`` each time.
    """
    ratios: list[float] = []
    while len(ratios) < ATTEMPTS and not any(ratio < MOST for ratio in ratios):
        gc.collect()
        gc.disable()
        try:
            few = min(seconds(number) for _ in range(3))
            ratios.append(min(seconds(4 * number) for _ in range(2)) / few)
        finally:
            gc.enable()
    return min(ratios)
