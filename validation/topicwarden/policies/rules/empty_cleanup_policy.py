"""Warn about an empty cleanup policy.

Kafka accepts an empty `cleanup.policy` and then keeps every record forever, regardless of `retention.ms`
(`UnifiedLog.deleteOldSegments`). Kafka documents this from 4.2 on (KIP-1161). There, the rule only warns if the topic
declares a retention, which has no effect.

Remedy: write `delete`, `compact`, or both. To keep all records, write `delete` and `retention.ms: -1`.
"""

from collections.abc import Iterable
from typing import Final

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.kafka_facts.configs import kafka_lines
from topicwarden.model.topic import Topic
from topicwarden.policies.rule import AdviceSettings, RuleViolation

_DOCUMENTED: Final = "4.2"

Settings = AdviceSettings
ALWAYS = Settings.with_defaults()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if topic.cleanup_policies != frozenset():
        return
    if kafka_lines().index(brokers.kafka) < kafka_lines().index(_DOCUMENTED):
        yield RuleViolation(
            ("config", "cleanup.policy"),
            "cleanup.policy is empty: every record is kept forever, regardless of retention.ms; write delete or "
            "compact; to keep all records, write delete and retention.ms: -1",
        )
        return
    for name in ("retention.ms", "retention.bytes"):
        value = topic.number(name)
        if value is not None and value >= 0:
            yield RuleViolation(
                ("config", name), f"{name} has no effect: cleanup.policy is empty; delete it, or write delete"
            )
