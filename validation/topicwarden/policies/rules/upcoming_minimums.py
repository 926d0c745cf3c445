"""Warn about values that Kafka 5.0 will refuse.

Kafka 5.0 raises the minimums of three settings (KIP-1030): `segment.ms` and `max.compaction.lag.ms` to a minute, and
`segment.index.bytes` to 1 KiB. Kafka 4 accepts lower values. The rule judges declared values.

Example: `segment.ms: 10s`.
Remedy: declare the new minimum or more before the brokers are upgraded.
"""

from collections.abc import Iterable
from typing import Final

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import value_text
from topicwarden.policies.rule import AdviceSettings, RuleViolation

_LEAST: Final = {"segment.ms": 60_000, "max.compaction.lag.ms": 60_000, "segment.index.bytes": 1_024}

Settings = AdviceSettings
ALWAYS = Settings.with_defaults()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    for name, least in _LEAST.items():
        value = topic.number(name)
        if value is not None and value < least:
            bound = value_text(name, least)
            yield RuleViolation(
                ("config", name),
                f"{name} is {value_text(name, value)}, and Kafka 5.0 will refuse less than {bound} (KIP-1030); "
                f"declare {bound} or more",
            )
