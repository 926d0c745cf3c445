"""Require that topic names follow a naming convention.

Example: `topic-name: {matches: '[a-z]+(\\.[a-z0-9_]+)+\\.v[0-9]+', max_length: 100}`
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Annotated, Any

from cel_expr_python import cel
from pydantic import AfterValidator, Field

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.field_types import custom_error
from topicwarden.model.topic import Topic
from topicwarden.policies.rule import RuleSettings, RuleViolation

_INVALID = re.compile(r"^.*invalid regular expression: ", re.DOTALL)


def _compiles(value: str) -> str:
    if problem := pattern_problem(value):
        raise custom_error("value", f"expected an RE2 regular expression, got an invalid one: {problem}")
    return value


class Settings(RuleSettings):
    matches: Annotated[str, Field(strict=True), AfterValidator(_compiles)] = Field(
        default="[a-z0-9]+([._-][a-z0-9]+)*",
        description="A regular expression ([RE2](https://github.com/google/re2/wiki/Syntax)) that the whole name must "
        "match.",
    )
    max_length: Annotated[int, Field(strict=True, ge=1, le=249)] = Field(
        default=249, description="The maximum number of characters; Kafka's own limit is 249."
    )


ALWAYS = None
SHAPE_ONLY = False


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if not full_match(settings.matches, topic.name):
        yield RuleViolation(
            ("topic",), f"the name {topic.name} does not match {settings.matches}; rename it before it is deployed"
        )
    if len(topic.name) > settings.max_length:
        yield RuleViolation(
            ("topic",),
            f"the name {topic.name} has {len(topic.name)} characters, above {settings.max_length}; shorten it before "
            "it is deployed",
        )


def pattern_problem(pattern: str) -> str | None:
    """Return the reason why RE2 rejects ``pattern``; None if it is valid.

    RE2 is the engine behind CEL's ``matches``, and takes time linear in the length of the text. Python's ``re``
    backtracks: matching ``^(a+)+$`` against forty characters practically never ends.
    """
    result = _matches("", pattern)
    return _INVALID.sub("", str(result.value())) if result.type().name() == "ERROR" else None


def full_match(pattern: str, text: str) -> bool:
    """Return True if the whole ``text`` matches the valid ``pattern``."""
    return _matches(text, rf"\A(?:{pattern})\z").value() is True


def _matches(text: str, pattern: str) -> Any:
    return _program().eval(data={"text": text, "pattern": pattern})


@cache
def _program() -> Any:
    variables = {"text": cel.Type.STRING, "pattern": cel.Type.STRING}
    return cel.NewEnv(variables=variables).compile("text.matches(pattern)")
