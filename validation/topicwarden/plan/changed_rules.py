"""The rules under ``contents`` that are new or stricter than those of the last deploy, which Pulumi's state records."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from topicwarden.model.contents import NO_CONTENTS, EncodedContents
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.schema_files import ProjectSchemas, UnusableSchema, schema_path

CHECKS: Final[Mapping[str, str]] = {
    "key": "key-schema",
    "key.required": "null-key",
    "key.partitioner": "key-partition",
    "key.partition_expression": "key-partition",
    "key.partition_function": "key-partition",
    "key.max_share": "hot-key",
    "value": "value-schema",
    "headers.required": "header",
    "timestamps.type": "timestamp-type",
    "timestamps.max_ahead": "timestamp-future",
    "timestamps.max_late": "timestamp-late",
    "records.max_bytes": "record-size",
    "partitions.max_skew": "partition-skew",
    "arrival.max_silence": "arrival-silence",
    "arrival.every": "arrival-count",
    "arrival.timezone": "arrival-count",
    "arrival.min": "arrival-count",
    "arrival.max": "arrival-count",
    "expressions": "expression",
    "ordered": "ordered",
    "unique": "unique",
    "references": "references",
}
"""The check of each rule. Other settings under ``contents`` are no rules for records."""

_LOOSER: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "arrival.min": operator.lt,
    **{rule: operator.gt for rule in CHECKS if rule.rpartition(".")[2].startswith("max")},
}
"""Whether a number is a looser limit than an earlier one."""
_ENCODING: Final = frozenset(field.alias or name for name, field in EncodedContents.model_fields.items())


@dataclass(frozen=True)
class RuleTrial:
    """A topic whose lists of rules have only the new ones, and the checks of all rules that are new or stricter."""

    declaration: Declaration
    checks: frozenset[str]


def recorded_rules(declaration: Declaration, schemas: ProjectSchemas) -> dict[str, Any]:
    """Return the declared rules as the state records them: by path, with a digest of the text of each schema."""
    contents = declaration.topic.contents
    if contents == NO_CONTENTS:
        return {}
    rules: dict[str, Any] = {}
    for section, value in contents.model_dump(mode="json", by_alias=True, exclude_defaults=True).items():
        settings = dict(value) if isinstance(value, dict) else {"": value}
        if section in ("key", "value"):
            encoding = {name: settings.pop(name) for name in _ENCODING & settings.keys()}
            if path := schema_path(declaration, section):
                encoding["sha256"] = _digest(path, schemas)
            rules[section] = encoding
        rules |= {f"{section}.{name}" if name else section: each for name, each in settings.items()}
    return {name: rule for name, rule in rules.items() if name in CHECKS and rule not in (None, {}, [])}


def rule_trial(declaration: Declaration, before: Mapping[str, Any], schemas: ProjectSchemas) -> RuleTrial | None:
    """Return the rules of a topic that are new or stricter than ``before``, the recorded ones; None without any."""
    declared = recorded_rules(declaration, schemas)
    changed = {
        name
        for name, rule in declared.items()
        if rule != before.get(name) and not _needs_no_trial(name, rule, before.get(name))
    }
    if not changed:
        return None
    contents = declaration.topic.contents
    added: dict[str, Any] = {
        name: _added(getattr(contents, name), declared.get(name), before.get(name))
        for name in ("expressions", "ordered", "unique", "references")
    }
    headers = _added(contents.headers.required, declared.get("headers.required"), before.get("headers.required"))
    added["headers"] = contents.headers.model_copy(update={"required": headers})
    emptied = {name for name in changed if name in added and not added[name]}
    emptied |= set() if headers else {"headers.required"}
    checks = frozenset(CHECKS[name] for name in changed - emptied)
    topic = replace(declaration.topic, contents=contents.model_copy(update=added))
    return RuleTrial(replace(declaration, topic=topic), checks) if checks else None


def _added(rules: tuple[Any, ...] | None, declared: list[Any] | None, before: list[Any] | None) -> tuple[Any, ...]:
    """Return those of ``rules`` that were not deployed before; ``declared`` are the same rules as recorded."""
    return tuple(rule for rule, text in zip(rules or (), declared or (), strict=True) if text not in (before or ()))


def _needs_no_trial(name: str, rule: Any, before: Any) -> bool:
    """Return whether a rule is looser than ``before``, or a schema of a subject, whose own plan tries it."""
    if name in ("key", "value"):
        return before is not None and all(isinstance(each.get("registry"), dict) for each in (rule, before))
    return name in _LOOSER and before is not None and _LOOSER[name](rule, before)


def _digest(path: str, schemas: ProjectSchemas) -> str:
    try:
        return hashlib.sha256(schemas.text(path).encode()).hexdigest()
    except UnusableSchema:
        return ""
