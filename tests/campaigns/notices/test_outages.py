"""Test that outages of a receiver and restarts lose no change, and double none.

``TOPICWARDEN_AGREEMENTS`` and ``TOPICWARDEN_SEED`` ask for other numbers of processes and other histories.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.notices import deliver_random_history

OUTAGES = int(os.environ.get("TOPICWARDEN_AGREEMENTS", "2"))
SEED = int(os.environ.get("TOPICWARDEN_SEED", "28"))


def test_outages_and_restarts_lose_no_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deliver_random_history(SEED, OUTAGES, tmp_path, monkeypatch)
