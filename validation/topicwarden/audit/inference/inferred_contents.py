"""The contract that the records of one topic meet: the settings below ``contents:``, and their schemas."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from topicwarden.audit.inference.inferred_rule import InferenceContext, InferredRule, RulePath
from topicwarden.audit.inference.inferred_schema import json_schema
from topicwarden.audit.inference.rules import INFERENCES
from topicwarden.audit.inference.topic_summary import TopicSummary
from topicwarden.model.contents import Contents

_PARTS: Final = ("key", "value")


@dataclass(frozen=True)
class InferredContents:
    """The rules in the order in which they are written, the number of records that were read, and JSON Schemas.

    ``all_schemas`` has the schema of each part, ``key`` or ``value``, whose format is JSON, also if that is no rule.
    """

    records: int
    rules: tuple[InferredRule, ...]
    all_schemas: Mapping[str, Mapping[str, Any]]

    @property
    def schemas(self) -> dict[str, Mapping[str, Any]]:
        """The schemas of the parts whose format is a rule."""
        rules = {rule.path[0] for rule in self.rules if rule.holds and rule.path[1:] == ("format",)}
        return {part: schema for part, schema in self.all_schemas.items() if part in rules}

    @property
    def contents(self) -> Contents:
        """The settings that are rules, without the schemas."""
        return Contents.model_validate(nested([rule for rule in self.rules if rule.holds]))

    @property
    def comments(self) -> dict[RulePath, str]:
        """The evidence of each setting that is a rule, by its path."""
        found = {rule.path: rule.evidence for rule in self.rules if rule.holds}
        return found | {(part, "schema"): "each rule has its evidence as $comment" for part in self.schemas}

    @property
    def suggestions(self) -> tuple[str, ...]:
        """A line for each setting that is no rule, with the reason."""
        return tuple(_suggestion(rule) for rule in self.rules if not rule.holds)

    def schema_text(self, part: str) -> str:
        """Return the text of the schema of ``part``, as a file."""
        return json.dumps(self.all_schemas[part], indent=2, ensure_ascii=False) + "\n"


def infer_contents(summary: TopicSummary, context: InferenceContext) -> InferredContents:
    """Return the contract that all records in ``summary`` meet."""
    rules = tuple(rule for infer in INFERENCES for rule in infer(summary, context)) if summary.records else ()
    formats = {rule.path[0]: rule.value for rule in rules if rule.value and rule.path[1:] == ("format",)}
    registered = {rule.path[0] for rule in rules if rule.path[1:] == ("registry",)}
    schemas = {
        part: json_schema(summary.encoded(part).json, context, summary.encoded(part).variants)
        for part in _PARTS
        if formats.get(part) == "json" and part not in registered
    }
    return InferredContents(summary.records, rules, schemas)


def nested(rules: list[InferredRule]) -> dict[str, Any]:
    """Return the settings of ``rules`` as below ``contents:``."""
    settings: dict[str, Any] = {}
    for rule in rules:
        at = settings
        for step in rule.path[:-1]:
            at = at.setdefault(step, {})
        at[rule.path[-1]] = rule.value
    return settings


def _suggestion(rule: InferredRule) -> str:
    path = ".".join(rule.path)
    if rule.value is None:
        return f"{path}: {rule.evidence}"
    setting = json.dumps(rule.value, ensure_ascii=False) if isinstance(rule.value, (list, bool)) else rule.value
    evidence = f"; {rule.evidence}" if rule.evidence else ""
    return f"{path}: {setting} -- {rule.doubt}{evidence}"
