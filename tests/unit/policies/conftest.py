"""Count comparisons of similar words."""

from __future__ import annotations

from difflib import SequenceMatcher

import pytest


@pytest.fixture
def comparisons(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Return a list that gets an item for each comparison of two words, which then are not similar."""
    compared: list[None] = []

    def ratio(_: SequenceMatcher[str]) -> float:
        compared.append(None)
        assert len(compared) <= 250_000
        return 0.0

    monkeypatch.setattr(SequenceMatcher, "real_quick_ratio", ratio)
    return compared
