"""The globs that select topics by name: on the command line, and in the scope of a stack."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from functools import cached_property, lru_cache
from typing import Final

from topicwarden.model.message_text import Suggestions
from topicwarden.model.problem import Refusal

EXCLUDED: Final = "!"
"""The start of a glob that excludes the topics that match the rest of it."""


def selected(topic: str, patterns: Sequence[str]) -> bool:
    """Return whether the topic's name matches one of ``patterns``, and none that begins with ``!``.

    Exclusions always win; the order has no meaning. Without patterns, or with exclusions only, all other topics match.
    """
    return _selection(tuple(patterns)).has(topic)


class TopicSelection:
    """The topics that globs select; see ``selected``. The globs are compiled once."""

    def __init__(self, patterns: Sequence[str]) -> None:
        included = [pattern for pattern in patterns if not pattern.startswith(EXCLUDED)]
        self._included = Globs(included or ["*"])
        self._excluded = Globs([pattern[1:] for pattern in patterns if pattern.startswith(EXCLUDED)])

    def has(self, topic: str) -> bool:
        """Return whether the topic is selected."""
        return self._included.match(topic) and not self._excluded.match(topic)


_selection = lru_cache(maxsize=64)(TopicSelection)


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


class Globs:
    """Compiled globs; those without a wildcard are compared as text."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._names = frozenset(pattern for pattern in patterns if is_literal(pattern))
        globs = [pattern for pattern in patterns if pattern not in self._names]
        self._regex = re.compile("|".join(map(translate, globs))) if globs else None

    def match(self, name: str) -> bool:
        return name in self._names or (self._regex is not None and self._regex.match(name) is not None)


def is_literal(pattern: str) -> bool:
    """Return True if the pattern only matches the name that is equal to it."""
    return not any(special in pattern for special in "*?[")
