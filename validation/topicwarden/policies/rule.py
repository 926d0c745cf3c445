"""What a rule is. It names a path of the topic; only ``check`` knows lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from pydantic import Field, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import InitErrorDetails

from topicwarden.model.problem import Level
from topicwarden.model.topic import Topic
from topicwarden.policies.scope import Scope
from topicwarden.specs.broker_settings import BrokerSettings
from topicwarden.specs.config_values import custom_error


class RuleLevel(StrEnum):
    """A ``Level``, or that it does not hold."""

    ERROR = "error"
    WARNING = "warning"
    OFF = "off"

    @property
    def level(self) -> Level | None:
        return None if self is RuleLevel.OFF else Level(self.value)


@dataclass(frozen=True)
class RuleViolation:
    """What a rule finds: where in the topic (``("config", "retention.ms")``), and what is wrong.

    ``level`` is the most that it weighs, whatever the rule's own level.
    """

    path: tuple[str, ...]
    message: str
    level: Level = Level.ERROR


class RuleSettings(Scope):
    """What every rule can be told in a policy file."""

    level: RuleLevel = Field(default=RuleLevel.ERROR, description="`error` fails the check, `warning` does not.")

    @model_validator(mode="wrap")
    @classmethod
    def _in_order(cls, value: Any, handler: ModelWrapValidatorHandler[Any]) -> Any:
        """No topic keeps to a ``min`` above the ``max``; said in the words of the file."""
        held = handler(value)
        least, most = getattr(held, "min", None), getattr(held, "max", None)
        if least is not None and most is not None and least > most and isinstance(value, dict):
            raise contradiction("min", f"{value['min']} is above the max of {value['max']}", "lower it, or raise max")
        return held


def contradiction(key: str, clash: str, remedy: str) -> ValidationError:
    """What a validator of settings raises where the setting ``key`` leaves no topic that keeps to the rule."""
    error = custom_error("value", f"{clash}, so that no topic keeps to both; {remedy}")
    return ValidationError.from_exception_data("settings", [InitErrorDetails(type=error, loc=(key,), input=None)])


class AdviceSettings(RuleSettings):
    """The settings of a rule that warns of what Kafka takes and nobody wants."""

    level: RuleLevel = Field(default=RuleLevel.WARNING, description="`error` fails the check, `warning` does not.")


class Rule(Protocol):
    """A module of ``rules/``: its docstring is its documentation, its name in the table its id.

    ``ALWAYS`` are the settings that hold where no policy file speaks of the rule; None: it is off then.
    ``SHAPE_ONLY`` is true if ``judge`` uses only a topic's partitions, replicas, config and contents. Topics that are
    equal in these are then judged once.
    """

    ALWAYS: Any
    SHAPE_ONLY: bool

    @property
    def Settings(self) -> type[Any]: ...  # noqa: N802

    def judge(self, topic: Topic, settings: Any, brokers: BrokerSettings) -> Iterable[RuleViolation]: ...


class StackRule(Protocol):
    """A rule that needs all topics of a stack, those within its scope; it speaks at the place of its own settings."""

    ALWAYS: Any

    @property
    def Settings(self) -> type[Any]: ...  # noqa: N802

    def judge_stack(self, topics: Sequence[Topic], settings: Any) -> Iterable[RuleViolation]: ...
