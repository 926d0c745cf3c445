"""The ``config`` map of a document: Kafka's names with values as YAML says them, to Kafka's own spelling."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from pydantic import PlainValidator, ValidationError, WithJsonSchema
from pydantic_core import InitErrorDetails, PydanticCustomError, PydanticKnownError

from topicwarden.specs import configs, message_text
from topicwarden.specs.configs import ConfigDefinition
from topicwarden.specs.units import unit_of

if TYPE_CHECKING:
    from typing import LiteralString


_WHOLE = ("short", "int", "long")
_BESIDE = {
    "partitions": "partitions",
    "num.partitions": "partitions",
    "replicas": "replication_factor",
    "replication_factor": "replication_factor",
    "replication.factor": "replication_factor",
    "default.replication.factor": "replication_factor",
}
"""What other tools and the brokers' own settings call what is no topic configuration."""


def custom_error(rule: LiteralString, message: str) -> PydanticCustomError:
    """What a validator raises, that the problem is to be of ``rule`` and read ``message``."""
    return PydanticCustomError(rule, "{message}", {"message": message})


def spell(definition: ConfigDefinition, value: Any) -> str:
    """What Kafka calls ``value``: ``7d`` is ``604800000``, ``[compact, delete]`` is ``compact,delete``.

    ValueError with a message where Kafka would refuse it.
    """
    if isinstance(value, float) and definition.type in _WHOLE:
        raise ValueError(f"expected {definition.expected}, seen {value}{message_text.wholly(value)}")
    spelled = _plain(definition, value)
    if problem := definition.problem(spelled, value if isinstance(value, str) else None):
        raise ValueError(problem)
    if definition.type == "boolean":
        return spelled.lower()
    return str(int(spelled)) if definition.type in _WHOLE else spelled


def _plain(definition: ConfigDefinition, value: Any) -> str:
    if isinstance(value, bool) and definition.type == "boolean":
        return "true" if value else "false"
    if isinstance(value, bool):
        raise _unfit(definition, message_text.seen(value))
    if isinstance(value, (int, float)):
        return str(value)
    unit = unit_of(definition.name)
    if unit and isinstance(value, str):
        return str(unit.parse(value))
    if definition.type == "list" and isinstance(value, (str, list)):
        return _joined(definition, value)
    if isinstance(value, str):
        return value.strip()
    raise _unfit(definition, message_text.seen(value))


def _joined(definition: ConfigDefinition, value: str | list[Any]) -> str:
    items = value.split(",") if isinstance(value, str) else value
    for item in items:
        if not isinstance(item, str) or "," in item:
            raise _unfit(definition, f"{message_text.seen(item)} in the list")
    return ",".join(item.strip() for item in items)


def _unfit(definition: ConfigDefinition, given: str) -> ValueError:
    unit = unit_of(definition.name)
    expected = f"a {unit.noun} such as {unit.example}" if unit else definition.expected
    return ValueError(f"expected {expected}, seen {given}")


def _setting(name: str, value: Any) -> str | PydanticCustomError | None:
    definition = configs.definition(name)
    if definition is None:
        message = f"Kafka {configs.kafka_version()} has no topic configuration {message_text.quoted(name)}"
        if beside := _BESIDE.get(name):
            return custom_error("config-unknown", f"{message}; write {beside}, beside config")
        meant = configs.nearest(name)
        return custom_error("config-unknown", message + (f"; did you mean {meant}?" if meant else ""))
    if value is None:
        return None
    try:
        return spell(definition, value)
    except ValueError as error:
        return _spelled_elsewhere(name, value) or custom_error("config-value", str(error))


def _spelled_elsewhere(name: str, value: Any) -> str | None:
    """What a line of Kafka other than the default takes; which line a stack runs is for the rules to ask."""
    for definition in configs.variants(name)[1:]:
        with suppress(ValueError):
            return spell(definition, value)
    return None


def _config(value: Any) -> dict[str, str | None]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise PydanticKnownError("dict_type")
    spelled: dict[str, str | None] = {}
    wrong: list[InitErrorDetails] = []
    for name, given in value.items():
        found = _setting(name, given)
        if isinstance(found, PydanticCustomError):
            wrong.append(InitErrorDetails(type=found, loc=(name,), input=given))
        else:
            spelled[name] = found
    if wrong:
        raise ValidationError.from_exception_data("config", wrong)
    return spelled


def _schema() -> dict[str, Any]:
    properties = {definition.name: _property(definition) for definition in configs.definitions().values()}
    return {"type": ["object", "null"], "properties": properties, "additionalProperties": False}


def _property(definition: ConfigDefinition) -> dict[str, Any]:
    schema: dict[str, Any] = {"description": re.sub("<[^>]+>", "", definition.documentation)}
    unit = unit_of(definition.name)
    low, high = definition.bounds
    if definition.type == "boolean":
        return schema | {"enum": [True, False, "true", "false", None]}
    if definition.type == "list":
        items = {"type": "string"} | ({"enum": list(definition.choices)} if definition.choices else {})
        return schema | {"anyOf": [{"type": "array", "items": items}, {"type": ["string", "null"]}]}
    if definition.type == "string":
        choices = {"enum": [*definition.choices, None]} if definition.choices else {"type": ["string", "null"]}
        return schema | choices
    number: dict[str, Any] = {"type": "number" if definition.type == "double" else "integer"}
    if low is not None and definition.besides is None:
        number["minimum"] = low
    if high is not None:
        number["maximum"] = high
    text = {"type": "string", "pattern": unit.pattern} if unit else {"type": "string"}
    return schema | {"anyOf": [number, text, {"type": "null"}]}


Config: TypeAlias = Annotated[dict[str, str | None], PlainValidator(_config), WithJsonSchema(_schema())]
