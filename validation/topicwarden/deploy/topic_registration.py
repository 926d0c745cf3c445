"""The registration of a declared topic with Pulumi's engine, whatever sends it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from topicwarden.kafka_facts.throttle_settings import REPLICAS
from topicwarden.model.problem import Location
from topicwarden.model.topic import Topic

PROPERTIES: Final = ("name", "partitions", "replicationFactor", "config")
"""The properties of a topic resource."""


@dataclass(frozen=True)
class TopicRegistration:
    """A declared topic, and how it is registered with the engine.

    - ``location``: where the YAML declares the topic.
    - ``adopt``: the topic is on the cluster as declared, but not in the state yet.
    - ``deletable``: the YAML allows deletion today.
    - ``replaced``: this deploy deletes and creates the topic again, and the YAML allows it; or an earlier deploy has
      deleted it.
    - ``unchanged``: properties (Pulumi's names) that were changed by hand and that the deploy does not revert. Either
      the YAML does not allow the loss, or it declares the current values.
    - ``throttles``: replication throttle lists that the deploy writes together with the declared configuration,
      because the official provider writes the whole configuration.
    - ``throttled``: replicas move, or moved during the last refresh, and the configuration is not written.
    - ``dependencies``: URNs of registered resources that the engine deletes later than the topic.
    - ``rules``: the rules under ``contents`` that the state records; see ``changed_rules``.
    """

    topic: Topic
    location: Location | None = None
    adopt: bool = False
    deletable: bool = False
    replaced: bool = False
    unchanged: tuple[str, ...] = ()
    throttles: Mapping[str, str] = field(default_factory=dict)
    throttled: bool = False
    dependencies: tuple[str, ...] = ()
    rules: Mapping[str, Any] = field(default_factory=dict)

    @property
    def file(self) -> str | None:
        """The YAML file that declares the topic."""
        return None if self.location is None else self.location.file

    @property
    def config(self) -> dict[str, str]:
        """The configuration that the resource gets."""
        return {**self.throttles, **self.topic.config}

    @property
    def protect(self) -> bool:
        """True if the engine refuses to delete the resource."""
        return not (self.deletable or self.replaced)

    @property
    def hooked(self) -> bool:
        """True if only this deploy may delete the resource, by a hook."""
        return self.replaced and not self.deletable

    @property
    def ignored(self) -> list[str]:
        """The properties that the deploy does not change."""
        # A refresh reads throttle lists into the outputs only, so ignoring only the lists would have no effect.
        throttled = {"config"} if self.throttled else set[str]()
        return ["replicationFactor", *sorted(throttled.union(self.unchanged))]


def properties(topic: Topic, config: Mapping[str, str]) -> dict[str, Any]:
    """Return the properties of the resource of ``topic`` with this configuration."""
    return dict(zip(PROPERTIES, (topic.name, topic.partitions, topic.replication_factor, config), strict=True))


def undeclared_throttles(topic: Topic, config: Mapping[str, str]) -> dict[str, str]:
    """Return the replication throttle lists in ``config`` that ``topic`` does not declare: its replicas move."""
    return {name: config[name] for name in REPLICAS if name in config and name not in topic.config}


def adopted_properties(topic: Topic, config: Mapping[str, str]) -> dict[str, Any]:
    """Return the properties of the resource of ``topic``, which is on the cluster as declared, with this ``config``."""
    return properties(topic, {**undeclared_throttles(topic, config), **topic.config})


def deployed(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return a topic as the stack's outputs show it, from the outputs of its resource."""
    return {name: outputs.get(name) for name in PROPERTIES}
