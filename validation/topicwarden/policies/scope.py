"""The scope of a block of a policy file: stacks, and for rules, expressions and waivers domains and topics."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import translate
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from topicwarden.model.field_types import StrictModel, Text
from topicwarden.model.topic import Topic

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


def name_matcher(patterns: Sequence[str]) -> Callable[[str], Any]:
    """Return a function that is true for names that match a pattern: ``*`` is any text, ``?`` is any character."""
    return re.compile("|".join(map(translate, patterns))).match
