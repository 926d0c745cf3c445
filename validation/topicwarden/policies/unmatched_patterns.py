"""Warnings for topic patterns in policy files that match no declared topic.

Without the warning, a misspelt pattern would silently have no effect.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from topicwarden.model.message_text import quoted
from topicwarden.model.problem import Level, Location, Problem
from topicwarden.model.topic import Topic
from topicwarden.model.topic_selection import nearest_pattern
from topicwarden.policies.scope import Scope, name_matcher

RULE = "topics-unmatched"


@dataclass(frozen=True, eq=False)
class PlacedPattern:
    """One topic pattern of a rule, an expression or a waiver, with its scope and its location.

    ``key`` is the key of the policy file that has the pattern.
    """

    scope: Scope
    pattern: str
    location: Location
    key: str = "topics"

    def problem(self, names: Iterable[str]) -> Problem:
        """Return the warning that the pattern matches none of ``names``, the topics of its stacks and domains."""
        domains = self.scope.domains or ()
        where = f" in the folder{'s' if len(domains) > 1 else ''} {', '.join(domains)}" if domains else ""
        suggestion = nearest_pattern(self.pattern, names)
        remedy = f"did you mean {suggestion}?" if suggestion else "correct the pattern, or delete it"
        message = f"{self.key}: {quoted(self.pattern)} matches no topic{where}; {remedy}"
        return Problem(self.location, message, RULE, Level.WARNING)


def unmatched_patterns(
    patterns: Iterable[PlacedPattern], topics: Mapping[str, Iterable[Topic]], files: Collection[str] = ()
) -> Iterator[tuple[PlacedPattern, Problem]]:
    """Yield each pattern that matches no topic on any stack in its scope, with its warning.

    ``topics`` has all topics of all stacks, by stack. ``files`` are the files below ``access/``.
    """
    for placed in patterns:
        in_scope = {
            topic.name
            for stack, declared in topics.items()
            if placed.scope.applies_on(stack)
            for topic in declared
            if placed.scope.domains is None or topic.domain in placed.scope.domains
        }
        matches = name_matcher([placed.pattern])
        if not any(map(matches, in_scope)) and not any(map(matches, files)):
            yield placed, placed.problem(sorted(in_scope))
