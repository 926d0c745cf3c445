"""Test the profiles of services: their sources, their names, and how a service is recognized."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from topicwarden.kafka_facts.configs import definition
from topicwarden.kafka_facts.services import APACHE, PROFILES, by_cluster, by_hosts
from topicwarden.kafka_facts.services.profile import Recognition, ServiceProfile

each_profile = pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
APACHE_REQUESTS = range(70)


def _facts(value: Any) -> list[Any]:
    """Return every object with a source in ``value``."""
    parts = list(value) if isinstance(value, tuple) else []
    if is_dataclass(value):
        parts = [getattr(value, each.name) for each in fields(value)]
    return [value for _ in "." if hasattr(value, "source")] + [fact for part in parts for fact in _facts(part)]


@each_profile
def test_every_fact_has_the_url_of_a_page(profile: ServiceProfile) -> None:
    facts = _facts(profile)
    assert facts
    assert [fact for fact in facts if not fact.source.startswith("https://")] == []
    if profile.recognition != Recognition():
        assert profile.recognition.sources
    assert [url for url in profile.recognition.sources if not url.startswith("https://")] == []


@each_profile
def test_every_setting_is_one_of_kafka(profile: ServiceProfile) -> None:
    names = {bounds.setting for bounds in profile.bounds}
    for listed in (*profile.unsupported, *([profile.only] if profile.only else [])):
        names |= listed.names
    values = profile.defaults.values if profile.defaults else {}
    assert [name for name in {*names, *values} if definition(name) is None] == []
    for name, value in values.items():
        known = definition(name)
        assert known
        assert known.problem(value) is None


@pytest.mark.parametrize(
    ("addresses", "name"),
    [
        (["boot-a1.c2.kafka-serverless.us-east-1.amazonaws.com:9098"], "msk-serverless"),
        (["b-1.orders.a1b2c3.c2.kafka.eu-west-1.amazonaws.com:9098"], "msk"),
        (["b-2-public.orders.a1b2c3.c12.kafka.cn-north-1.amazonaws.com.cn:9198"], "msk"),
        (["pkc-00000.us-central1.gcp.confluent.cloud:9092"], "confluent-cloud"),
        (["LKC-1.DOM.confluent.cloud:9092"], "confluent-cloud"),
        (["kafka-1.orders.aivencloud.com:12345"], "aiven"),
        (["pkc-00000.us-gov-west-1.aws.confluentgov.com:9092"], "confluent-cloud"),
        (["orders.servicebus.windows.net:9093"], "event-hubs"),
        (["orders.servicebus.usgovcloudapi.net:9093"], "event-hubs"),
        (["orders.servicebus.chinacloudapi.cn:9093"], "event-hubs"),
        (["api-1.kafka.discoveryv2.prod-z.us-east-1.warpstream.com:9092"], "warpstream"),
        (["kafka-1.example.com:9092"], None),
        (["confluent.cloud.example.com:9092"], None),
        (["notconfluent.cloud:9092"], None),
        (["orders.servicebus.windows.net.example.com:9093"], None),
        (["a.confluent.cloud:9092", "kafka-1.example.com:9092"], None),
        ([], None),
    ],
)
def test_host_names_tell_the_service(addresses: list[str], name: str | None) -> None:
    found = by_hosts(addresses)
    assert (found.name if found else None) == name


@pytest.mark.parametrize(
    ("cluster_id", "requests", "name"),
    [
        ("redpanda.7f7f", APACHE_REQUESTS, "redpanda"),
        ("lkc-abc123", APACHE_REQUESTS, "confluent-cloud"),
        ("MkU3OEVBNTcwNTJENDM2Qk", APACHE_REQUESTS, "apache"),
        ("MkU3OEVBNTcwNTJENDM2Qk", {*APACHE_REQUESTS} - {35, 44, 45}, "warpstream"),
        ("MkU3OEVBNTcwNTJENDM2Qk", {*APACHE_REQUESTS} - {35, 44, 45, 60}, "apache"),
        ("MkU3OEVBNTcwNTJENDM2Qk", {*APACHE_REQUESTS} - {44, 45}, "apache"),
        (None, (), "apache"),
    ],
)
def test_the_service_is_detected_from_the_cluster(cluster_id: str | None, requests: set[int], name: str) -> None:
    assert by_cluster(cluster_id, requests).name == name


def test_msk_counts_as_apache_kafka_only_if_it_is_named() -> None:
    recognized = by_hosts(["b-1.orders.a1b2c3.c2.kafka.eu-west-1.amazonaws.com:9098"])
    assert recognized
    assert not recognized.log.apache
    assert "topicwarden:profile: msk or msk-express" in recognized.log.fact.text
    assert PROFILES["msk"].log.apache


def test_apache_kafka_refuses_and_lacks_nothing() -> None:
    assert ServiceProfile(APACHE.name, APACHE.title, APACHE.log) == APACHE
