"""The globs that select topics by name: on the command line, and in the scope of a stack."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final

EXCLUDED: Final = "!"
"""The start of a glob that excludes the topics that match the rest of it."""


def selected(topic: str, patterns: Sequence[str]) -> bool:
    """Return whether the topic's name matches one of ``patterns``, and none that begins with ``!``.

    Exclusions always win; the order has no meaning. Without patterns, or with exclusions only, all other topics match.
    """
    excluded = [pattern[1:] for pattern in patterns if pattern.startswith(EXCLUDED)]
    included = [pattern for pattern in patterns if not pattern.startswith(EXCLUDED)]
    return _matches_any(topic, included or ["*"]) and not _matches_any(topic, excluded)


def _matches_any(topic: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(topic, pattern) for pattern in patterns)
