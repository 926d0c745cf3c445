"""The globs that select topics by name: on the command line, and in the scope of a stack."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Final

from topicwarden.model.message_text import Suggestions
from topicwarden.model.problem import Refusal

EXCLUDED: Final = "!"
"""The start of a glob that excludes the topics that match the rest of it."""


def selected(topic: str, patterns: Sequence[str]) -> bool:
    """Return whether the topic's name matches one of ``patterns``, and none that begins with ``!``.

    Exclusions always win; the order has no meaning. Without patterns, or with exclusions only, all other topics match.
    """
    excluded = [pattern[1:] for pattern in patterns if pattern.startswith(EXCLUDED)]
    included = [pattern for pattern in patterns if not pattern.startswith(EXCLUDED)]
    return _matches_any(topic, included or ["*"]) and not _matches_any(topic, excluded)


def none_selected(topics: str, patterns: Sequence[str], names: Iterable[str], *, option: str = "--topics ") -> Refusal:
    """Return the error that ``patterns`` match none of ``names``, with the names that they resemble.

    ``topics`` says which topics these are, such as ``declared topic``. Without ``patterns``, there is no such topic.
    ``option`` is what the user writes before a pattern.
    """
    if not patterns:
        return Refusal(f"there is no {topics}")
    suggestions = PatternSuggestions(sorted(names))
    nearest_ones = [found for pattern in patterns if (found := suggestions.nearest(pattern))]
    suggestion = f"; did you mean {' or '.join(nearest_ones)}?" if nearest_ones else ""
    return Refusal(f"no {topics} matches {option}{' or '.join(patterns)}{suggestion}")


class PatternSuggestions:
    """Suggestions for misspelt patterns of the same names of topics."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def nearest(self, pattern: str) -> str | None:
        """Return the pattern that a misspelt ``pattern`` most resembles; None if there is none.

        This is the name of a topic, or for ``ordres.*`` the first parts of a name, followed by ``.*``.
        """
        if not pattern.endswith(".*"):
            return self._of_names.nearest(pattern)
        prefix = self._of_prefixes.nearest(pattern.removesuffix(".*"))
        return f"{prefix}.*" if prefix else None

    @cached_property
    def _of_names(self) -> Suggestions:
        return Suggestions(self._names)

    @cached_property
    def _of_prefixes(self) -> Suggestions:
        parts = [name.split(".") for name in self._names]
        return Suggestions(dict.fromkeys(".".join(each[:end]) for each in parts for end in range(1, len(each))))


def _matches_any(topic: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(topic, pattern) for pattern in patterns)
