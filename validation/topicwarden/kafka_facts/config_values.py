"""The ``config`` mapping of a document: YAML values converted to the text that Kafka's API uses."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Annotated, Any, TypeAlias

from pydantic import PlainValidator, ValidationError, WithJsonSchema
from pydantic_core import InitErrorDetails, PydanticCustomError, PydanticKnownError

from topicwarden.kafka_facts import configs
from topicwarden.kafka_facts.configs import ConfigDefinition
from topicwarden.model import message_text
from topicwarden.model.field_types import custom_error
from topicwarden.model.units import unit_of

_INTEGER_TYPES = ("short", "int", "long")
_NOT_CONFIGS = {
    "partitions": "partitions",
    "num.partitions": "partitions",
    "replicas": "replication_factor",
    "replication_factor": "replication_factor",
    "replication.factor": "replication_factor",
    "default.replication.factor": "replication_factor",
}
"""Our keys for names that other tools and brokers use as settings, but that are not topic configurations."""


def kafka_spelling(definition: ConfigDefinition, value: Any) -> str:
    """Return ``value`` as Kafka spells it: ``604800000`` for ``7d``, ``compact,delete`` for ``[compact, delete]``.

    Raise ValueError, with a message for the user, if Kafka would reject the value.
    """
    if isinstance(value, float) and definition.type in _INTEGER_TYPES:
        raise ValueError(f"expected {definition.expected}, got {value}{message_text.whole_number_hint(value)}")
    text = _to_text(definition, value)
    if problem := definition.problem(text, value if isinstance(value, str) else None):
        raise ValueError(problem)
    if definition.type == "boolean":
        return text.lower()
    return str(int(text)) if definition.type in _INTEGER_TYPES else text


def _to_text(definition: ConfigDefinition, value: Any) -> str:
    if isinstance(value, bool) and definition.type == "boolean":
        return "true" if value else "false"
    if isinstance(value, bool):
        raise _unexpected(definition, message_text.describe_value(value))
    if isinstance(value, (int, float)):
        return str(value)
    unit = unit_of(definition.name)
    if unit and isinstance(value, str):
        return str(unit.parse(value))
    if definition.type == "list" and isinstance(value, (str, list)):
        return _list_text(definition, value)
    if isinstance(value, str):
        return value.strip()
    raise _unexpected(definition, message_text.describe_value(value))


def _list_text(definition: ConfigDefinition, value: str | list[Any]) -> str:
    items = value.split(",") if isinstance(value, str) else value
    for item in items:
        if not isinstance(item, str) or "," in item:
            raise _unexpected(definition, f"{message_text.describe_value(item)} in the list")
    return ",".join(item.strip() for item in items)


def _unexpected(definition: ConfigDefinition, description: str) -> ValueError:
    unit = unit_of(definition.name)
    expected = f"a {unit.noun} such as {unit.example}" if unit else definition.expected
    return ValueError(f"expected {expected}, got {description}")


def _convert(name: str, value: Any) -> str | PydanticCustomError | None:
    definition = configs.definition(name)
    if definition is None:
        message = f"Kafka {configs.kafka_version()} has no topic configuration {message_text.quoted(name)}"
        if field_name := _NOT_CONFIGS.get(name):
            return custom_error("config-unknown", f"{message}; write {field_name} next to config, not in it")
        suggestion = configs.nearest(name)
        return custom_error("config-unknown", message + (f"; did you mean {suggestion}?" if suggestion else ""))
    if value is None:
        return None
    try:
        return kafka_spelling(definition, value)
    except ValueError as error:
        return _other_line_spelling(name, value) or custom_error("config-value", str(error))


def _other_line_spelling(name: str, value: Any) -> str | None:
    """Return the value as another Kafka version than the default accepts it; None if no version does.

    The rule ``kafka-version`` checks the value against the version that each stack runs.
    """
    for definition in configs.variants(name)[1:]:
        with suppress(ValueError):
            return kafka_spelling(definition, value)
    return None


def _config(value: Any) -> dict[str, str | None]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise PydanticKnownError("dict_type")
    settings: dict[str, str | None] = {}
    errors: list[InitErrorDetails] = []
    for name, setting in value.items():
        result = _convert(name, setting)
        if isinstance(result, PydanticCustomError):
            errors.append(InitErrorDetails(type=result, loc=(name,), input=setting))
        else:
            settings[name] = result
    if errors:
        raise ValidationError.from_exception_data("config", errors)
    return settings


def _schema() -> dict[str, Any]:
    properties = {definition.name: _property(definition) for definition in configs.definitions().values()}
    return {"type": ["object", "null"], "properties": properties, "additionalProperties": False}


def _property(definition: ConfigDefinition) -> dict[str, Any]:
    schema: dict[str, Any] = {"description": re.sub("<[^>]+>", "", definition.documentation)}
    unit = unit_of(definition.name)
    minimum, maximum = definition.bounds
    if definition.type == "boolean":
        return schema | {"enum": [True, False, "true", "false", None]}
    if definition.type == "list":
        items = {"type": "string"} | ({"enum": list(definition.choices)} if definition.choices else {})
        return schema | {"anyOf": [{"type": "array", "items": items}, {"type": ["string", "null"]}]}
    if definition.type == "string":
        choices = {"enum": [*definition.choices, None]} if definition.choices else {"type": ["string", "null"]}
        return schema | choices
    number: dict[str, Any] = {"type": "number" if definition.type == "double" else "integer"}
    if minimum is not None and definition.extra_value is None:
        number["minimum"] = minimum
    if maximum is not None:
        number["maximum"] = maximum
    text = {"type": "string", "pattern": unit.pattern} if unit else {"type": "string"}
    return schema | {"anyOf": [number, text, {"type": "null"}]}


Config: TypeAlias = Annotated[dict[str, str | None], PlainValidator(_config), WithJsonSchema(_schema())]
