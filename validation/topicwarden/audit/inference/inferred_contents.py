"""The contract that the records of one topic meet, with its schemas, and what it adds to the declared one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from topicwarden.audit.inference.inferred_rule import InferenceContext, InferredRule, RulePath
from topicwarden.audit.inference.inferred_schema import json_schema, tightened
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


@dataclass(frozen=True)
class ContractDifference:
    """A rule that all records meet and that is not declared: where it belongs, the YAML of it, and its evidence.

    ``doubt``: why it is only a suggestion; empty if it is a rule.
    """

    path: str
    rule: str
    evidence: str
    doubt: str = ""


def differences(
    declared: Contents, schemas: Mapping[str, str], inferred: InferredContents
) -> Iterator[ContractDifference]:
    """Yield what ``inferred`` says beyond ``declared``. ``schemas`` are the texts of the declared schemas, by part."""
    settings = declared.model_dump(by_alias=True, exclude_defaults=True)
    for rule in inferred.rules:
        if rule.value is None or (_is_declared(settings, rule.path) and rule.path != ("headers", "required")):
            continue
        value = rule.value
        if rule.path == ("headers", "required"):
            value = [name for name in value if name not in (declared.headers.required or ())]
            if not value:
                continue
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield ContractDifference(".".join(rule.path), text, rule.evidence, rule.doubt)
    for part, schema in inferred.schemas.items():
        encoding = declared.encoding(part)
        if part in schemas and encoding.format == "json":
            for path, rule_text in tightened(_parsed(schemas[part]), schema):
                text, _, evidence = rule_text.partition("  # ")
                yield ContractDifference(f"{part}.schema {path}", text, evidence)
        elif encoding.format in (None, "json") and not encoding.registry:
            evidence = schema.get("$comment", "")
            yield ContractDifference(f"{part}.schema", f"a JSON Schema of {evidence}", "--out DIR writes it")


def _is_declared(settings: Mapping[str, Any], path: RulePath) -> bool:
    """Return whether the setting has a value; of the keys, any partitioner is one."""
    section = settings.get(path[0]) or {}
    if path == ("key", "partitioner"):
        return bool(section.keys() & {"partitioner", "partition_expression", "partition_function"})
    return bool(section if len(path) == 1 else path[1] in section)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
