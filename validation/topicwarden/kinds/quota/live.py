"""Reads quotas from a cluster."""

from __future__ import annotations

from topicwarden.kafka.read.quota_reads import list_quotas
from topicwarden.kinds.live_part import LivePart, complete

LIVE = LivePart("quotas", "DescribeClientQuotas", "DescribeConfigs on the Cluster resource", complete(list_quotas))
