"""Patterns of topics in policy files that match no declared topic: a misspelt one would hold for nothing, silently."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from topicwarden.model.problem import Level, Location, Problem
from topicwarden.model.topic import Topic
from topicwarden.policies.scope import Scope, matching
from topicwarden.specs.message_text import nearest, quoted

RULE = "topics-unmatched"


@dataclass(frozen=True, eq=False)
class PlacedPattern:
    """One pattern of a rule, an expression or a waiver, the scope that it is part of, and where it stands."""

    scope: Scope
    pattern: str
    place: Location

    def problem(self, names: Iterable[str]) -> Problem:
        """The warning that none of ``names`` matches."""
        domains = self.scope.domains or ()
        where = f" in the folder{'s' if len(domains) > 1 else ''} {', '.join(domains)}" if domains else ""
        meant = _meant(self.pattern, names)
        remedy = f"did you mean {meant}?" if meant else "correct the pattern, or delete it"
        message = f"topics: {quoted(self.pattern)} matches no topic{where}; {remedy}"
        return Problem(self.place, message, RULE, Level.WARNING)


def unmatched(
    patterns: Iterable[PlacedPattern], topics: Mapping[str, Iterable[Topic]]
) -> Iterator[tuple[PlacedPattern, Problem]]:
    """The patterns that match no topic on any stack that they hold for, each with its warning.

    ``topics`` has every topic of every stack, by stack.
    """
    for held in patterns:
        within = {
            topic.name
            for stack, declared in topics.items()
            if held.scope.on(stack)
            for topic in declared
            if held.scope.domains is None or topic.domain in held.scope.domains
        }
        matches = matching([held.pattern])
        if not any(map(matches, within)):
            yield held, held.problem(sorted(within))


def _meant(pattern: str, names: Iterable[str]) -> str | None:
    """The pattern that a misspelt one is most like: a topic's name, or for ``ordres.*`` the first parts of one."""
    if not pattern.endswith(".*"):
        return nearest(pattern, names)
    parts = [name.split(".") for name in names]
    stems = dict.fromkeys(".".join(each[:end]) for each in parts for end in range(1, len(each)))
    meant = nearest(pattern.removesuffix(".*"), stems)
    return f"{meant}.*" if meant else None
