"""Reject a replication factor above the number of brokers.

A broker can only have one replica of a partition. So Kafka refuses a topic with a replication factor above the number
of brokers (`INVALID_REPLICATION_FACTOR`, `ReplicationControlManager`). The rule applies if
`stacks/Pulumi.<stack>.yaml` has the number of brokers: `topicwarden:brokers: 3`.

Remedy: lower `replication_factor` for the stack: `stacks: {dev: {replication_factor: 1}}`.
"""

from collections.abc import Iterable

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.policies.rule import RuleSettings, RuleViolation
from topicwarden.specs.stacks.stack_settings import BROKER_COUNT

Settings = RuleSettings
ALWAYS = Settings.with_defaults()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if brokers.count is not None and topic.replication_factor > brokers.count:
        yield RuleViolation(
            ("replication_factor",),
            f"replication_factor: expected at most {brokers.count}, the number of brokers ({BROKER_COUNT}), got "
            f"{topic.replication_factor}: Kafka refuses the topic; lower replication_factor for this stack",
        )
