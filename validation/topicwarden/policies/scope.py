"""Where a rule, an expression or a waiver holds: on which stacks, in which domains, for which topics."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import translate
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from topicwarden.model.topic import Topic
from topicwarden.specs.document_model import ContentsSection, Text

Patterns = Annotated[
    list[Text],
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
    Field(min_length=1),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]


class Scope(ContentsSection):
    """All that is given must fit; what is not given fits everything."""

    stacks: list[Text] | None = Field(default=None, min_length=1, description="The stacks it holds for.")
    domains: list[Text] | None = Field(default=None, min_length=1, description="The folders of `topics/` it holds for.")
    topics: Patterns | None = Field(default=None, description="Patterns of the topics it holds for: `legacy.*`.")

    def on(self, stack: str) -> bool:
        return self.stacks is None or stack in self.stacks

    def matcher(self) -> Callable[[Topic], Any] | None:
        """Whether a topic is within the scope, on a stack that is; None where every topic is."""
        domains = None if self.domains is None else frozenset(self.domains)
        names = None if self.topics is None else matching(self.topics)
        if domains is None:
            return None if names is None else lambda topic: names(topic.name)
        return lambda topic: topic.domain in domains and (names is None or names(topic.name))


def matching(patterns: Sequence[str]) -> Callable[[str], Any]:
    """Whether a name is like one of the patterns, in which ``*`` and ``?`` stand for any characters and any one."""
    return re.compile("|".join(map(translate, patterns))).match
