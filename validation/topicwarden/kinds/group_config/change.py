"""Settings of groups as entries of access: by group, with Kafka's settings."""

from __future__ import annotations

from functools import partial

from topicwarden.kinds.difference import AccessPart, has_values, setting_rows
from topicwarden.model.planned_change import AccessKind


def group_title(group: str) -> str:
    """Return a group's settings in words, such as ``settings of group billing``."""
    return f"settings of group {group}"


PART = AccessPart(
    AccessKind.GROUP_CONFIG,
    "group_configs",
    "settings of groups",
    group_title,
    has_values,
    partial(setting_rows, kind=AccessKind.GROUP_CONFIG, part="group_configs", name=str),
    owners="groups with settings",
)
