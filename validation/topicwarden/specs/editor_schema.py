"""JSON Schemas of what people write, so that editors complete, explain and check as one types."""

from __future__ import annotations

from typing import Any

from topicwarden.specs.configs import ConfigDefinition, definitions, kafka_lines
from topicwarden.specs.document_model import TopicDocument

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def spec_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of one document; ``config`` lists Kafka's names with Kafka's documentation."""
    schema = for_editors(TopicDocument.model_json_schema(by_alias=True), "Kafka topic")
    settings = schema["properties"]["config"]["properties"]
    for definition in definitions().values():
        settings[definition.name]["description"] += f"\n\n{_facts(definition)}"
    schema["$defs"]["TopicSettings"]["properties"]["config"] = {"$ref": "#/properties/config"}
    return schema


def for_editors(schema: dict[str, Any], title: str) -> dict[str, Any]:
    """pydantic's schema without what editors would show or insert for nothing, and with a hover for every key."""
    defs: dict[str, Any] = schema.get("$defs", {})
    _tidy(schema, defs)
    return {"$schema": _DRAFT} | schema | {"title": title}


def _tidy(node: Any, defs: dict[str, Any]) -> None:
    if isinstance(node, list):
        for item in node:
            _tidy(item, defs)
    elif isinstance(node, dict):
        # Under these a key is a name that users write, and not one of JSON Schema's.
        for named in ("properties", "$defs"):
            for below in node.get(named, {}).values():
                _tidy(below, defs)
        for name, entry in node.get("properties", {}).items():
            _describe(entry, defs, name)
        node.pop("title", None)
        if isinstance(node.get("default", 0), (dict, list, type(None))):
            del node["default"]
        for name, below in node.items():
            if name not in ("properties", "$defs", "enum", "const"):
                _tidy(below, defs)


def _describe(entry: dict[str, Any], defs: dict[str, Any], name: str) -> None:
    """The hover of a key whose value is a mapping of its own is what that mapping says of itself."""
    for reference in (entry, *entry.get("anyOf", ())):
        target = defs.get(str(reference.get("$ref", "")).rpartition("/")[2], {})
        if "description" in target:
            entry.setdefault("description", target["description"])


def _facts(definition: ConfigDefinition) -> str:
    lines = [f"Expected: {definition.expected}."]
    if definition.default is not None:
        lines.append(f"Kafka's default: {definition.default or 'none'}.")
    if definition.server_default:
        lines.append(f"The broker's {definition.server_default} holds where no topic sets it.")
    known = kafka_lines()
    if definition.since != known[0]:
        lines.append(f"Since Kafka {definition.since}.")
    if definition.until != known[-1]:
        lines.append(f"Until Kafka {definition.until}.")
    return "\n".join(lines)
