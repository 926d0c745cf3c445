"""Topics as Pulumi resources, grouped by domain."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

import pulumi
import pulumi_kafka as kafka

from topicwarden.deploy.stack_state import DOMAIN_TYPE, SET_TYPE, recorded
from topicwarden.kafka.throttle_admin import REPLICAS
from topicwarden.model.topic import Topic

DANGERS: Final = "dangers"
"""The output of ``TopicResources`` that the policy pack reports."""


class DomainResource(pulumi.ComponentResource):
    """The topics of one folder under ``topics/``."""

    def __init__(self, name: str, opts: pulumi.ResourceOptions) -> None:
        super().__init__(DOMAIN_TYPE, name, None, opts)
        self.register_outputs({})


@dataclass(frozen=True)
class TopicRegistration:
    """A declared topic, and how it is registered with the engine.

    - ``file``: the YAML file that declares the topic.
    - ``adopt``: the topic is on the cluster as declared, but not in the state yet.
    - ``deletable``: the YAML allows deletion today.
    - ``replaced``: this deploy deletes and creates the topic again, and the YAML allows it.
    - ``unchanged``: properties (Pulumi's names) that were changed by hand and that the deploy does not revert. Either
      the YAML does not allow the loss, or it declares the current values.
    - ``throttles``: replication throttle lists that the deploy writes together with the declared configuration,
      because the provider writes the whole configuration.
    - ``throttled``: replicas move, or moved during the last refresh, and the configuration is not written.
    """

    topic: Topic
    file: str | None = None
    adopt: bool = False
    deletable: bool = False
    replaced: bool = False
    unchanged: tuple[str, ...] = ()
    throttles: Mapping[str, str] = field(default_factory=dict)
    throttled: bool = False


class TopicResources(pulumi.ComponentResource):
    """All topics of a stack. Each topic is protected unless its YAML allows the deletion.

    ``cluster_id`` is Kafka's id of the target cluster. ``dangers`` has one line for each danger of the deploy.
    ``provider`` defaults to the stack's default provider. Replicas of an existing topic are never changed, because the
    provider would place them on random brokers; ``topicwarden rebalance`` places them.
    """

    urns: Sequence[pulumi.Output[str]]
    """The URN of each topic; known when the engine has registered the topic."""
    topics: pulumi.Output[dict[str, dict[str, Any]]]
    """The topics as deployed, by name: ``partitions``, ``replicationFactor`` and ``config``."""
    declared: pulumi.Output[dict[str, dict[str, Any]]]
    """The record of each topic's YAML, by topic name; see ``stack_state.recorded``."""
    cluster_id: pulumi.Output[str | None]
    """Kafka's id of the cluster that was deployed to."""

    def __init__(
        self,
        name: str,
        topics: Iterable[TopicRegistration],
        cluster_id: str | None = None,
        dangers: Sequence[str] = (),
        provider: kafka.Provider | None = None,
    ) -> None:
        super().__init__(SET_TYPE, name)
        ordered = sorted(topics, key=lambda each: (each.topic.domain, each.topic.name))
        deployed = [
            self._topic(registration, domain, provider)
            for folder, members in groupby(ordered, key=lambda each: each.topic.domain)
            for domain in [DomainResource(f"{name}/{folder or 'topics'}", pulumi.ResourceOptions(parent=self))]
            for registration in members
        ]
        declared = {each.topic.name: each.topic.config.keys() for each in ordered}
        self.urns = [topic.urn for topic in deployed]
        self.topics = pulumi.Output.all(*map(_as_deployed, deployed)).apply(lambda found: _by_name(found, declared))
        self.declared = pulumi.Output.from_input({each.topic.name: recorded(each.topic, each.file) for each in ordered})
        self.cluster_id = pulumi.Output.from_input(cluster_id)
        self.register_outputs(
            {
                "topics": self.topics,
                "declared": self.declared,
                "clusterId": self.cluster_id,
                DANGERS: list(dangers),
            }
        )

    @staticmethod
    def _topic(registration: TopicRegistration, domain: DomainResource, provider: kafka.Provider | None) -> kafka.Topic:
        topic = registration.topic
        # The explicit name keeps Pulumi from adding a random suffix to it.
        return kafka.Topic(
            topic.name,
            name=topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            config={**registration.throttles, **topic.config},
            opts=pulumi.ResourceOptions(
                parent=domain,
                provider=provider,
                protect=not (registration.deletable or registration.replaced),
                hooks=_only_this_deploy(topic.name) if registration.replaced and not registration.deletable else None,
                import_=topic.name if registration.adopt else None,
                ignore_changes=_ignored(registration),
            ),
        )


def _only_this_deploy(topic: str) -> pulumi.ResourceHookBinding:
    """Return a hook that allows only a program that replaces the topic to delete it.

    The engine does not replace a protected resource. So the new resource is unprotected until the next deploy. Until
    then `pulumi destroy` fails because it cannot run the hook, and so does a program that does not register the hook
    (Pulumi's ``newDestroySource`` and ``Deployment.RunHooks``).
    """
    return pulumi.ResourceHookBinding(before_delete=[pulumi.ResourceHook(f"topicwarden:replace:{topic}", _pass)])


def _pass(args: pulumi.ResourceHookArgs) -> None:
    """Allow the deletion: only the deploy that may delete the topic registers this hook."""


def _ignored(registration: TopicRegistration) -> list[str]:
    """Return the properties that the deploy does not change."""
    # A refresh reads throttle lists into the outputs only, so ignoring only the lists would have no effect.
    throttled = {"config"} if registration.throttled else set()
    return ["replicationFactor", *sorted(throttled.union(registration.unchanged))]


def _as_deployed(topic: kafka.Topic) -> pulumi.Output[dict[str, Any]]:
    return pulumi.Output.all(
        name=topic.name, partitions=topic.partitions, replicationFactor=topic.replication_factor, config=topic.config
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
