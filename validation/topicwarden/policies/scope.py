"""The scope of a block of a policy file: stacks, and for rules, expressions and waivers domains and topics.

Without the warning, a misspelt pattern would silently have no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from topicwarden.model.field_types import StrictModel, Text
from topicwarden.model.message_text import quoted
from topicwarden.model.problem import Level, Location, Problem
from topicwarden.model.topic import Topic
from topicwarden.model.topic_selection import Globs, PatternSuggestions, is_literal

Patterns = Annotated[
    list[Text],
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
    Field(min_length=1),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]


class PolicyBlock(StrictModel):
    """A block of a policy file. It applies to ``stacks``; without any, to all stacks."""

    stacks: list[Text] | None = Field(default=None, min_length=1, description="The stacks that it applies to.")

    def applies_on(self, stack: str) -> bool:
        """Return True if ``stack`` is in scope."""
        return self.stacks is None or stack in self.stacks


class Scope(PolicyBlock):
    """A topic is in scope if it meets all given conditions; a condition that is not given always matches."""

    domains: list[Text] | None = Field(
        default=None, min_length=1, description="The folders of `topics/` that it applies to."
    )
    topics: Patterns | None = Field(default=None, description="Patterns of the topics that it applies to: `legacy.*`.")

    def matcher(self) -> Callable[[Topic], Any] | None:
        """Return a function that is true for topics in scope, on a stack in scope; None if every topic is in scope."""
        domains = None if self.domains is None else frozenset(self.domains)
        matches_name = None if self.topics is None else name_matcher(self.topics)
        if domains is None:
            return None if matches_name is None else lambda topic: matches_name(topic.name)
        return lambda topic: topic.domain in domains and (matches_name is None or matches_name(topic.name))


def name_matcher(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Return a function that is true for names that match a pattern: ``*`` is any text, ``?`` is any character."""
    return Globs(patterns).match


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

    def problem(self, suggestions: PatternSuggestions) -> Problem:
        """Return the warning that the pattern matches no topic. ``suggestions`` has those of its stacks and domains."""
        domains = self.scope.domains or ()
        where = f" in the folder{'s' if len(domains) > 1 else ''} {', '.join(domains)}" if domains else ""
        suggestion = suggestions.nearest(self.pattern)
        remedy = f"did you mean {suggestion}?" if suggestion else "correct the pattern, or delete it"
        message = f"{self.key}: {quoted(self.pattern)} matches no topic{where}; {remedy}"
        return Problem(self.location, message, RULE, Level.WARNING)


def unmatched_patterns(
    patterns: Iterable[PlacedPattern], topics: Mapping[str, Iterable[Topic]], files: Collection[str] = ()
) -> Iterator[tuple[PlacedPattern, Problem]]:
    """Yield each pattern that matches no topic on any stack in its scope, with its warning.

    ``topics`` has all topics of all stacks, by stack. ``files`` are the files below ``access/``.
    """
    known: dict[Any, tuple[frozenset[str], PatternSuggestions]] = {}
    paths = frozenset(files)
    for placed in patterns:
        scope = placed.scope
        stacks = tuple(stack for stack in topics if scope.applies_on(stack))
        key = stacks, None if scope.domains is None else frozenset(scope.domains)
        if key not in known:
            in_scope = frozenset(
                topic.name
                for stack in stacks
                for topic in topics[stack]
                if scope.domains is None or topic.domain in scope.domains
            )
            known[key] = in_scope, PatternSuggestions(sorted(in_scope))
        names, suggestions = known[key]
        if not _matches_any(placed.pattern, names) and not _matches_any(placed.pattern, paths):
            yield placed, placed.problem(suggestions)


def _matches_any(pattern: str, names: Collection[str]) -> bool:
    return pattern in names if is_literal(pattern) else any(map(name_matcher([pattern]), names))
