"""What holds of a topic: what is declared, else Kafka's default, as far as neither brokers nor Kafka say otherwise."""

from __future__ import annotations

from functools import cache

from topicwarden.model.topic import Topic
from topicwarden.specs.broker_settings import BrokerSettings
from topicwarden.specs.units import unit_of


def number(topic: Topic, setting: str, brokers: BrokerSettings) -> int:
    """The whole number that ``setting``, of which every line of Kafka has a default, comes to."""
    declared = topic.config.get(setting)
    return int(declared) if declared else _default(setting, brokers)


@cache
def _default(setting: str, brokers: BrokerSettings) -> int:
    return int(brokers.default(setting) or 0)


def cleanup(topic: Topic) -> frozenset[str]:
    """The cleanup policies; Kafka's default, ``delete``, where none is declared."""
    policies = topic.cleanup_policies
    return frozenset({"delete"}) if policies is None else policies


def said(topic: Topic, setting: str, brokers: BrokerSettings) -> str:
    """``retention.ms is 7d``, for a message; says so where it is Kafka's default that holds."""
    value = spelled(setting, number(topic, setting, brokers))
    return f"{setting} is {value}" + ("" if setting in topic.config else ", Kafka's default")


def spelled(setting: str, value: int) -> str:
    """A number as people write it: ``7d``, ``1MiB``."""
    unit = unit_of(setting)
    return unit.format(value) if unit else str(value)
