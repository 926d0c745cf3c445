"""How soon a segment is full, from the traffic that is declared."""

from __future__ import annotations

from typing import Final

from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import number
from topicwarden.specs.broker_settings import BrokerSettings

DAY_MS: Final = 86_400_000
ASSUMED_RECORD_BYTES: Final = 1024
"""Of a record whose greatest size is not declared; most are smaller, so segments fill later still."""


def segment_fills_in_ms(topic: Topic, brokers: BrokerSettings) -> float | None:
    """When ``segment.bytes`` of a partition are full at ``contents.records.per_day``, records as large as they may be.

    Infinite without traffic; None where none is declared.
    """
    per_day = topic.contents.records_per_day
    if per_day is None:
        return None
    daily = per_day * (topic.contents.record_max_bytes or ASSUMED_RECORD_BYTES) / topic.partitions
    return number(topic, "segment.bytes", brokers) * DAY_MS / daily if daily else float("inf")
