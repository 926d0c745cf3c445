"""Require a description of what the records mean.

Example: `description: {min_length: 20}`
"""

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.policies.rule import RuleSettings, RuleViolation


class Settings(RuleSettings):
    min_length: Annotated[int, Field(strict=True, ge=1)] = Field(
        default=1, description="The minimum number of characters."
    )


ALWAYS = None
SHAPE_ONLY = False


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if topic.description is None:
        message = f"{topic.name} has no description; describe what one record means and what its key is"
        yield RuleViolation(("description",), message)
    elif len(topic.description.strip()) < settings.min_length:
        got = len(topic.description.strip())
        yield RuleViolation(
            ("description",), f"description: expected at least {settings.min_length} characters, got {got}"
        )
