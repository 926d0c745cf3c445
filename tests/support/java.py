"""Find the Java of the sandbox's Schema Registry, which is newer than the one that everything else needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from topicwarden.model.problem import Refusal
from topicwarden.toolchain.prerequisites import require_registry_java


def registry_java_or_skip() -> Path:
    """Return the ``java`` of the registry. Where there is none, the test is skipped, with what to install."""
    try:
        return require_registry_java()
    except Refusal as refusal:
        pytest.skip(str(refusal))
