"""Require an owner for each topic.

Example: `owner: {allowed: [team-orders, team-platform]}`
"""

from collections.abc import Iterable

from pydantic import Field

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.field_types import Text
from topicwarden.model.message_text import did_you_mean
from topicwarden.model.topic import Topic
from topicwarden.policies.rule import RuleSettings, RuleViolation


class Settings(RuleSettings):
    allowed: list[Text] | None = Field(default=None, description="The allowed owners; if missing, any owner.")


ALWAYS = None
SHAPE_ONLY = False


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if topic.owner is None:
        message = f"{topic.name} has no owner; write owner: with the responsible team"
        yield RuleViolation(("owner",), message, default="owner: TEAM")
    elif settings.allowed is not None and topic.owner not in settings.allowed:
        suggestion = did_you_mean(topic.owner, settings.allowed)
        yield RuleViolation(
            ("owner",), f"owner: expected one of {', '.join(settings.allowed)}, got {topic.owner}{suggestion}"
        )
