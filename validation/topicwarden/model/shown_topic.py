"""The reports of `topicwarden show`: one declared topic with the origin of each value and its access, or all topics.

Fields without a place in the JSON are only for the text.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from topicwarden.model.field_types import StrictModel
from topicwarden.model.problem import Location


class ShownValue(StrictModel):
    """A setting with its path and its value in Kafka's notation.

    ``location`` is the line that declares it; None for a default. ``broker_setting`` is the broker property that
    replaces Kafka's default if the broker sets it.
    """

    path: tuple[str, ...]
    value: Any
    source: str
    location: Location | None
    broker_setting: str | None = Field(default=None, exclude=True)


class AclOrigin(StrictModel):
    """One declaration that an ACL comes from."""

    description: str
    location: Location


class ShownAcl(StrictModel):
    """One ACL in the words of Kafka's Java classes, the other operations that it allows, and its declarations."""

    principal: str
    host: str
    operation: str
    permission: str
    resource_type: str
    resource_name: str
    pattern_type: str
    implied: tuple[str, ...]
    sources: tuple[AclOrigin, ...]
    text: str = Field(exclude=True)


class ShownTopic(StrictModel):
    """A topic as a stack declares it: the declared settings, then the defaults of the stack's Kafka, then the access.

    ``errors`` is the number of errors in the YAML, which may hide topics and access.
    """

    version: Literal[1] = 1
    stack: str
    kafka: str
    values: tuple[ShownValue, ...]
    access: tuple[ShownAcl, ...]
    name: str = Field(exclude=True)
    errors: int = Field(exclude=True)


class ListedTopic(StrictModel):
    """One of all topics, with the declared part of its configuration, and the defaults of the listed settings."""

    topic: str
    partitions: int
    replication_factor: int
    config: dict[str, str]
    owner: str | None
    file: str
    defaults: dict[str, str | None] = Field(exclude=True)


class ListedTopics(StrictModel):
    """All topics of a stack, sorted by name. ``errors`` is that of ``ShownTopic``."""

    version: Literal[1] = 1
    stack: str
    kafka: str
    topics: tuple[ListedTopic, ...]
    errors: int = Field(exclude=True)
