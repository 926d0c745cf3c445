"""Warn about an empty cleanup policy.

Kafka accepts an empty `cleanup.policy` and then keeps every record forever, regardless of `retention.ms`
(`UnifiedLog.deleteOldSegments`; documented by Kafka since KIP-1161).

Remedy: write `delete`, `compact`, or both. To keep all records, write `delete` and `retention.ms: -1`.
"""

from collections.abc import Iterable

from topicwarden.model.topic import Topic
from topicwarden.policies.rule import AdviceSettings, RuleViolation
from topicwarden.specs.broker_settings import BrokerSettings


class Settings(AdviceSettings):
    pass


ALWAYS = Settings()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if topic.cleanup_policies == frozenset():
        yield RuleViolation(
            ("config", "cleanup.policy"),
            "cleanup.policy is empty: every record is kept forever, regardless of retention.ms; write delete or "
            "compact; to keep all records, write delete and retention.ms: -1",
        )
