"""Test which settings of a topic count as set by somebody, and which service a connection is of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import project
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read.cluster_service import setting_source
from topicwarden.kafka.read.snapshot import SET_BY_SERVICE, SET_ON_TOPIC
from topicwarden.kafka_facts.services import PROFILES
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project


@pytest.mark.parametrize(
    ("service", "setting", "value", "source", "seen"),
    [
        ("apache", "retention.ms", "604800000", SET_ON_TOPIC, SET_ON_TOPIC),
        ("apache", "future.setting", "1", SET_ON_TOPIC, SET_ON_TOPIC),
        ("redpanda", "redpanda.remote.read", "true", SET_ON_TOPIC, SET_BY_SERVICE),
        ("redpanda", "write.caching", "true", SET_ON_TOPIC, SET_BY_SERVICE),
        ("redpanda", "retention.ms", "604800000", SET_ON_TOPIC, SET_ON_TOPIC),
        ("redpanda", "retention.ms", "604800000", "DEFAULT_CONFIG", "DEFAULT_CONFIG"),
        ("confluent-cloud", "retention.ms", "604800000", SET_ON_TOPIC, SET_BY_SERVICE),
        ("confluent-cloud", "retention.ms", "604800001", SET_ON_TOPIC, SET_ON_TOPIC),
        ("confluent-cloud", "segment.bytes", "104857600", SET_ON_TOPIC, SET_BY_SERVICE),
        ("confluent-cloud", "segment.bytes", "1073741824", SET_ON_TOPIC, SET_ON_TOPIC),
        ("confluent-cloud", "cleanup.policy", " delete", SET_ON_TOPIC, SET_BY_SERVICE),
        ("confluent-cloud", "cleanup.policy", "compact", SET_ON_TOPIC, SET_ON_TOPIC),
        ("confluent-cloud", "confluent.value.schema.validation", "false", SET_ON_TOPIC, SET_BY_SERVICE),
        ("confluent-cloud", "retention.ms", None, SET_ON_TOPIC, SET_ON_TOPIC),
        ("warpstream", "warpstream.compression.type", "lz4", SET_ON_TOPIC, SET_BY_SERVICE),
        ("aiven", "diskless.enable", "true", SET_ON_TOPIC, SET_BY_SERVICE),
    ],
)
def test_unset_settings_are_not_written_to_the_topic(
    service: str, setting: str, value: str | None, source: str, seen: str
) -> None:
    assert setting_source(PROFILES[service], setting, value, source) == seen


def test_a_connection_has_the_named_service_or_that_of_its_host_names(tmp_path: Path) -> None:
    serverless = "kafka:bootstrapServers: ['boot-a1.c2.kafka-serverless.us-east-1.amazonaws.com:9098']"
    cases = {
        serverless: "msk-serverless",
        f"{serverless}, topicwarden:profile: apache": "apache",
        "kafka:bootstrapServers: ['kafka.example.com:9092'], topicwarden:profile: msk-express": "msk-express",
        "kafka:bootstrapServers: ['kafka.example.com:9092']": None,
    }
    for number, (settings, name) in enumerate(cases.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        profile = connect_to(
            Project(project(folder, {"stacks/Pulumi.prod.yaml": f"config: {{{settings}}}"})), "prod"
        ).profile
        assert (profile.name if profile else None) == name, settings


def test_an_unknown_service_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    settings = "config: {kafka:bootstrapServers: ['a:1'], topicwarden:profile: warpstraem}"
    with pytest.raises(Refusal, match=r"profile: expected one of apache, .*; did you mean warpstream\?"):
        connect_to(Project(project(tmp_path, {"stacks/Pulumi.prod.yaml": settings})), "prod")
