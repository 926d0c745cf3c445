"""Require that topics are in a folder of a known domain.

The domain of a topic is the name of the first folder below `topics/` in the path of its file.

Example: `domain: {allowed: [orders, shipping]}`
"""

from collections.abc import Iterable

from pydantic import Field

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.field_types import Flag, Text
from topicwarden.model.message_text import did_you_mean
from topicwarden.model.topic import Topic
from topicwarden.policies.rule import RuleSettings, RuleViolation


class Settings(RuleSettings):
    allowed: list[Text] | None = Field(default=None, description="The allowed folders; if missing, any folder.")
    in_name: Flag = Field(
        default=False, description="`true`: names must begin with the domain and a dot, such as `orders.`"
    )


ALWAYS = None
SHAPE_ONLY = False


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if not topic.domain:
        yield RuleViolation(
            (), f"{topic.name} is not in a folder of topics/; move its file into the folder of its domain"
        )
    elif settings.allowed is not None and topic.domain not in settings.allowed:
        suggestion = did_you_mean(topic.domain, settings.allowed)
        expected = ", ".join(settings.allowed)
        message = f"the folder topics/{topic.domain}: expected one of {expected}{suggestion}; move the file"
        yield RuleViolation((), message)
    elif settings.in_name and not topic.name.startswith(f"{topic.domain}."):
        message = (
            f"the name {topic.name} does not begin with {topic.domain}., the name of its folder; rename the topic, or "
            "move its file"
        )
        yield RuleViolation(("topic",), message)
