"""Topics as Pulumi resources, grouped by domain."""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import pulumi
import pulumi_kafka as kafka

from topicwarden.deploy.lean_registration import known_output, register_topics
from topicwarden.deploy.sdk_registration import register_with_sdk
from topicwarden.deploy.stack_state import recorded
from topicwarden.deploy.topic_registration import TopicRegistration
from topicwarden.kafka_facts.throttle_settings import REPLICAS
from topicwarden.kinds.topic.resource import DOMAIN_TYPE, SET_TYPE
from topicwarden.model.deployed_stack import DeployedTopic

DANGERS: Final = "dangers"
"""The output of ``TopicResources`` that the policy pack reports."""


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
    open to everyone. A topic that is replaced exists already.
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
        by_sdk = [register_with_sdk(*each, provider) for each in placed if _needs_sdk(each[0])]
        leanly = register_topics([each for each in placed if not _needs_sdk(each[0])], provider, root, after)
        declared = {each.topic.name: each.topic.config.keys() for each in ordered}

        async def records() -> dict[str, dict[str, Any]]:
            last = {each.name: recorded(each.declared, each.file, each.rules) for each in departing if each.declared}
            return last | {each.topic.name: recorded(each.topic, each.file, each.rules) for each in ordered}

        async def by_name() -> dict[str, dict[str, Any]]:
            by_urn = {await urn.future(): await topic.future() for urn, topic in by_sdk}
            return _by_name([*await leanly, *filter(None, by_urn.values())], declared)

        self.topics = known_output(by_name())
        self.register_outputs(
            {
                "topics": self.topics,
                "declared": known_output(records()),
                "clusterId": cluster_id,
                DANGERS: list(dangers),
            }
        )


def _needs_sdk(registration: TopicRegistration) -> bool:
    """Return whether only the SDK can register the topic; see ``lean_registration``."""
    return registration.hooked


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
