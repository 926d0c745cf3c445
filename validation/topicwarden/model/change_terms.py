"""The words for what a plan may change, and how. They load no model of the report of a plan."""

from __future__ import annotations

from enum import StrEnum


class Action(StrEnum):
    """The operation that `pulumi up` would perform on a topic, or on a part of its access."""

    CREATE = "create"
    ADOPT = "adopt"
    UPDATE = "update"
    RECREATE = "recreate"
    DELETE = "delete"
    MOVE = "move"
    """Pulumi changes nothing; `topicwarden rebalance` moves replicas."""
    DRIFT = "drift"
    """Pulumi changes nothing; a manual change remains until a refresh, or until an update of the topic."""
    TRY = "try"
    """Pulumi changes nothing of the topic; new rules under `contents` were tried on its records."""
    RELEASE = "release"
    """A subject leaves Pulumi's state, and stays in the Schema Registry."""


class AccessKind(StrEnum):
    """The kind of access that changes."""

    # The table of the kinds, in the order in which a plan shows them: ``kinds/`` has a folder of each name.
    ACL = "ACL"
    QUOTA = "quota"
    SCRAM_USER = "user"
    GROUP_CONFIG = "group settings"
    CLIENT_METRICS = "client metrics"


class PlanSection(StrEnum):
    """The sections of a plan, in the order in which a deploy registers them."""

    ACCESS = "access"
    TOPICS = "topics"
    REGISTRY = "registry"
