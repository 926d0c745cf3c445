"""Warn about topics with more partitions than Kafka creates in one request.

A controller (KRaft) writes at most 10,000 records for a request: one for the topic, one for each partition and one for
each setting. It refuses a larger topic with `POLICY_VIOLATION` (`ReplicationControlManager`). A topic that exists can
have more partitions, because each request that adds partitions may add 10,000.

Example: `partitions: 12000`.
Remedy: declare fewer partitions for the first deploy, and more for the next ones.
"""

from collections.abc import Iterable
from typing import Final

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.policies.rule import AdviceSettings, RuleViolation

_MOST_RECORDS: Final = 10_000

Settings = AdviceSettings
ALWAYS = Settings.with_defaults()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    most = _MOST_RECORDS - 1 - len(topic.config)
    if topic.partitions > most:
        yield RuleViolation(
            ("partitions",),
            f"partitions is {topic.partitions:,}: Kafka refuses to create this topic with more than {most:,}; "
            "create it with fewer, and let later deploys add at most 10,000 each",
        )
