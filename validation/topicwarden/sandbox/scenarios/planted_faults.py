"""What goes wrong in real life, planted on purpose: each is found by the audit, under the check named here."""

from __future__ import annotations

import time
from collections.abc import Sequence

from topicwarden.sandbox.scenarios.cluster_settings import set_topic
from topicwarden.sandbox.scenarios.writer import writing

ORDERS, CUSTOMERS, CLICKS = "shop.orders", "shop.customers", "shop.clicks"
PLANTED = {ORDERS: "config-drift", CUSTOMERS: "null-key", CLICKS: "retention-blocked"}
CLICKS_EXPIRED = 20
_HOUR_MS = 3_600_000


def fill(servers: Sequence[str]) -> None:
    """What is in order: orders and customers, each of a key of its own."""
    with writing(servers) as writer:
        for number in range(300):
            writer.send(ORDERS, f"order-{number}", '{"total": 12.5}')
            writer.send(CUSTOMERS, f"customer-{number}", '{"city": "Aachen"}')


def plant(servers: Sequence[str]) -> None:
    """Breaks each of the shop's topics in one way."""
    change_setting_by_hand(servers)
    write_keyless_before_compaction(servers)
    write_future_timestamp(servers)


def change_setting_by_hand(servers: Sequence[str]) -> None:
    """Somebody needed disk space last night."""
    set_topic(servers, ORDERS, {"retention.ms": str(_HOUR_MS)})


def write_keyless_before_compaction(servers: Sequence[str]) -> None:
    """A topic that once was ``delete``; brokers refuse a keyless record once it is compacted."""
    set_topic(servers, CUSTOMERS, {"cleanup.policy": "delete"})
    with writing(servers) as writer:
        writer.send(CUSTOMERS, None, '{"city": "nowhere"}', partition=0)
    set_topic(servers, CUSTOMERS, {"cleanup.policy": "compact"})


def write_future_timestamp(servers: Sequence[str]) -> None:
    """A producer whose clock is half an hour ahead writes first; what is long expired lies behind it."""
    now = int(time.time() * 1000)
    with writing(servers) as writer:
        writer.send(CLICKS, "visitor-0", "home", timestamp=now + _HOUR_MS // 2, partition=0)
        writer.flush()
        for number in range(CLICKS_EXPIRED):
            writer.send(CLICKS, f"visitor-{number}", "home", timestamp=now - 2 * _HOUR_MS + number, partition=0)
