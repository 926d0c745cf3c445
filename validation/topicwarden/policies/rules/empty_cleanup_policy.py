"""A topic is cleaned up in some way.

Kafka takes an empty `cleanup.policy`, and then keeps every record for ever, whatever `retention.ms` says
(`UnifiedLog.deleteOldSegments`; told so in Kafka's documentation since KIP-1161).

Remedy: write `delete`, `compact`, or both; `delete` with `retention.ms: -1` says openly that all is kept.
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
            "cleanup.policy is empty: every record is kept for ever, whatever retention.ms says; write delete or "
            "compact, and retention.ms: -1 if for ever is meant",
        )
