"""Topics as Pulumi resources, grouped by domain."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

import pulumi
import pulumi_kafka as kafka

from topicwarden.topic import Allowance, Topic

_UNPROTECTED = frozenset({Allowance.DELETE, Allowance.RECREATE})


class Domain(pulumi.ComponentResource):
    """The topics of one folder under ``topics/``."""

    def __init__(self, name: str, opts: pulumi.ResourceOptions) -> None:
        super().__init__("topicwarden:index:Domain", name, None, opts)
        self.register_outputs({})


class TopicSet(pulumi.ComponentResource):
    """Every topic of a stack. Each is protected unless its YAML allows what protection prevents.

    ``names`` are the topics as deployed, sorted; ``provider`` is the stack's default where None.
    """

    names: pulumi.Output[list[str]]

    def __init__(self, name: str, topics: Iterable[Topic], provider: kafka.Provider | None = None) -> None:
        super().__init__("topicwarden:index:TopicSet", name)
        deployed = [
            self._topic(topic, domain, provider)
            for folder, held in groupby(sorted(topics, key=lambda t: (t.domain, t.name)), key=lambda t: t.domain)
            for domain in [Domain(f"{name}/{folder or 'topics'}", pulumi.ResourceOptions(parent=self))]
            for topic in held
        ]
        self.names = pulumi.Output.all(*(topic.name for topic in deployed)).apply(sorted)
        self.register_outputs({"names": self.names})

    @staticmethod
    def _topic(topic: Topic, domain: Domain, provider: kafka.Provider | None) -> kafka.Topic:
        # The explicit name keeps Pulumi from adding a random suffix to it.
        return kafka.Topic(
            topic.name,
            name=topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            config=dict(topic.config),
            opts=pulumi.ResourceOptions(parent=domain, provider=provider, protect=_UNPROTECTED.isdisjoint(topic.allow)),
        )
