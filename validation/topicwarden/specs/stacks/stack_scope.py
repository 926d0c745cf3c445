"""The topics and the access that a stack owns on a cluster: ``topicwarden:scope`` in ``stacks/Pulumi.<stack>.yaml``.

::

    topicwarden:scope:
      topics: ['orders.*', '!orders.tmp.*']
      principals: ['User:orders-*', 'User:billing']   # optional, as the other keys
      groups: ['orders-*']
      transactional_ids: ['orders-*']

Everything else belongs to other stacks or other teams. ``selected`` defines which names a list of patterns matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from topicwarden.kafka_facts.access.roles import NamePattern
from topicwarden.kafka_facts.topic_names import name_problem
from topicwarden.model.access import WILDCARD, Acl, PatternType, ResourceType
from topicwarden.model.message_text import describe_value, did_you_mean, quoted
from topicwarden.model.topic_selection import EXCLUDED, selected
from topicwarden.specs.stacks.settings_reader import InvalidSetting, SettingProblem, decoded, is_encrypted
from topicwarden.specs.yaml_nodes import KeyPath

GLOB: Final = r"!?([A-Za-z0-9._*?-]|\[!?[A-Za-z0-9._-]+\])+"
"""A pattern that can match topic names: their characters, ``*``, ``?`` and ``[a-c]``, perhaps after a ``!``."""

_TOPICS: Final = "topics"
_ACCESS_KEYS: Final = ("principals", "groups", "transactional_ids")
KEYS: Final = (_TOPICS, *_ACCESS_KEYS)
_EXAMPLES: Final = {"principals": "'User:orders-*'", "groups": "'orders-*'", "transactional_ids": "'orders-*'"}
_EXAMPLE: Final = "{topics: ['orders.*', '!orders.tmp.*']}"
_WILDCARD: Final = re.compile(r"\*|\?|\[!?[^\]]+\]")
_CHARACTERS: Final = "xa0.-_ABCDEFGHIJKLMNOPQRSTUVWXYZbcdefghijklmnopqrstuvwyz123456789"


@dataclass(frozen=True)
class StackScope:
    """The topics that a stack owns: those that ``patterns`` match; all topics of the cluster without patterns.

    It owns an ACL if it owns both the principal and all resources that the ACL is about. ``principals``, ``groups``
    and ``transactional_ids`` are patterns, too; without patterns, all are the stack's.
    """

    patterns: tuple[str, ...] = ()
    principals: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    transactional_ids: tuple[str, ...] = ()

    def owns(self, topic: str) -> bool:
        """Return whether the topic is in scope."""
        return selected(topic, self.patterns)

    def owns_principal(self, principal: str) -> bool:
        """Return whether the principal is in scope."""
        return selected(principal, self.principals)

    def owns_name(self, resource_type: ResourceType, names: NamePattern) -> bool:
        """Return whether all resources with ``names`` are in scope."""
        patterns = self._patterns_of(resource_type)[1]
        if names.name == WILDCARD and not names.prefix:
            names = NamePattern("", prefix=True)
        return _covers(patterns, names.name) if names.prefix else selected(names.name, patterns)

    def owns_acl(self, acl: Acl) -> bool:
        """Return whether the ACL is in scope."""
        return self.foreign_part(acl) is None

    def foreign_part(self, acl: Acl) -> str | None:
        """Return the part of the scope, as text, that the ACL is outside of; None if the stack owns the ACL."""
        if not self.owns_principal(acl.principal):
            return f"principals: {', '.join(self.principals)}"
        names = NamePattern(acl.resource_name, acl.pattern_type is PatternType.PREFIXED)
        if self.owns_name(acl.resource_type, names):
            return None
        key, patterns = self._patterns_of(acl.resource_type)
        return f"{key}: {', '.join(patterns)}"

    def _patterns_of(self, resource_type: ResourceType) -> tuple[str, tuple[str, ...]]:
        by_type = {
            ResourceType.TOPIC: (_TOPICS, self.patterns),
            ResourceType.GROUP: ("groups", self.groups),
            ResourceType.TRANSACTIONAL_ID: ("transactional_ids", self.transactional_ids),
        }
        return by_type.get(resource_type, ("", ()))

    def __str__(self) -> str:
        return ", ".join(self.patterns)


EVERY_TOPIC: Final = StackScope()
"""The scope of a stack that sets none: all topics of the cluster."""


def stack_scope(value: Any) -> StackScope:
    """Return the scope in the setting's value: a mapping, or the same as JSON. Raises InvalidSetting."""
    scope = decoded(value)
    if problems := list(_problems(scope)):
        raise InvalidSetting(*(SettingProblem(*each) for each in problems))
    return StackScope(*(tuple(_patterns(scope, key)) for key in KEYS))


