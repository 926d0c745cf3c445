"""Effective settings of a topic: the declared value, else the default of the stack's brokers, service or Kafka.

With the declared traffic, they give the time until a segment is full.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.model.units import unit_of

DAY_MS: Final = 86_400_000
ASSUMED_RECORD_BYTES: Final = 1024
"""Assumed record size if no maximum is declared. Most records are smaller, so segments fill even later."""


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
    return f"{setting} is {value}{default_note(topic, setting, brokers)}"


def default_note(topic: Topic, setting: str, brokers: BrokerSettings) -> str:
    """Return the words after a value that is not declared, ``, Kafka's default``; empty if it is declared."""
    return "" if setting in topic.config else f", {brokers.default_source(setting)}"


def outside(setting: str, value: int, seen: str, least: int | None, most: int | None) -> Iterator[str]:
    """Yield the message if ``value`` is below ``least`` or above ``most``; ``seen`` is the value for the message.

    A negative value means no limit: it is above every maximum.
    """
    if least is not None and 0 <= value < least:
        yield f"{setting}: expected at least {value_text(setting, least)}, got {seen}"
    if most is not None and not 0 <= value <= most:
        yield f"{setting}: expected at most {value_text(setting, most)}, got {seen}"


def value_text(setting: str, value: int) -> str:
    """Return ``value`` with the unit of ``setting``, such as ``7d`` or ``1MiB``; plain if it has no unit."""
    unit = unit_of(setting)
    return unit.format(value) if unit else str(value)


def segment_fills_in_ms(topic: Topic, brokers: BrokerSettings) -> float | None:
    """Return the milliseconds until a segment of one partition reaches ``segment.bytes``.

    Assumes ``contents.records.per_day`` records of the maximum size, spread evenly over the partitions. Infinite for
    zero records a day; None if the topic declares no traffic.
    """
    per_day = topic.contents.records.per_day
    if per_day is None:
        return None
    daily = per_day * (topic.contents.records.max_bytes or ASSUMED_RECORD_BYTES) / topic.partitions
    return effective_number(topic, "segment.bytes", brokers) * DAY_MS / daily if daily else float("inf")
