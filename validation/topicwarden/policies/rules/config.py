"""Require or forbid Kafka settings, or restrict their values.

Example: `config: {required: [retention.ms], forbidden: [unclean.leader.election.enable], values: {compression.type:
[zstd, lz4]}}`. Write values as in a topic's `config`: `7d`, `1MiB`. A list contains all allowed values.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import AfterValidator, Field, PlainValidator, ValidationError, WithJsonSchema, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError, PydanticKnownError

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.kafka_facts.config_values import kafka_spelling
from topicwarden.kafka_facts.configs import definitions, nearest
from topicwarden.model.field_types import Text, custom_error
from topicwarden.model.message_text import quoted
from topicwarden.model.topic import Topic
from topicwarden.policies.rule import RuleSettings, RuleViolation, contradiction


def _known_name(name: str) -> str:
    """Return ``name``. Raises PydanticCustomError if Kafka has no such topic configuration."""
    if name not in definitions():
        suggestion = nearest(name)
        remedy = f"; did you mean {suggestion}?" if suggestion else ""
        raise custom_error("value", f"Kafka has no topic configuration {quoted(name)}{remedy}")
    return name


def _choices(value: Any) -> dict[str, list[str]]:
    if not isinstance(value, dict):
        raise PydanticKnownError("dict_type")
    choices: dict[str, list[str]] = {}
    errors: list[InitErrorDetails] = []
    for name, given in value.items():
        values = _kafka_values(name, given if isinstance(given, list) else [given])
        if isinstance(values, PydanticCustomError):
            errors.append(InitErrorDetails(type=values, loc=(name,), input=given))
        else:
            choices[name] = values
    if errors:
        raise ValidationError.from_exception_data("values", errors)
    return choices


def _kafka_values(name: str, values: list[Any]) -> list[str] | PydanticCustomError:
    """Return ``values`` in Kafka's spelling, or the error of the first invalid one."""
    try:
        return [kafka_spelling(definitions()[_known_name(name)], each) for each in values]
    except PydanticCustomError as error:
        return error
    except ValueError as error:
        return custom_error("value", str(error))


Name = Annotated[Text, AfterValidator(_known_name)]
Choices = Annotated[dict[str, list[str]], PlainValidator(_choices), WithJsonSchema({"type": "object"})]


class Settings(RuleSettings):
    required: list[Name] = Field(default=[], description="The settings that must be declared.")
    forbidden: list[Name] = Field(default=[], description="The settings that must not be declared.")
    values: Choices = Field(default={}, description="The allowed values of a setting, if it is declared.")

    @model_validator(mode="after")
    def _required_are_not_forbidden(self) -> Settings:
        if both := set(self.required) & set(self.forbidden):
            raise contradiction("forbidden", f"{min(both)} is also required", "remove it from one of the two lists")
        return self


ALWAYS = None
SHAPE_ONLY = False


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    for name in settings.required:
        if name not in topic.config:
            message = f"{topic.name} does not declare {name}; add it here or in a _defaults.yaml"
            yield RuleViolation(("config", name), message, default=f"config: {{{name}: VALUE}}")
    for name in settings.forbidden:
        if name in topic.config:
            yield RuleViolation(("config", name), f"{name} must not be declared; delete it")
    for name, allowed in settings.values.items():
        value = topic.config.get(name)
        if value is not None and not any(definitions()[name].equivalent(value, each) for each in allowed):
            expected = allowed[0] if len(allowed) == 1 else f"one of {', '.join(allowed)}"
            yield RuleViolation(("config", name), f"{name}: expected {expected}, got {value}")
