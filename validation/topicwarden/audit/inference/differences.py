"""Find the rules that records allow to add to the declared ``contents:`` of a topic. No setting is replaced."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from topicwarden.audit.inference.inferred_contents import InferredContents
from topicwarden.audit.inference.inferred_rule import RulePath
from topicwarden.audit.inference.inferred_schema import tightened
from topicwarden.model.contents import Contents


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
