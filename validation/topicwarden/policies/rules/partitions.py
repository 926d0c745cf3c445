"""The number of partitions keeps within bounds.

Partitions cost files, memory and recovery time on every broker that holds a replica, and can never be taken back.

Example: `partitions: {max: 120}`
"""

from collections.abc import Iterable

from pydantic import Field

from topicwarden.model.topic import Topic
from topicwarden.policies.rule import RuleSettings, RuleViolation
from topicwarden.specs.broker_settings import BrokerSettings
from topicwarden.specs.document_model import Partitions


class Settings(RuleSettings):
    min: Partitions = Field(default=1, description="The fewest there may be.")
    max: Partitions | None = Field(default=None, description="The most there may be.")


ALWAYS = None
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if topic.partitions < settings.min:
        yield RuleViolation(("partitions",), f"partitions: expected at least {settings.min}, seen {topic.partitions}")
    if settings.max is not None and topic.partitions > settings.max:
        yield RuleViolation(("partitions",), f"partitions: expected at most {settings.max}, seen {topic.partitions}")
