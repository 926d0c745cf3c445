"""Limit the number of partitions of a topic.

Each partition costs files, memory and recovery time on every broker with a replica. Kafka cannot reduce the number of
partitions of a topic later.

Example: `partitions: {max: 120}`
"""

from collections.abc import Iterable

from pydantic import Field

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.field_types import Partitions
from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import outside
from topicwarden.policies.rule import RuleSettings, RuleViolation


class Settings(RuleSettings):
    min: Partitions = Field(default=1, description="The minimum number.")
    max: Partitions | None = Field(default=None, description="The maximum number.")


ALWAYS = None
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    for message in outside("partitions", topic.partitions, str(topic.partitions), settings.min, settings.max):
        yield RuleViolation(("partitions",), message)
