"""Kafka's settings of topics and groups in a document: YAML values converted to the text that Kafka's API uses."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, TypeAlias

from pydantic import PlainValidator, ValidationError, WithJsonSchema
from pydantic_core import InitErrorDetails, PydanticCustomError, PydanticKnownError

from topicwarden.kafka_facts import configs
from topicwarden.kafka_facts.configs import ConfigDefinition
from topicwarden.model import message_text
from topicwarden.model.field_types import custom_error
from topicwarden.model.units import UNLIMITED, unit_of, without_leading_zeros

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
_REMEDY = re.compile(r"; write (\S+)$")


def kafka_spelling(definition: ConfigDefinition, value: Any) -> str:
    """Return ``value`` as Kafka spells it: ``604800000`` for ``7d``, ``compact,delete`` for ``[compact, delete]``.

    Raise ValueError, with a message for the user, if Kafka would reject the value.
    """
    if isinstance(value, float) and definition.type in _INTEGER_TYPES:
        raise ValueError(f"expected {definition.expected}, got {value}{message_text.whole_number_hint(value)}")
    text = _to_text(definition, value)
    numeric = definition.type in (*_INTEGER_TYPES, "double") and isinstance(value, str)
    if numeric and (plain := without_leading_zeros(value)):
        remedy = message_text.octal_hint(value) or f"; write {plain}"
        raise ValueError(f"expected {definition.expected}, got {message_text.quoted(value)}{remedy}")
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
        try:
            return str(unit.parse(value))
        except ValueError as error:
            raise ValueError(f"{error}{'; write -1' if value.strip().lower() in UNLIMITED else ''}") from error
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


def _convert_topic_setting(name: str, value: Any) -> str | PydanticCustomError | None:
    if not configs.variants(name):
        message = f"Kafka {configs.kafka_version()} has no topic configuration {message_text.quoted(name)}"
        if field_name := _NOT_CONFIGS.get(name):
            return custom_error("config-unknown", f"{message}; write {field_name} next to config, not in it")
        suggestion = configs.nearest(name)
        return custom_error("config-unknown", message + (f"; did you mean {suggestion}?" if suggestion else ""))
    return _spelling(configs.variants(name), value)


def _convert_group_setting(name: str, value: Any) -> str | PydanticCustomError | None:
    if not configs.group_variants(name):
        known = configs.group_definitions()
        remedy = message_text.did_you_mean(name, known) or f"; known are {', '.join(known)}"
        message = f"Kafka has no group configuration {message_text.quoted(name)}{remedy}"
        return custom_error("config-unknown", message)
    return _spelling(configs.group_variants(name), value)


def _spelling(variants: Sequence[ConfigDefinition], value: Any) -> str | PydanticCustomError | None:
    """Return the value as Kafka spells it, else the error of the first of ``variants``; null stays null.

    Another Kafka version than the default may accept the value. The rules ``kafka-version`` and ``access-service``
    check it against the version that each stack runs.
    """
    if value is None:
        return None
    try:
        return kafka_spelling(variants[0], value)
    except ValueError as error:
        for definition in variants[1:]:
            with suppress(ValueError):
                return kafka_spelling(definition, value)
        return custom_error("config-value", _with_valid_remedy(str(error), variants))


def _with_valid_remedy(message: str, variants: Sequence[ConfigDefinition]) -> str:
    """Return ``message`` with the valid values in place of a remedy such as ``; write -1`` that Kafka rejects, too."""
    remedy = _REMEDY.search(message)
    if remedy is None:
        return message
    for definition in variants:
        with suppress(ValueError):
            kafka_spelling(definition, remedy[1])
            return message
    message, expected = message[: remedy.start()], variants[0].expected
    return message if expected in message else f"{message}; Kafka accepts {expected}"


def _topic_settings(value: Any) -> dict[str, str | None]:
    return _settings(value, _convert_topic_setting)


def _group_settings(value: Any) -> dict[str, str | None]:
    return _settings(value, _convert_group_setting)


def _settings(value: Any, convert: Callable[[str, Any], str | PydanticCustomError | None]) -> dict[str, str | None]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise PydanticKnownError("dict_type")
    settings: dict[str, str | None] = {}
    errors: list[InitErrorDetails] = []
    for name, setting in value.items():
        result = convert(name, setting)
        if isinstance(result, PydanticCustomError):
            errors.append(InitErrorDetails(type=result, loc=(name,), input=setting))
        else:
            settings[name] = result
    if errors:
        raise ValidationError.from_exception_data("config", errors)
    return settings


def _schema(known: Mapping[str, ConfigDefinition]) -> dict[str, Any]:
    properties = {definition.name: _property(definition) for definition in known.values()}
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
        listed = definition.choices and not definition.accepts_duration
        choices = {"enum": [*definition.choices, None]} if listed else {"type": ["string", "null"]}
        return schema | choices
    number: dict[str, Any] = {"type": "number" if definition.type == "double" else "integer"}
    if minimum is not None and definition.extra_value is None:
        number["minimum"] = minimum
    if maximum is not None:
        number["maximum"] = maximum
    text = {"type": "string", "pattern": unit.pattern} if unit else {"type": "string"}
    return schema | {"anyOf": [number, text, {"type": "null"}]}


Config: TypeAlias = Annotated[
    dict[str, str | None], PlainValidator(_topic_settings), WithJsonSchema(_schema(configs.definitions()))
]
GroupConfig: TypeAlias = Annotated[
    dict[str, str | None], PlainValidator(_group_settings), WithJsonSchema(_schema(configs.group_definitions()))
]
