"""Require a minimum number of replicas.

With fewer than three replicas, data is lost if one broker fails during the maintenance of another broker.

Example: `replication-factor: {min: 3, stacks: [prod]}`
"""

from collections.abc import Iterable

from pydantic import Field

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.field_types import ReplicationFactor
from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import outside
from topicwarden.policies.rule import RuleSettings, RuleViolation


class Settings(RuleSettings):
    min: ReplicationFactor = Field(default=1, description="The minimum number of replicas.")
    max: ReplicationFactor | None = Field(default=None, description="The maximum number of replicas.")


ALWAYS = None
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    seen = topic.replication_factor
    for message in outside("replication_factor", seen, str(seen), settings.min, settings.max):
        yield RuleViolation(("replication_factor",), message)
