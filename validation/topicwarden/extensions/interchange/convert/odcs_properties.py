"""Convert the properties of an ODCS schema object to a JSON Schema, and back.

Source: ``SchemaProperty`` of the Open Data Contract Standard,
https://bitol-io.github.io/open-data-contract-standard/v3.1.0/schema/. A property that is not required may be null.
"""

from __future__ import annotations

from typing import Any, Final

from topicwarden.extensions.interchange.convert.odcs_quality import QUALITY, take_value_rules, value_quality
from topicwarden.extensions.interchange.convert.references import Node

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_TYPES: Final = ("string", "number", "integer", "object", "array", "boolean")
"""Logical types that are JSON types. A date, a time or a timestamp can be encoded as text or as a number."""
_OPTIONS: Final = {
    "string": ("minLength", "maxLength", "pattern"),
    "number": ("multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    "integer": ("multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    "object": ("minProperties", "maxProperties"),
    "array": ("minItems", "maxItems", "uniqueItems"),
}
"""Options of a logical type that have the same name and meaning in JSON Schema."""


def json_schema(schema_object: Node) -> dict[str, Any]:
    """Return the JSON Schema of the records that a schema object describes, and mark what it says as read."""
    return {"$schema": DRAFT, **_object(schema_object)}


def properties_of(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return ODCS properties for the ``properties`` of a JSON Schema, as far as ODCS can describe them."""
    required = schema.get("required", [])
    properties = schema.get("properties", {})
    return [_property_of(name, part, name in required) for name, part in properties.items() if isinstance(part, dict)]


def _object(node: Node) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    listed = node.child("properties")
    for _, item in listed.children() if listed else ():
        name, physical_name = item.take_text("name"), item.take_text("physicalName")
        field = physical_name or name
        if field is None:
            continue
        never_null, rules = take_value_rules(item)
        is_required = _flag(item, "required") or never_null
        properties[field] = _with_rules(_schema(item, nullable=not is_required), rules, nullable=not is_required)
        if is_required:
            required.append(field)
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _with_rules(schema: dict[str, Any], rules: dict[str, Any], *, nullable: bool) -> dict[str, Any]:
    """Return the schema with the rules of the property's quality, which it must meet as well."""
    if "enum" in rules:
        rules = {**rules, "enum": [*rules["enum"], *([None] if nullable else [])]}
    return {**schema, "allOf": [rules]} if schema.keys() & rules.keys() else {**schema, **rules}


def _schema(node: Node, *, nullable: bool) -> dict[str, Any]:
    """Return the schema of one property, or of the items of an array."""
    logical_type = node.child("logicalType")
    kind = logical_type.value if logical_type else None
    schema: dict[str, Any] = {}
    if isinstance(kind, str) and kind in _TYPES and logical_type:
        logical_type.take()
        if kind == "object":
            schema = _object(node)
        schema["type"] = [kind, "null"] if nullable else kind
        for option in _OPTIONS.get(kind, ()):
            written = node.child("logicalTypeOptions", option)
            if written:
                schema[option] = written.take()
        items = node.child("items")
        if kind == "array" and items:
            schema["items"] = _schema(items, nullable=False)
    if description := node.take_text("description"):
        schema["description"] = description
    return schema


def _flag(node: Node, key: str) -> bool:
    flag = node.child(key)
    return flag is not None and flag.take() is True


def _property_of(name: str, schema: dict[str, Any], is_required: bool) -> dict[str, Any]:
    found = {"name": name, **_type_of(schema), **({"required": True} if is_required else {})}
    return {**found, QUALITY: metrics} if (metrics := value_quality(schema)) else found


def _type_of(schema: dict[str, Any]) -> dict[str, Any]:
    written = schema.get("type")
    kinds = [kind for kind in (written if isinstance(written, list) else [written]) if kind != "null"]
    found: dict[str, Any] = {}
    if len(kinds) == 1 and kinds[0] in _TYPES:
        kind = kinds[0]
        found["logicalType"] = kind
        options = {option: schema[option] for option in _OPTIONS.get(kind, ()) if option in schema}
        if options:
            found["logicalTypeOptions"] = options
        if kind == "object" and schema.get("properties"):
            found["properties"] = properties_of(schema)
        if kind == "array" and isinstance(schema.get("items"), dict):
            found["items"] = _type_of(schema["items"])
    if isinstance(schema.get("description"), str):
        found["description"] = schema["description"]
    return found
