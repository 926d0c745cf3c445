"""Reads settings of groups from a cluster."""

from __future__ import annotations

from topicwarden.kafka.read.described_configs import list_group_settings
from topicwarden.kinds.difference import LivePart
from topicwarden.kinds.group_config.change import GROUP_CONFIGS, PART

LIVE = LivePart(GROUP_CONFIGS, PART.plural, "DescribeConfigs on groups", list_group_settings)
