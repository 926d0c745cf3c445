"""Reads client-metrics subscriptions from a cluster."""

from __future__ import annotations

from topicwarden.kafka.read.described_configs import list_client_metrics
from topicwarden.kinds.client_metrics.change import PART, Subscription
from topicwarden.kinds.difference import LivePart, complete

LIVE = LivePart(
    PART.name,
    PART.plural,
    "DescribeConfigs on the Cluster resource",
    complete(lambda admin: {Subscription(name): own for name, own in list_client_metrics(admin).items()}),
)
