"""Bound how likely a number of keys is by chance."""

from __future__ import annotations

from math import log


def divergence(share: float, expected: float) -> float:
    """Return the Kullback-Leibler divergence of two coins; ``exp(-n * d)`` bounds the probability (Chernoff)."""
    terms = ((share, expected), (1 - share, 1 - expected))
    return sum(part * log(part / whole) for part, whole in terms if part > 0)
