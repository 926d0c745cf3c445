"""A Pulumi program with topics of a stack, registered leanly or with the SDK, as ``TEST_REGISTRATION`` says."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pulumi
import pulumi_kafka as kafka

from topicwarden.deploy import topic_resources
from topicwarden.deploy.topic_registration import TopicRegistration, deployed
from topicwarden.deploy.topic_resources import TopicResources
from topicwarden.model.topic import Allowance, AllowedChange, Topic


async def register_with_sdk(
    registrations: Sequence[tuple[TopicRegistration, pulumi.Resource]], provider: kafka.Provider | None, *_: object
) -> list[dict[str, Any]]:
    """Register the topics as a program of Pulumi does: the reference for ``lean_registration``."""
    resources = [
        kafka.Topic(
            each.topic.name,
            name=each.topic.name,
            partitions=each.topic.partitions,
            replication_factor=each.topic.replication_factor,
            config=each.config,
            opts=pulumi.ResourceOptions(
                parent=parent, provider=provider, protect=each.protect, ignore_changes=each.ignored
            ),
        )
        for each, parent in registrations
    ]
    outputs = [
        pulumi.Output.all(
            name=each.name, partitions=each.partitions, replicationFactor=each.replication_factor, config=each.config
        )
        for each in resources
    ]
    return [deployed(values) for output in outputs if (values := await output.future()) is not None]


if os.environ["TEST_REGISTRATION"] == "sdk":
    patch.object(topic_resources, "register_topics", register_with_sdk).start()
PREFIX = os.environ["TEST_PREFIX"]


def topic(domain: str, name: str, **config: str) -> Topic:
    settings = {key.replace("_", "."): value for key, value in config.items()}
    return Topic(f"{PREFIX}.{name}", 2, 1, settings, domain=domain, allow=frozenset({Allowance(AllowedChange.DELETE)}))


kept = topic("shop", "kept", retention_ms="86400000", cleanup_policy="compact,delete")
TopicResources(
    "dev",
    [
        TopicRegistration(kept, None),
        TopicRegistration(topic("shop", "bare"), None, deletable=True),
        TopicRegistration(topic("", "held", retention_ms="86400000"), None, unchanged=("config", "partitions")),
        TopicRegistration(topic("", "throttled"), None, throttles={"leader.replication.throttled.replicas": "0:1"}),
    ],
    root=Path(),
    dangers=["a danger"],
    provider=kafka.Provider(
        "cluster", bootstrap_servers=os.environ["TEST_SERVERS"].split(","), tls_enabled=False, sasl_mechanism="plain"
    ),
)
