"""The time until a segment is full, estimated from the declared traffic."""

from __future__ import annotations

from typing import Final

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import effective_number

DAY_MS: Final = 86_400_000
ASSUMED_RECORD_BYTES: Final = 1024
"""Assumed record size if no maximum is declared. Most records are smaller, so segments fill even later."""


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
