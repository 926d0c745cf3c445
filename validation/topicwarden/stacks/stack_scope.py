"""The topics of a cluster that a stack owns: ``topicwarden:scope`` in ``stacks/Pulumi.<stack>.yaml``.

::

    topicwarden:scope:
      topics: ['orders.*', '!orders.tmp.*']

All other topics belong to other stacks or other teams. ``selected`` defines which names a list of patterns matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from topicwarden.kafka_facts.topic_names import name_problem
from topicwarden.model.message_text import describe_value, did_you_mean, quoted
from topicwarden.model.topic_selection import EXCLUDED, selected
from topicwarden.specs.yaml_nodes import KeyPath
from topicwarden.stacks.settings_reader import InvalidSetting, decoded

GLOB: Final = r"!?([A-Za-z0-9._*?-]|\[!?[A-Za-z0-9._-]+\])+"
"""A pattern that can match topic names: their characters, ``*``, ``?`` and ``[a-c]``, perhaps after a ``!``."""

_TOPICS: Final = "topics"
_EXAMPLE: Final = "{topics: ['orders.*', '!orders.tmp.*']}"
_WILDCARD: Final = re.compile(r"\*|\?|\[!?[^\]]+\]")
_CHARACTERS: Final = "xa0.-_ABCDEFGHIJKLMNOPQRSTUVWXYZbcdefghijklmnopqrstuvwyz123456789"


@dataclass(frozen=True)
class StackScope:
    """The topics that a stack owns: those that ``patterns`` match; all topics of the cluster without patterns."""

    patterns: tuple[str, ...] = ()

    def owns(self, topic: str) -> bool:
        """Return whether the topic is in scope."""
        return selected(topic, self.patterns)

    def __str__(self) -> str:
        return ", ".join(self.patterns)


EVERY_TOPIC: Final = StackScope()
"""The scope of a stack that sets none: all topics of the cluster."""


def stack_scope(value: Any) -> StackScope:
    """Return the scope in the setting's value: a mapping, or the same as JSON. Raises InvalidSetting."""
    scope = decoded(value)
    if problems := list(_problems(scope)):
        raise InvalidSetting(*problems)
    return StackScope(tuple(_patterns(scope)))


def shared_name(one: StackScope, other: StackScope) -> str | None:
    """Return a valid topic name that both scopes own; None if none was found, which does not prove that none exists.

    The names are those that the patterns themselves suggest: ``orders.x`` for ``orders.*``.
    """
    patterns = [pattern for pattern in (*one.patterns, *other.patterns) if not pattern.startswith(EXCLUDED)]
    names = (_example(pattern, text) for pattern in patterns or ["*"] for text in ("x", "", "0"))
    return next((name for name in names if not name_problem(name) and one.owns(name) and other.owns(name)), None)


def _example(pattern: str, text: str) -> str:
    """Return a name that ``pattern`` matches, with ``text`` for each ``*`` and a fitting character for the others."""
    return _WILDCARD.sub(
        lambda wildcard: next(each for each in (text, *_CHARACTERS, "") if selected(each, [wildcard[0]]) or not each),
        pattern,
    )


def _patterns(scope: Any) -> Any:
    topics = scope.get(_TOPICS)
    return [topics] if isinstance(topics, str) else topics


def _problems(scope: Any) -> Iterator[tuple[KeyPath, str]]:
    if not isinstance(scope, dict):
        yield (), f"expected a mapping such as {_EXAMPLE}, got {describe_value(scope)}"
        return
    if "secure" in scope:
        yield (), "expected plain text, got an encrypted value; every command reads the scope without decryption"
        return
    unknown = [str(key) for key in scope if key != _TOPICS]
    for key in unknown:
        yield (key,), f"unknown key {quoted(key)}{did_you_mean(key, [_TOPICS]) or f'; the only key is {_TOPICS}'}"
    if unknown and _TOPICS not in scope:
        return
    patterns = _patterns(scope)
    if not isinstance(patterns, list) or not patterns:
        seen = "an empty list" if patterns == [] else describe_value(patterns)
        yield (_TOPICS,), f"expected a list of patterns such as ['orders.*', '!orders.tmp.*'], got {seen}"
        return
    for index, pattern in enumerate(patterns):
        if not isinstance(pattern, str):
            yield (_TOPICS, index), f"expected a pattern such as 'orders.*', got {describe_value(pattern)}"
        elif not re.fullmatch(GLOB, pattern, re.ASCII):
            yield (
                (_TOPICS, index),
                f"expected a pattern such as 'orders.*' or '!orders.tmp.*', got {quoted(pattern)}; * is any text, "
                "? any character, [ab] one of these; all other characters must be legal in topic names",
            )
