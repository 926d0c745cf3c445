"""What Pulumi's state says was last deployed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from topicwarden.model.topic import Topic


@dataclass(frozen=True)
class DeployedTopic:
    """A topic in Pulumi's state.

    ``partitions``, ``replication_factor`` and ``config`` are the resource's, which a refresh overwrites with live
    values. ``declared`` is the topic as the YAML declared it at the last deploy, with what that YAML allowed, and
    ``file`` that YAML file; None in states that do not record it.
    """

    name: str
    partitions: int
    replication_factor: int
    config: Mapping[str, str]
    declared: Topic | None = None
    file: str | None = None


@dataclass(frozen=True)
class DuplicateResource:
    """A topic resource that the program does not register under its URN, or that the engine is still to delete."""

    urn: str
    pending_deletion: bool = False


@dataclass(frozen=True)
class DeployedStack:
    """A stack's topics by name, the id of the cluster they were deployed to, and duplicates.

    ``duplicates`` has further resources by topic name, such as one made by `pulumi import`: the engine deletes the
    topic of each.
    """

    topics: Mapping[str, DeployedTopic] = field(default_factory=dict)
    cluster_id: str | None = None
    duplicates: Mapping[str, tuple[DuplicateResource, ...]] = field(default_factory=dict)
