"""Test the settings of topics that some brokers do not know. The answers are written by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from kafka.errors import BrokerResponseError, TopicAuthorizationFailedError, UnknownTopicOrPartitionError

from topicwarden.kafka.read import snapshot_reads
from topicwarden.kafka.read.snapshot_reads import _settings
from topicwarden.kafka_facts.services.apache import PROFILE

FOUND = {"retention.ms": ("1", "DYNAMIC_TOPIC_CONFIG")}
UNKNOWN, DENIED = UnknownTopicOrPartitionError, TopicAuthorizationFailedError


@pytest.mark.parametrize(
    ("answers", "described", "settings", "deleted"),
    [
        ([None], True, {"t": FOUND}, frozenset()),
        ([DENIED], True, {}, frozenset()),
        ([UNKNOWN, UNKNOWN, None], True, {"t": FOUND}, frozenset()),
        ([UNKNOWN], False, {}, frozenset({"t"})),
        ([UNKNOWN], True, {}, frozenset()),
    ],
    ids=["known", "denied", "a broker is behind", "deleted", "a broker is behind for long"],
)
def test_a_topic_without_settings_is_deleted_only_if_the_brokers_do_not_describe_it_either(
    monkeypatch: pytest.MonkeyPatch,
    answers: list[type[BrokerResponseError] | None],
    described: bool,
    settings: dict[str, Any],
    deleted: frozenset[str],
) -> None:
    remaining = list(answers)

    def describe_configs(_: object, type: object, names: Mapping[str, None]) -> dict[str, Any]:
        error = remaining.pop(0) if len(remaining) > 1 else remaining[0]
        return {name: error() if error else FOUND for name in names}

    def describe_topics(_: object, names: Iterable[str]) -> list[dict[str, Any]]:
        return [{"name": name, "error_code": 0 if described else UNKNOWN.errno} for name in names]

    monkeypatch.setattr(snapshot_reads, "describe_configs", describe_configs)
    monkeypatch.setattr(snapshot_reads, "describe_topics", describe_topics)
    monkeypatch.setattr(snapshot_reads, "_BEHIND_S", 0.05)
    monkeypatch.setattr(snapshot_reads, "_PAUSE_S", 0)
    admin: Any = None
    assert _settings(admin, ["t"], PROFILE) == (settings, deleted)