def shared_name(one: StackScope, other: StackScope) -> str | None:
    """Return a valid topic name that both scopes own; None if none was found, which does not prove that none exists.

    The names are those that the patterns themselves suggest: ``orders.x`` for ``orders.*``.
    """
    patterns = [pattern for pattern in (*one.patterns, *other.patterns) if not pattern.startswith(EXCLUDED)]
    names = (_example(pattern, text) for pattern in patterns or ["*"] for text in ("x", "", "0"))
    return next((name for name in names if not name_problem(name) and one.owns(name) and other.owns(name)), None)


def _covers(patterns: Sequence[str], prefix: str) -> bool:
    """Return whether ``patterns`` match every name that begins with ``prefix``; False in case of doubt."""
    excluded = [_literal_start(pattern[1:]) for pattern in patterns if pattern.startswith(EXCLUDED)]
    included = [pattern for pattern in patterns if not pattern.startswith(EXCLUDED)] or ["*"]
    if any(start.startswith(prefix) or prefix.startswith(start) for start in excluded):
        return False
    return any(
        pattern.endswith("*") and _literal_start(pattern) == pattern[:-1] and prefix.startswith(pattern[:-1])
        for pattern in included
    )


def _literal_start(pattern: str) -> str:
    wildcard = _WILDCARD.search(pattern)
    return pattern[: wildcard.start()] if wildcard else pattern


def _example(pattern: str, text: str) -> str:
    """Return a name that ``pattern`` matches, with ``text`` for each ``*`` and a fitting character for the others."""
    return _WILDCARD.sub(
        lambda wildcard: next(each for each in (text, *_CHARACTERS, "") if selected(each, [wildcard[0]]) or not each),
        pattern,
    )


def _patterns(scope: Any, key: str) -> Any:
    patterns = scope.get(key, ())
    return [patterns] if isinstance(patterns, str) else patterns


def _problems(scope: Any) -> Iterator[tuple[KeyPath, str]]:
    if not isinstance(scope, dict):
        yield (), f"expected a mapping such as {_EXAMPLE}, got {describe_value(scope)}"
        return
    if is_encrypted(scope):
        yield (), "expected plain text, got an encrypted value; every command reads the scope without decryption"
        return
    unknown = [str(key) for key in scope if key not in KEYS]
    for key in unknown:
        remedy = did_you_mean(key, KEYS) or f"; known are {', '.join(KEYS)}"
        yield (key,), f"unknown key {quoted(key)}{remedy}"
    if unknown and _TOPICS not in scope:
        return
    yield from _topic_problems(_patterns(scope, _TOPICS) or scope.get(_TOPICS))
    for key in _ACCESS_KEYS:
        if key in scope:
            yield from _name_problems(key, _patterns(scope, key))


def _topic_problems(patterns: Any) -> Iterator[tuple[KeyPath, str]]:
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


def _name_problems(key: str, patterns: Any) -> Iterator[tuple[KeyPath, str]]:
    if not isinstance(patterns, list) or not patterns:
        seen = "an empty list" if patterns == [] else describe_value(patterns)
        yield (key,), f"expected a list of patterns such as [{_EXAMPLES[key]}], got {seen}"
        return
    for index, pattern in enumerate(patterns):
        if not isinstance(pattern, str) or not pattern.removeprefix(EXCLUDED):
            yield (key, index), f"expected a pattern such as {_EXAMPLES[key]}, got {describe_value(pattern)}"
        elif key == "principals" and ":" not in pattern and not pattern.endswith("*"):
            yield (
                (key, index),
                f"expected a pattern of principals with their type such as {_EXAMPLES[key]}, got {quoted(pattern)}; "
                f"write User:{pattern}",
            )
