"""Find out whether a schema can have a field at a path."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from topicwarden.model.message_text import quoted
from topicwarden.specs.record_schemas.json_text import JsonError, parse
from topicwarden.specs.record_schemas.protobuf import ProtoError, compile_proto, message_name


def path_error(format: str, text: str, message: str | None, steps: tuple[str, ...]) -> str | None:
    """Return why no record of a schema has a single value at ``steps``; None if one may have.

    Where the schema leaves open what records have, there is no error. ``text`` is a schema that compiles. ``message``
    is the declared message type of Protocol Buffers.
    """
    try:
        if format == "protobuf":
            return _protobuf_error(text, message, steps)
        schema = parse(text)
    except (JsonError, ProtoError):
        return None
    return _avro_error(schema, steps) if format == "avro" else _json_error(schema, steps)


def spelling_hint(text: str, steps: tuple[str, ...]) -> str | None:
    """Return what to do about a field that a JSON Schema allows, but that looks misspelt; None if it does not."""
    schema = parse(text)
    for step in steps:
        properties = schema.get("properties") if isinstance(schema, dict) else None
        if not isinstance(properties, dict) or {"$ref", "anyOf", "oneOf", "allOf", "patternProperties"} & {*schema}:
            return None
        if step not in properties:
            close = get_close_matches(step, properties, 1, 0.8)
            return f"did you mean {quoted(close[0])}? If not, add {quoted(step)} to the schema" if close else None
        schema = properties[step]
    return None


def _unknown(step: str, names: list[str]) -> str:
    close = get_close_matches(step, names, 1)
    hint = f"; did you mean {quoted(close[0])}?" if close else f"; expected one of {', '.join(names[:10])}"
    return f"the schema has no field {quoted(step)}{hint if names else ''}"


def _json_error(schema: Any, steps: tuple[str, ...]) -> str | None:
    for number, step in enumerate((*steps, None)):
        if not isinstance(schema, dict) or {"$ref", "anyOf", "oneOf", "allOf"} & {*schema}:
            return None
        kinds = schema.get("type")
        if step is None:
            return (
                "the field is an object or an array, expected a single value" if kinds in ("object", "array") else None
            )
        if isinstance(kinds, str) and kinds not in ("object", "array"):
            return f"{quoted(steps[number - 1])} is of the type {kinds}, and has no fields" if number else None
        properties = schema.get("properties")
        if kinds == "array" or not isinstance(properties, dict) or "patternProperties" in schema:
            return None
        if step not in properties:
            return _unknown(step, [*properties]) if schema.get("additionalProperties") is False else None
        schema = properties[step]
    return None


def _avro_error(schema: Any, steps: tuple[str, ...]) -> str | None:
    for step in (*steps, None):
        if isinstance(schema, list):
            branches = [branch for branch in schema if branch != "null"]
            if len(branches) != 1:
                return None
            schema = branches[0]
        kind = schema["type"] if isinstance(schema, dict) else None  # A text is the name of a type, even "record".
        if step is None:
            return (
                f"the field is of the type {kind}, expected a single value"
                if kind in ("record", "array", "map")
                else None
            )
        if kind != "record":
            return None
        fields = {field["name"]: field["type"] for field in schema["fields"]}
        if step not in fields:
            return _unknown(step, [*fields])
        schema = fields[step]
    return None


def _protobuf_error(text: str, message: str | None, steps: tuple[str, ...]) -> str | None:
    from google.protobuf.descriptor_pb2 import FileDescriptorSet  # noqa: PLC0415  (slow to import)

    files = FileDescriptorSet.FromString(compile_proto(text)).file
    types: dict[str, Any] = {}
    for file in files:
        pending = [(f".{file.package}" if file.package else "", each) for each in file.message_type]
        while pending:
            prefix, each = pending.pop()
            types[f"{prefix}.{each.name}"] = each
            pending += [(f"{prefix}.{each.name}", nested) for nested in each.nested_type]
    current = types.get(f".{message_name(text, message)}")
    for number, step in enumerate(steps):
        if current is None:
            return None
        fields = {field.name: field for field in current.field}
        if step not in fields:
            return _unknown(step, [*fields])
        field = fields[step]
        if field.label == field.LABEL_REPEATED:
            return None if number < len(steps) - 1 else "the field is repeated, expected a single value"
        current = types.get(field.type_name)
    return "the field is a message, expected a single value" if current is not None else None
