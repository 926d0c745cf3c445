"""Require that topic names follow a naming convention.

Example: `topic-name: {matches: '[a-z]+(\\.[a-z0-9_]+)+\\.v[0-9]+', max_length: 100}`
"""

from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator, Field

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.field_types import custom_error
from topicwarden.model.topic import Topic
from topicwarden.policies.rule import RuleSettings, RuleViolation
from topicwarden.policies.topic_patterns import full_match, pattern_problem


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
