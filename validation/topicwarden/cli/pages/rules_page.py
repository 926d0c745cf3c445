"""The documentation of all rules, generated from their docstrings and settings."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from topicwarden import policies
from topicwarden.model.units import DURATION, SIZE
from topicwarden.policies import expressions, topic_view, waivers
from topicwarden.policies.expressions import ExpressionSpec
from topicwarden.policies.rule import AccessRule, AdviceSettings, Rule, RuleLevel, RuleSettings, StackRule
from topicwarden.policies.rules import ALL_RULES
from topicwarden.policies.waivers import Waiver


def rule_docs() -> dict[str, str]:
    """Return the documentation of each rule as Markdown, by rule id."""
    return {name: "\n\n".join([*_section(name, rule)][1:]) for name, rule in ALL_RULES.items()}


def page() -> str:
    """Return the page of all rules, expressions and waivers, as Markdown."""
    on = {name: rule for name, rule in ALL_RULES.items() if rule.ALWAYS is not None}
    off = {name: rule for name, rule in ALL_RULES.items() if rule.ALWAYS is None}
    parts = ["# Rules", _doc(policies), "Every rule has these settings:", _table(RuleSettings), "## Always on"]
    for name, rule in on.items():
        parts += _section(name, rule)
    parts.append("## On if a policy file names the rule")
    for name, rule in off.items():
        parts += _section(name, rule)
    parts += ["## Expressions", _doc(expressions), _table(ExpressionSpec, RuleSettings), _doc(topic_view)]
    parts += ["## Waivers", _doc(waivers), _table(Waiver)]
    return "\n\n".join(parts) + "\n"


def _section(name: str, rule: Rule | StackRule | AccessRule) -> Iterator[str]:
    yield f"### {name}"
    if issubclass(rule.Settings, AdviceSettings):
        yield "Default level: warning."
    yield _doc(rule)
    if set(rule.Settings.model_fields) - set(RuleSettings.model_fields):
        yield _table(rule.Settings, RuleSettings)


def _doc(documented: Any) -> str:
    return inspect.getdoc(documented) or ""


def _table(model: type[BaseModel], documented: type[BaseModel] | None = None) -> str:
    """Return a table of the settings of ``model``, without those of ``documented``, which have their own table."""
    properties = model.model_json_schema()["properties"]
    rows = [
        f"| `{name}` | {_kind(properties[name])} | {_default(field)} | {field.description or ''} |"
        for name, field in model.model_fields.items()
        if documented is None or name not in documented.model_fields
    ]
    return "\n".join(["| setting | type | default | |", "|---|---|---|---|", *rows])


def _kind(schema: dict[str, Any]) -> str:
    """Return the type of a setting in one or two words, from its JSON Schema."""
    kinds = [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
    if len(kinds) == 1 and "anyOf" in kinds[0]:
        return _kind(kinds[0])
    patterns = {each.get("pattern") for each in kinds}
    for unit in (DURATION, SIZE):
        if unit.pattern in patterns:
            return f"{unit.noun}, such as {unit.example.partition(',')[0]}"
    return " or ".join(map(_plain_kind, kinds))


def _plain_kind(kind: dict[str, Any]) -> str:
    if kind.get("type") == "array":
        return f"list of {', '.join(kind['items'].get('enum', ['texts']))}"
    if "$ref" in kind:
        return ", ".join(each.value for each in RuleLevel)
    words = {"integer": "whole number", "string": "text", "boolean": "true or false", "object": "mapping"}
    return "day" if kind.get("format") == "date" else words[kind["type"]]


def _default(field: FieldInfo) -> str:
    default = field.default
    if field.is_required():
        return "required"
    if default is None or default in ([], {}):
        return ""
    if isinstance(default, RuleLevel):
        return f"`{default.value}`"
    return f"`{str(default).lower() if isinstance(default, bool) else str(default).translate(_PLAIN)}`"


_PLAIN = str.maketrans("", "", "'")
