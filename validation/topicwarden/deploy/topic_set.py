"""Topics as Pulumi resources, grouped by domain."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import groupby
from typing import Any

import pulumi
import pulumi_kafka as kafka

from topicwarden.deploy.state import SET_TYPE
from topicwarden.topic import Allowance, Topic

_UNPROTECTED = frozenset({Allowance.DELETE, Allowance.RECREATE})


class Domain(pulumi.ComponentResource):
    """The topics of one folder under ``topics/``."""

    def __init__(self, name: str, opts: pulumi.ResourceOptions) -> None:
        super().__init__("topicwarden:index:Domain", name, None, opts)
        self.register_outputs({})


class TopicSet(pulumi.ComponentResource):
    """Every topic of a stack. Each is protected unless its YAML allows what protection prevents.

    ``provider`` is the stack's default where None; ``adopted`` are names of topics that are on the cluster as
    declared and not in the state yet. Replicas of a topic that is there are never touched: the provider would
    move them blindly, ``topicwarden rebalance`` does not.
    """

    topics: pulumi.Output[dict[str, dict[str, Any]]]
    """The topics as deployed, by name: ``partitions``, ``replicationFactor`` and ``config``."""
    unprotected: pulumi.Output[list[str]]
    """The names of those that a next deploy may delete or create again."""

    def __init__(
        self,
        name: str,
        topics: Iterable[Topic],
        provider: kafka.Provider | None = None,
        adopted: Collection[str] = (),
    ) -> None:
        super().__init__(SET_TYPE, name)
        held = sorted(topics, key=lambda topic: (topic.domain, topic.name))
        deployed = [
            self._topic(topic, domain, provider, topic.name in adopted)
            for folder, members in groupby(held, key=lambda topic: topic.domain)
            for domain in [Domain(f"{name}/{folder or 'topics'}", pulumi.ResourceOptions(parent=self))]
            for topic in members
        ]
        self.topics = pulumi.Output.all(*map(_as_deployed, deployed)).apply(_by_name)
        self.unprotected = pulumi.Output.from_input(sorted(topic.name for topic in held if _may_go(topic)))
        self.register_outputs({"topics": self.topics, "unprotected": self.unprotected})

    @staticmethod
    def _topic(topic: Topic, domain: Domain, provider: kafka.Provider | None, adopted: bool) -> kafka.Topic:
        # The explicit name keeps Pulumi from adding a random suffix to it.
        return kafka.Topic(
            topic.name,
            name=topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            config=dict(topic.config),
            opts=pulumi.ResourceOptions(
                parent=domain,
                provider=provider,
                protect=not _may_go(topic),
                import_=topic.name if adopted else None,
                ignore_changes=["replicationFactor"],
            ),
        )


def _may_go(topic: Topic) -> bool:
    return not _UNPROTECTED.isdisjoint(topic.allow)


def _as_deployed(topic: kafka.Topic) -> pulumi.Output[dict[str, Any]]:
    return pulumi.Output.all(
        name=topic.name, partitions=topic.partitions, replicationFactor=topic.replication_factor, config=topic.config
    )


def _by_name(topics: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    held = sorted(topics, key=lambda topic: str(topic["name"]))
    return {topic["name"]: {key: value for key, value in topic.items() if key != "name"} for topic in held}
