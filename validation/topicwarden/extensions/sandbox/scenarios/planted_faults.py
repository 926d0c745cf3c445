"""Faults that occur in real clusters, planted on purpose. The audit finds each with the check in ``PLANTED``."""

from __future__ import annotations

import time
from collections.abc import Sequence

from topicwarden.extensions.sandbox.scenarios.writer import write_once_valid, writing
from topicwarden.kafka.write.config_admin import delete_all_records, set_topic

ORDERS, CUSTOMERS, CLICKS = "shop.orders", "shop.customers", "shop.clicks"
PLANTED = {ORDERS: "config-drift", CUSTOMERS: "null-key", CLICKS: "retention-blocked"}
CLICKS_EXPIRED = 20
_HOUR_MS = 3_600_000
_DECLARED_RETENTION_MS = 7 * 24 * _HOUR_MS


def fill(servers: Sequence[str]) -> None:
    """Write orders and customers without faults. Each record has its own key."""
    with writing(servers) as writer:
        for number in range(300):
            writer.send(ORDERS, f"order-{number}", '{"total": 12.5}')
            writer.send(CUSTOMERS, f"customer-{number}", '{"city": "Aachen"}')


def plant(servers: Sequence[str]) -> None:
    """Plant one fault in each of the shop's topics."""
    change_setting_by_hand(servers)
    write_keyless_before_compaction(servers)
    write_future_timestamp(servers)


def change_setting_by_hand(servers: Sequence[str]) -> None:
    """Reduce retention by hand, like an operator who needs disk space."""
    set_topic(servers, ORDERS, {"retention.ms": str(_HOUR_MS)})


def repair_setting(servers: Sequence[str]) -> None:
    """Give the orders their declared retention again, by hand."""
    set_topic(servers, ORDERS, {"retention.ms": str(_DECLARED_RETENTION_MS)})


def write_keyless_before_compaction(servers: Sequence[str]) -> None:
    """Write a record without a key while the topic has ``cleanup.policy=delete``, then make the topic compacted.

    Brokers refuse records without keys for compacted topics.
    """
    set_topic(servers, CUSTOMERS, {"cleanup.policy": "delete"})
    write_once_valid(servers, CUSTOMERS, None, '{"city": "nowhere"}', partition=0)
    set_topic(servers, CUSTOMERS, {"cleanup.policy": "compact"})


def write_future_timestamp(servers: Sequence[str], now_ms: int | None = None) -> None:
    """Write a record of a producer whose clock is half an hour ahead of ``now_ms``, then expired records.

    The first record blocks retention of the expired records after it. Records of an earlier demo are deleted before:
    half an hour later, its record with the future timestamp is in the past, and still comes first.
    """
    now = int(time.time() * 1000) if now_ms is None else now_ms
    delete_all_records(servers, CLICKS, 0)
    with writing(servers) as writer:
        writer.send(CLICKS, "visitor-0", "home", timestamp=now + _HOUR_MS // 2, partition=0)
        writer.flush()
        for number in range(CLICKS_EXPIRED):
            writer.send(CLICKS, f"visitor-{number}", "home", timestamp=now - 2 * _HOUR_MS + number, partition=0)
