"""A Pulumi program with topics of a stack, registered leanly or with the SDK, as ``TEST_REGISTRATION`` says."""

from __future__ import annotations

import os
from pathlib import Path

import pulumi_kafka as kafka

from topicwarden.deploy import topic_resources
from topicwarden.deploy.topic_registration import TopicRegistration
from topicwarden.deploy.topic_resources import TopicResources
from topicwarden.model.topic import Allowance, AllowedChange, Topic

if os.environ["TEST_REGISTRATION"] == "sdk":
    topic_resources._needs_sdk = lambda registration: True
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
