"""Settings of groups as entries of access: by group, with Kafka's settings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from topicwarden.kinds.difference import AccessPart, has_values, setting_rows
from topicwarden.model.access import DeclaredAccess, DeployedAccess, Part
from topicwarden.model.change_terms import AccessKind

GROUP_CONFIGS: Final[Part[str, Mapping[str, str]]] = Part("group_configs")


def requested_groups(*access: DeclaredAccess | DeployedAccess) -> frozenset[str]:
    """Return the groups whose settings are read in any case; brokers before Kafka 4.1 do not list them."""
    return frozenset(group for each in access for group in each.part(GROUP_CONFIGS))


def group_title(group: str) -> str:
    """Return a group's settings in words, such as ``settings of group billing``."""
    return f"settings of group {group}"


PART = AccessPart(
    AccessKind.GROUP_CONFIG,
    GROUP_CONFIGS,
    "settings of groups",
    group_title,
    has_values,
    partial(setting_rows, kind=AccessKind.GROUP_CONFIG, part=GROUP_CONFIGS, name=str),
    owners="groups with settings",
)
