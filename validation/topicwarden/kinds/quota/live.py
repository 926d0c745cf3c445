"""Reads quotas from a cluster."""

from __future__ import annotations

from topicwarden.kafka.read.quota_reads import list_quotas
from topicwarden.kinds.live_part import LivePart, complete
from topicwarden.kinds.quota.change import QUOTAS

LIVE = LivePart(QUOTAS, "DescribeClientQuotas", "DescribeConfigs on the Cluster resource", complete(list_quotas))
