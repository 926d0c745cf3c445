"""Topics as Pulumi resources, grouped by domain.

``register_resource_outputs`` of the SDK sends the outputs of each resource to the engine's debug log, twice. The
outputs of a stack have all topics, and the engine keeps the texts: 200 MB for 10,000 topics. So they are cut.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import pulumi
import pulumi_kafka as kafka

from topicwarden.deploy.lean_registration import known_output, register_topics
from topicwarden.deploy.stack_state import recorded
from topicwarden.deploy.topic_registration import TopicRegistration
from topicwarden.kafka_facts.throttle_settings import REPLICAS
from topicwarden.kinds.topic.resource import DOMAIN_TYPE, SET_TYPE
from topicwarden.model.deployed_stack import DeployedTopic

DANGERS: Final = "dangers"
"""The output of ``TopicResources`` that the policy pack reports."""

_DEBUG: Final = pulumi.log.debug
_LONGEST: Final = 10_000
"""Characters of a debug message."""


class DomainResource(pulumi.ComponentResource):
    """The topics of one folder under ``topics/``."""

    def __init__(self, name: str, opts: pulumi.ResourceOptions) -> None:
        super().__init__(DOMAIN_TYPE, name, None, opts)
        self.register_outputs({})


class TopicResources(pulumi.ComponentResource):
    """All topics of a stack. Each topic is protected unless its YAML allows the deletion.

    ``cluster_id`` is Kafka's id of the target cluster. ``dangers`` has one line for each danger of the deploy.
    ``departing`` topics are deployed, but no longer declared. The engine deletes them after it has written the outputs,
    so their allowances stay recorded: if a deletion fails, the next deploy may repeat it.
    ``provider`` defaults to the stack's default provider. ``root`` is the folder of the project. Replicas of an
    existing topic are never changed, because the official provider would place them on random brokers;
    ``topicwarden rebalance`` places them. No topic is created before ``after`` is done: a topic without ACLs may be
    open to everyone.
    """

    topics: pulumi.Output[dict[str, dict[str, Any]]]
    """The topics as deployed, by name: ``partitions``, ``replicationFactor`` and ``config``.

    Known when the engine has registered every topic.
    """

    def __init__(
        self,
        name: str,
        topics: Iterable[TopicRegistration],
        *,
        root: Path,
        cluster_id: str | None = None,
        dangers: Sequence[str] = (),
        departing: Iterable[DeployedTopic] = (),
        provider: kafka.Provider | None = None,
        after: Awaitable[object] | None = None,
    ) -> None:
        super().__init__(SET_TYPE, name)
        ordered = sorted(topics, key=lambda each: (each.topic.domain, each.topic.name))
        placed = [
            (registration, domain)
            for folder, members in groupby(ordered, key=lambda each: each.topic.domain)
            for domain in [DomainResource(f"{name}/{folder or 'topics'}", pulumi.ResourceOptions(parent=self))]
            for registration in members
        ]
        registered = register_topics(placed, provider, root, after)
        declared = {each.topic.name: each.topic.config.keys() for each in ordered}

        async def records() -> dict[str, dict[str, Any]]:
            last = {each.name: recorded(each.declared, each.file, each.rules) for each in departing if each.declared}
            return last | {each.topic.name: recorded(each.topic, each.file, each.rules) for each in ordered}

        async def by_name() -> dict[str, dict[str, Any]]:
            return _by_name(await registered, declared)

        self.topics = known_output(by_name())
        self.register_outputs(
            {
                "topics": self.topics,
                "declared": known_output(records()),
                "clusterId": cluster_id,
                DANGERS: list(dangers),
            }
        )


def _by_name(topics: Iterable[dict[str, Any]], declared: Mapping[str, Collection[str]]) -> dict[str, dict[str, Any]]:
    """Return the topics by name, without throttle lists that are not ``declared``: these are removed after a move."""
    ordered = sorted(topics, key=lambda topic: str(topic["name"]))
    return {
        topic["name"]: {
            "partitions": topic["partitions"],
            "replicationFactor": topic["replicationFactor"],
            "config": {
                name: value
                for name, value in (topic["config"] or {}).items()
                if name not in REPLICAS or name in declared[topic["name"]]
            },
        }
        for topic in ordered
    }


def shorten_debug_messages() -> None:
    """Cut the debug messages of this process to a length that a person may read."""
    pulumi.log.debug = shortened(_DEBUG)


def shortened(debug: Callable[..., None]) -> Callable[..., None]:
    """Return ``debug``, which takes a message and options, for messages of any length."""

    def short(msg: str, *arguments: Any, **options: Any) -> None:
        debug(msg if len(msg) <= _LONGEST else f"{msg[:_LONGEST]}… ({len(msg):,} characters)", *arguments, **options)

    return short
