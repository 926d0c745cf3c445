"""The interface of a rule. A rule reports paths within a topic; only ``check`` maps them to lines of YAML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from pydantic import Field, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import InitErrorDetails

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.access import DeclaredAccess
from topicwarden.model.field_types import custom_error
from topicwarden.model.problem import Level, Location
from topicwarden.model.topic import Topic
from topicwarden.policies.scope import Scope


class RuleLevel(StrEnum):
    """A ``Level``, or ``off`` to disable the rule."""

    ERROR = "error"
    WARNING = "warning"
    OFF = "off"

    @property
    def level(self) -> Level | None:
        """The level of its problems; None if the rule is off."""
        return None if self is RuleLevel.OFF else Level(self.value)


@dataclass(frozen=True)
class RuleViolation:
    """A violation of a rule: the path in the topic, such as ``("config", "retention.ms")``, and the message.

    ``level`` is an upper limit: the problem gets the lower of this level and the level of the rule. ``default`` is the
    line of a ``_defaults.yaml`` that repairs the violation for all topics of a folder that do not have the setting.
    """

    path: tuple[str, ...]
    message: str
    level: Level = Level.ERROR
    default: str = ""


class RuleSettings(Scope):
    """The settings that every rule has in a policy file."""

    level: RuleLevel = Field(default=RuleLevel.ERROR, description="`error` fails the check, `warning` does not.")

    @model_validator(mode="wrap")
    @classmethod
    def _min_not_above_max(cls, value: Any, handler: ModelWrapValidatorHandler[Any]) -> Any:
        """Reject a ``min`` above the ``max``. The message quotes both values as written in the file."""
        settings = handler(value)
        least, most = getattr(settings, "min", None), getattr(settings, "max", None)
        if least is not None and most is not None and least > most and isinstance(value, dict):
            raise contradiction("min", f"{value['min']} is above the max of {value['max']}", "lower min, or raise max")
        return settings


def contradiction(key: str, conflict: str, remedy: str) -> ValidationError:
    """Return the error for a setting ``key`` that conflicts with another setting, so that no topic can meet both."""
    error = custom_error("value", f"{conflict}, so no topic can meet both settings; {remedy}")
    return ValidationError.from_exception_data("settings", [InitErrorDetails(type=error, loc=(key,), input=None)])


class AdviceSettings(RuleSettings):
    """The settings of a rule whose problems are warnings: Kafka accepts the value, but it is likely a mistake."""

    level: RuleLevel = Field(default=RuleLevel.WARNING, description="`error` fails the check, `warning` does not.")


class Rule(Protocol):
    """A module of ``rules/``. Its docstring is the rule's documentation; its key in the table is the rule's id.

    ``ALWAYS`` are the settings that apply if no policy file names the rule; None if the rule is off by default.
    ``SHAPE_ONLY`` is true if ``judge`` uses only the partitions, replicas, config and contents of a topic. Topics that
    are equal in these are judged only once.
    """

    ALWAYS: Any
    SHAPE_ONLY: bool

    @property
    def Settings(self) -> type[Any]: ...  # noqa: N802

    def judge(self, topic: Topic, settings: Any, brokers: BrokerSettings) -> Iterable[RuleViolation]: ...


class StackRule(Protocol):
    """A rule that needs all topics of a stack within its scope. It reports at the location of its own settings."""

    ALWAYS: Any

    @property
    def Settings(self) -> type[Any]: ...  # noqa: N802

    def judge_stack(self, topics: Sequence[Topic], settings: Any) -> Iterable[RuleViolation]: ...


@dataclass(frozen=True)
class AccessViolation:
    """A violation of a rule by declared access: the location of the declaration, and the message.

    ``topic`` is the topic whose YAML has the declaration; None for a file below ``access/``.
    """

    location: Location
    message: str
    topic: str | None = None


class AccessRule(Protocol):
    """A rule that needs all access of a stack. It reports at the location of the declaration.

    ``topics`` are all topics of the stack. A block of its settings with ``topics`` or ``domains`` applies to the access
    that these topics declare, and not to files below ``access/``.
    """

    ALWAYS: Any

    @property
    def Settings(self) -> type[Any]: ...  # noqa: N802

    def judge_access(
        self, access: DeclaredAccess, topics: Sequence[Topic], settings: Any, brokers: BrokerSettings
    ) -> Iterable[AccessViolation]: ...
