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
    """How one declared topic is handed to the engine.

    ``file`` is the YAML file that declares it. ``adopt``: the topic is on the cluster as declared and not in the state
    yet. ``deletable``: its YAML allows that today. ``replaced``: this deploy creates it again, as its YAML allows.
    ``held`` are the properties (in Pulumi's names) that were changed by hand, and that the deploy leaves so, as the
    YAML does not allow the loss, or declares them as they are now.
    ``throttles``: the replication throttle lists that the deploy writes with the declared configuration, as the
    provider writes all of it. ``throttled``: replicas move, or moved when the state was refreshed, and the
    configuration is not written.
    """

    topic: Topic
    file: str | None = None
    adopt: bool = False
    deletable: bool = False
    replaced: bool = False
    held: tuple[str, ...] = ()
    throttles: Mapping[str, str] = field(default_factory=dict)
    throttled: bool = False


class TopicResources(pulumi.ComponentResource):
    """Every topic of a stack. Each is protected unless its YAML allows what protection prevents.

    ``cluster_id`` is Kafka's id of the cluster that is deployed to, ``dangers`` what the deploy puts at risk, a line
    each; ``provider`` is the stack's default where None.
    Replicas of a topic that exists are never touched: the provider would place them at random,
    ``topicwarden rebalance`` does not.
    """

    urns: Sequence[pulumi.Output[str]]
    """The URN of each topic, known once the engine has registered the topic."""
    topics: pulumi.Output[dict[str, dict[str, Any]]]
    """The topics as deployed, by name: ``partitions``, ``replicationFactor`` and ``config``."""
    declared: pulumi.Output[dict[str, dict[str, Any]]]
    """What each topic's YAML declared and allowed, by topic name; see ``state.recorded``."""
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
        self.topics = pulumi.Output.all(*map(_as_deployed, deployed)).apply(lambda held: _by_name(held, declared))
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
    """Return a hook that lets nothing but a program which replaces the topic delete it.

    The engine replaces no protected resource, so the new one begins unprotected, and is protected by the next deploy.
    Until then `pulumi destroy` refuses, as it cannot run the hook, and so does a program that does not register it
    (Pulumi's ``newDestroySource`` and ``Deployment.RunHooks``).
    """
    return pulumi.ResourceHookBinding(before_delete=[pulumi.ResourceHook(f"topicwarden:replace:{topic}", _pass)])


def _pass(args: pulumi.ResourceHookArgs) -> None:
    """Permit the deletion: the hook is there only in the deploy that may delete."""


def _ignored(registration: TopicRegistration) -> list[str]:
    """Return the properties that the deploy leaves as the state has them."""
    # A refresh reads throttle lists into the outputs only, so that ignoring the lists alone has no effect.
    throttled = {"config"} if registration.throttled else set()
    return ["replicationFactor", *sorted(throttled.union(registration.held))]


def _as_deployed(topic: kafka.Topic) -> pulumi.Output[dict[str, Any]]:
    return pulumi.Output.all(
        name=topic.name, partitions=topic.partitions, replicationFactor=topic.replication_factor, config=topic.config
    )


def _by_name(topics: Iterable[dict[str, Any]], declared: Mapping[str, Collection[str]]) -> dict[str, dict[str, Any]]:
    """Return the topics by name, without throttle lists that are not ``declared``: they are gone after a move."""
    held = sorted(topics, key=lambda topic: str(topic["name"]))
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
        for topic in held
    }
