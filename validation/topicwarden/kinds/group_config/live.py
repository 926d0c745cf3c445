"""Reads settings of groups from a cluster."""

from __future__ import annotations

from topicwarden.kafka.read.settings_reads import list_group_settings
from topicwarden.kinds.live_part import LivePart

LIVE = LivePart("group_configs", "settings of groups", "DescribeConfigs on groups", list_group_settings)
