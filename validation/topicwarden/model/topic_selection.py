"""The globs with which a command selects topics by name."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase


def selected(topic: str, patterns: Sequence[str]) -> bool:
    """Return whether the topic's name matches one of ``patterns``; without patterns, every topic does."""
    return not patterns or any(fnmatchcase(topic, pattern) for pattern in patterns)
