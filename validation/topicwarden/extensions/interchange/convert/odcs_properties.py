"""Convert the properties of an ODCS schema object to a JSON Schema, and back.

Source: ``SchemaProperty`` of the Open Data Contract Standard,
https://bitol-io.github.io/open-data-contract-standard/v3.1.0/schema/. A property that is not required may be null.

Source: https://bitol-io.github.io/open-data-contract-standard/v3.1.0/data-quality/. Only a metric that must be 0 says
the same as a rule. Of the whole schema object, ``duplicateValues`` is ``unique``; a unique rule with a header, the key
or a period has no counterpart. Of a property, ``nullValues`` is ``required``, and ``invalidValues`` is ``enum`` or
``pattern`` in its schema. A null is no invalid value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from topicwarden.extensions.interchange.convert.references import Node, json_text
from topicwarden.model.contents import Contents, UniqueRule, path_steps
from topicwarden.specs.record_schemas import COMPILERS

QUALITY: Final = "quality"
_DUPLICATES: Final = "duplicateValues"
_NULLS: Final = "nullValues"
_INVALID: Final = "invalidValues"


def with_unique(contents: Contents, item: Node) -> Contents:
    """Return ``contents`` with the unique rules in the quality of a schema object, which it takes."""
    declared, taken = contents.unique or (), dict.fromkeys(_taken(item))
    if contents.value.format not in COMPILERS:  # a rule for fields would be wrong
        if taken:
            reason = "not imported, because the format of the values is not imported"
            item.document.reader.note(item.location, f"{QUALITY}[] {_DUPLICATES}", reason)
        return contents
    added = tuple(rule for rule in taken if rule not in declared)
    return contents.model_copy(update={"unique": (*declared, *added)}) if added else contents


def _taken(item: Node) -> Iterator[UniqueRule]:
    listed, properties = item.child(QUALITY), item.child("properties")
    names = (
        {each.value.get("name") for _, each in properties.children() if isinstance(each.value, dict)}
        if (properties)
        else set()
    )
    for _, metric in listed.children() if listed else ():
        if not isinstance(metric.value, dict) or (fields := _fields(metric.value)) is None:
            continue
        metric.take()
        yield UniqueRule(fields=tuple(_pointer(each) if each in names else each for each in fields))


def _fields(metric: dict[str, Any]) -> list[str] | None:
    """Return the fields of a metric that says the same as a unique rule; None for other metrics."""
    arguments = _arguments(metric, _DUPLICATES)
    fields = arguments.get("properties") if arguments is not None and arguments.keys() == {"properties"} else None
    texts = (
        isinstance(fields, list) and fields and all(isinstance(each, str) and all(path_steps(each)) for each in fields)
    )
    return fields if texts else None


def _arguments(metric: Any, name: str) -> dict[str, Any] | None:
    """Return the arguments of the library metric ``name``, whose number of rows must be 0; None for other metrics."""
    if not isinstance(metric, dict):
        return None
    rest = {key: value for key, value in metric.items() if key != "arguments"}
    arguments = metric.get("arguments") or {}
    same = {"type": "library", "unit": "rows"} | rest == _must_be_0(name) | {"unit": "rows"}
    return arguments if same and isinstance(arguments, dict) else None


def _must_be_0(name: str, **arguments: Any) -> dict[str, Any]:
    metric = {"type": "library", "metric": name, "mustBe": 0}
    return {**metric, "arguments": arguments} if arguments else metric


def take_value_rules(item: Node) -> tuple[bool, dict[str, Any]]:
    """Return whether a property is never null by its quality, and its ``enum`` and ``pattern``; take these metrics."""
    never_null, rules = False, dict[str, Any]()
    listed = item.child(QUALITY)
    for _, metric in listed.children() if listed else ():
        if _arguments(metric.value, _NULLS) == {}:
            never_null = True
            metric.take()
            continue
        match _arguments(metric.value, _INVALID):
            case {"validValues": list() as values, **more} if values and not more and "enum" not in rules:
                rules["enum"] = values
                metric.take()
            case {"pattern": str() as pattern, **more} if not more and "pattern" not in rules:
                rules["pattern"] = pattern
                metric.take()
    return never_null, rules


def value_quality(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the metric that says the same as the ``enum`` of a property; empty without one."""
    values = [value for value in schema.get("enum", ()) if value is not None]
    return [_must_be_0(_INVALID, validValues=values)] if values else []


def _pointer(name: str) -> str:
    """Return the path of the property ``name``: a JSON pointer if a dotted path would be another field."""
    escaped = name.replace("~", "~0").replace("/", "~1")
    return name if "." not in name and escaped == name else f"/{escaped}"


def quality(rules: Sequence[UniqueRule]) -> list[dict[str, Any]]:
    """Return the metrics that say the same as ``rules``; none if that is not possible for each of them."""
    if any(rule.header or rule.key or rule.within is not None for rule in rules):
        return []
    return [_must_be_0(_DUPLICATES, properties=list(rule.fields or ())) for rule in rules]


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
        schema = _with_rules(_schema(item, nullable=not is_required), rules, nullable=not is_required)
        if error := COMPILERS["json"](json_text({"$schema": DRAFT, **schema}), None):
            item.take()
            reason = f"not imported, because as a JSON Schema it {error}"
            item.document.reader.leave_out(item.location, f"the type of {field}", reason)
        else:
            properties[field] = schema
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
        for bound in ("minimum", "maximum"):
            # Before version 3.1 of the standard, a boolean that is about the other bound.
            exclusive = f"exclusive{bound.capitalize()}"
            if schema.get(exclusive) is True and bound in schema:
                schema[exclusive] = schema.pop(bound)
            elif schema.get(exclusive) is False:
                del schema[exclusive]
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
