"""Effective settings of a topic: the declared value, else the default of the stack's brokers or of Kafka."""

from __future__ import annotations

from functools import cache

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.model.units import unit_of


def effective_number(topic: Topic, setting: str, brokers: BrokerSettings) -> int:
    """Return the effective value of the numeric ``setting``. Every Kafka version must have a default for it."""
    declared = topic.config.get(setting)
    return int(declared) if declared else _default(setting, brokers)


@cache
def _default(setting: str, brokers: BrokerSettings) -> int:
    return int(brokers.default(setting) or 0)


def cleanup_policies(topic: Topic) -> frozenset[str]:
    """Return the effective cleanup policies: the declared ones, else Kafka's default ``delete``."""
    policies = topic.cleanup_policies
    return frozenset({"delete"}) if policies is None else policies


def setting_text(topic: Topic, setting: str, brokers: BrokerSettings) -> str:
    """Return ``retention.ms is 7d`` for a message, followed by ``, Kafka's default`` if it is not declared."""
    value = value_text(setting, effective_number(topic, setting, brokers))
    return f"{setting} is {value}" + ("" if setting in topic.config else ", Kafka's default")


def value_text(setting: str, value: int) -> str:
    """Return ``value`` with the unit of ``setting``, such as ``7d`` or ``1MiB``; plain if it has no unit."""
    unit = unit_of(setting)
    return unit.format(value) if unit else str(value)
