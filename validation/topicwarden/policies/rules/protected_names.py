"""Reject declarations of topics that belong to Kafka or to other systems.

Always on for Kafka's internal topics (`__consumer_offsets`, `__transaction_state`, `__share_group_state`,
`__cluster_metadata`, `__remote_log_metadata`; `org.apache.kafka.common.internals.Topic`). The brokers manage them.
Changing or deleting them can lose consumer offsets and transactions.

Example: `protected-names: {prefixes: [__, _confluent, mm2-]}`
"""

from collections.abc import Iterable

from pydantic import Field

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.field_types import Text
from topicwarden.model.topic import Topic
from topicwarden.policies.rule import RuleSettings, RuleViolation


class Settings(RuleSettings):
    prefixes: list[Text] = Field(default=[], description="Prefixes of protected names.")


ALWAYS = Settings.with_defaults()
SHAPE_ONLY = False


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if topic.internal:
        yield RuleViolation(("topic",), f"{topic.name} is an internal topic that the brokers manage; delete its YAML")
        return
    for prefix in settings.prefixes:
        if topic.name.startswith(prefix):
            yield RuleViolation(
                ("topic",), f"the name {topic.name} begins with the protected prefix {prefix}; rename the topic"
            )
