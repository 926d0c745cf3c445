"""JSON Schemas of the YAML files, for completion, documentation and validation in editors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from topicwarden.kafka_facts.configs import ConfigDefinition, definitions, group_definitions, kafka_lines
from topicwarden.kinds.subject.spec import SubjectDocument
from topicwarden.specs.access_model import AccessDocument
from topicwarden.specs.document_model import TopicDocument

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def spec_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a topic's document, with Kafka's documentation of each ``config``."""
    schema = editor_schema(TopicDocument.model_json_schema(by_alias=True), "Kafka topic")
    _add_facts(schema["properties"]["config"]["properties"], definitions())
    schema["$defs"]["TopicSettings"]["properties"]["config"] = {"$ref": "#/properties/config"}
    return schema


def access_schema() -> dict[str, Any]:
    """Return the JSON Schema of a file below ``access/``, with Kafka's documentation of each setting of a group."""
    schema = editor_schema(AccessDocument.model_json_schema(by_alias=True), "Access to Kafka")
    settings = next(each for each in schema["properties"]["group_configs"]["anyOf"] if "additionalProperties" in each)
    _add_facts(settings["additionalProperties"]["properties"], group_definitions())
    schema["$defs"]["AccessSettings"]["properties"]["group_configs"] = {"$ref": "#/properties/group_configs"}
    return schema


def subject_schema() -> dict[str, Any]:
    """Return the JSON Schema of a file below ``subjects/``."""
    return editor_schema(SubjectDocument.model_json_schema(by_alias=True), "Subjects of a Schema Registry")


def _add_facts(settings: dict[str, Any], known: Mapping[str, ConfigDefinition]) -> None:
    for name, definition in known.items():
        settings[name]["description"] += f"\n\n{_facts(definition)}"


def editor_schema(schema: dict[str, Any], title: str) -> dict[str, Any]:
    """Return pydantic's ``schema`` without noise in editors, and with a description (shown on hover) for every key.

    Titles and the defaults of mappings and lists are removed: editors would show or insert them.
    """
    defs: dict[str, Any] = schema.get("$defs", {})
    _simplify(schema, defs)
    return {"$schema": DRAFT} | schema | {"title": title}


def _simplify(node: Any, defs: dict[str, Any]) -> None:
    if isinstance(node, list):
        for item in node:
            _simplify(item, defs)
    elif isinstance(node, dict):
        # Keys below these are names in users' files, not keywords of JSON Schema.
        for container in ("properties", "$defs"):
            for child in node.get(container, {}).values():
                _simplify(child, defs)
        for entry in node.get("properties", {}).values():
            _describe(entry, defs)
        node.pop("title", None)
        if isinstance(node.get("default", 0), (dict, list, type(None))):
            del node["default"]
        for name, child in node.items():
            if name not in ("properties", "$defs", "enum", "const"):
                _simplify(child, defs)


def _describe(entry: dict[str, Any], defs: dict[str, Any]) -> None:
    """Copy the description of a referenced definition to a key that has none."""
    for reference in (entry, *entry.get("anyOf", ())):
        target = defs.get(str(reference.get("$ref", "")).rpartition("/")[2], {})
        if "description" in target:
            entry.setdefault("description", target["description"])


def _facts(definition: ConfigDefinition) -> str:
    lines = [f"Expected: {definition.expected}."]
    if definition.default is not None:
        lines.append(f"Kafka's default: {definition.default or 'none'}.")
    if definition.server_default:
        lines.append(f"The broker's {definition.server_default} applies if the topic does not set it.")
    known = kafka_lines()
    if definition.since != known[0]:
        lines.append(f"Since Kafka {definition.since}.")
    if definition.until != known[-1]:
        lines.append(f"Until Kafka {definition.until}.")
    return "\n".join(lines)
