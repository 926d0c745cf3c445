"""Registers a topic with Pulumi's SDK: the reference for ``lean_registration``, and the only way that knows hooks.

``register_resource_outputs`` of the SDK sends the outputs of each resource to the engine's debug log, twice. The
outputs of a stack have all topics, and the engine keeps the texts: 200 MB for 10,000 topics. So they are cut.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pulumi
import pulumi_kafka as kafka

from topicwarden.deploy.topic_registration import TopicRegistration, deployed

_DEBUG: Final = pulumi.log.debug
_LONGEST: Final = 10_000
"""Characters of a message."""


def register_with_sdk(
    registration: TopicRegistration, parent: pulumi.Resource, provider: kafka.Provider | None
) -> tuple[pulumi.Output[str], pulumi.Output[dict[str, Any]]]:
    """Register a topic below ``parent``; return its URN, and the topic as deployed."""
    topic = registration.topic
    # The explicit name keeps Pulumi from adding a random suffix to it.
    resource = kafka.Topic(
        topic.name,
        name=topic.name,
        partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        config=registration.config,
        opts=pulumi.ResourceOptions(
            parent=parent,
            provider=provider,
            protect=registration.protect,
            hooks=_only_this_deploy(topic.name) if registration.hooked else None,
            import_=topic.name if registration.adopt else None,
            ignore_changes=registration.ignored,
        ),
    )
    outputs = pulumi.Output.all(
        name=resource.name,
        partitions=resource.partitions,
        replicationFactor=resource.replication_factor,
        config=resource.config,
    )
    return resource.urn, outputs.apply(deployed)


def _only_this_deploy(topic: str) -> pulumi.ResourceHookBinding:
    """Return a hook that allows only a program that replaces the topic to delete it.

    The engine does not replace a protected resource. So the new resource is unprotected until the next deploy. Until
    then `pulumi destroy` fails because it cannot run the hook, and so does a program that does not register the hook
    (Pulumi's ``newDestroySource`` and ``Deployment.RunHooks``).
    """
    return pulumi.ResourceHookBinding(before_delete=[pulumi.ResourceHook(f"topicwarden:replace:{topic}", _pass)])


def _pass(args: pulumi.ResourceHookArgs) -> None:
    """Allow the deletion: only the deploy that may delete the topic registers this hook."""


def shorten_debug_messages() -> None:
    """Cut the debug messages of this process to a length that a person may read."""
    pulumi.log.debug = shortened(_DEBUG)


def shortened(debug: Callable[..., None]) -> Callable[..., None]:
    """Return ``debug``, which takes a message and options, for messages of any length."""

    def short(msg: str, *arguments: Any, **options: Any) -> None:
        debug(msg if len(msg) <= _LONGEST else f"{msg[:_LONGEST]}… ({len(msg):,} characters)", *arguments, **options)

    return short
