"""Settings of Kafka's that must be declared, must not be, or must be this or that.

Example: `config: {required: [retention.ms], forbidden: [unclean.leader.election.enable], values: {compression.type:
[zstd, lz4]}}`. Values are written as in a topic's `config`: `7d`, `1MiB`; a list names all that there may be.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import AfterValidator, Field, PlainValidator, ValidationError, WithJsonSchema, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError, PydanticKnownError

from topicwarden.model.topic import Topic
from topicwarden.policies.rule import RuleSettings, RuleViolation, contradiction
from topicwarden.specs.broker_settings import BrokerSettings
from topicwarden.specs.config_values import custom_error, kafka_spelling
from topicwarden.specs.configs import definitions, nearest
from topicwarden.specs.document_model import Text
from topicwarden.specs.message_text import quoted


def _known(name: str) -> str:
    if name not in definitions():
        meant = nearest(name)
        remedy = f"; did you mean {meant}?" if meant else ""
        raise custom_error("value", f"Kafka has no topic configuration {quoted(name)}{remedy}")
    return name


def _choices(value: Any) -> dict[str, list[str]]:
    if not isinstance(value, dict):
        raise PydanticKnownError("dict_type")
    spelled: dict[str, list[str]] = {}
    wrong: list[InitErrorDetails] = []
    for name, given in value.items():
        found = _spelled(name, given if isinstance(given, list) else [given])
        if isinstance(found, PydanticCustomError):
            wrong.append(InitErrorDetails(type=found, loc=(name,), input=given))
        else:
            spelled[name] = found
    if wrong:
        raise ValidationError.from_exception_data("values", wrong)
    return spelled


def _spelled(name: str, values: list[Any]) -> list[str] | PydanticCustomError:
    try:
        return [kafka_spelling(definitions()[_known(name)], each) for each in values]
    except PydanticCustomError as error:
        return error
    except ValueError as error:
        return custom_error("value", str(error))


Name = Annotated[Text, AfterValidator(_known)]
Choices = Annotated[dict[str, list[str]], PlainValidator(_choices), WithJsonSchema({"type": "object"})]


class Settings(RuleSettings):
    required: list[Name] = Field(default=[], description="The settings that must be declared.")
    forbidden: list[Name] = Field(default=[], description="The settings that must not be declared.")
    values: Choices = Field(default={}, description="By setting, the values that it may have where it is declared.")

    @model_validator(mode="after")
    def _possible(self) -> Settings:
        if both := set(self.required) & set(self.forbidden):
            raise contradiction("forbidden", f"{min(both)} is required, too", "take it out of one")
        return self


ALWAYS = None
SHAPE_ONLY = False


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    for name in settings.required:
        if name not in topic.config:
            yield RuleViolation(
                ("config", name), f"{topic.name} does not declare {name}; write it, here or in a _defaults.yaml"
            )
    for name in settings.forbidden:
        if name in topic.config:
            yield RuleViolation(("config", name), f"{name} may not be declared; delete it")
    for name, allowed in settings.values.items():
        if name in topic.config and topic.config[name] not in allowed:
            expected = allowed[0] if len(allowed) == 1 else f"one of {', '.join(allowed)}"
            yield RuleViolation(("config", name), f"{name}: expected {expected}, seen {topic.config[name]}")
