"""Test that a value at the bound of a rule is allowed, and the next value is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from topicwarden.model.contents import Contents, RecordContents
from topicwarden.model.topic import Topic
from topicwarden.policies.rules import RULES
from topicwarden.specs.broker_settings import BrokerSettings

SETTINGS = {
    "retention": "retention.ms",
    "retention-bytes": "retention.bytes",
    "record-size": "max.message.bytes",
    "config": "compression.type",
    "cleanup-policy": "cleanup.policy",
}
TOPIC = Topic("t", 3, 3, domain="d", description="Described.")


def messages(rule: str, settings: dict[str, object], topic: Topic) -> list[str]:
    """Return the path and the message of each problem."""
    judged = RULES[rule].judge(topic, RULES[rule].Settings.model_validate(settings), BrokerSettings())
    return [f"{'/'.join(each.path)}: {each.message}" for each in judged]


@pytest.mark.parametrize(
    ("rule", "settings", "allowed", "not_allowed", "expected"),
    [
        ("retention", {"min": "1d"}, "86400000", "86399999", "at least 1d, seen 86399999ms"),
        ("retention", {"min": "1d"}, "-1", "0", "at least 1d, seen 0"),
        ("retention", {"max": "1d"}, "86400000", "86400001", "at most 1d, seen 86400001ms"),
        ("retention", {"max": "1d"}, "0", "-1", "at most 1d, seen forever (-1)"),
        ("retention-bytes", {"min": "1kB"}, "1000", "999", "at least 1kB, seen 999"),
        ("retention-bytes", {"min": "1kB"}, "-1", "0", "at least 1kB, seen 0"),
        ("retention-bytes", {"max": "1kB"}, "1000", "1001", "at most 1kB, seen 1001"),
        ("retention-bytes", {"max": "1kB"}, "0", "-1", "at most 1kB, seen unlimited (-1)"),
        (
            *("retention-bytes", {"max_topic": "3kB"}, "1000", "1001"),
            "at most 3kB for all partitions together, seen 3 times 1001",
        ),
        (
            *("retention-bytes", {"max_topic": "3kB"}, "0", "-1"),
            "at most 3kB for all partitions together, seen 3 times unlimited (-1)",
        ),
        ("record-size", {"max": "1kB"}, "1000", "1001", "at most 1kB, seen 1001"),
        ("config", {"values": {"compression.type": "zstd"}}, "zstd", "gzip", "zstd, seen gzip"),
        ("cleanup-policy", {"allowed": ["delete"]}, "delete", "compact", "only delete, seen compact"),
        (
            *("cleanup-policy", {"required": ["compact"]}, "compact", "delete"),
            "compact, seen delete",
        ),
        ("cleanup-policy", {"required": ["compact"]}, "compact,delete", "", "compact, seen none"),
    ],
)
def test_a_setting_may_have_the_value_of_its_bound(
    rule: str, settings: dict[str, object], allowed: str, not_allowed: str, expected: str
) -> None:
    setting = SETTINGS[rule]
    assert messages(rule, settings, replace(TOPIC, config={setting: allowed})) == []
    found = messages(rule, settings, replace(TOPIC, config={setting: not_allowed}))
    assert found == [f"config/{setting}: {setting}: expected {expected}"]


@pytest.mark.parametrize(
    ("rule", "settings", "allowed", "not_allowed", "path"),
    [
        ("replication-factor", {"min": 2}, {"replication_factor": 2}, {"replication_factor": 1}, "replication_factor"),
        ("replication-factor", {"max": 2}, {"replication_factor": 2}, {"replication_factor": 3}, "replication_factor"),
        ("partitions", {"min": 2}, {"partitions": 2}, {"partitions": 1}, "partitions"),
        ("partitions", {"max": 2}, {"partitions": 2}, {"partitions": 3}, "partitions"),
        ("description", {"min_length": 3}, {"description": " abc "}, {"description": " ab "}, "description"),
        ("description", {}, {"description": "a"}, {"description": None}, "description"),
        ("topic-name", {"max_length": 3}, {"name": "abc"}, {"name": "abcd"}, "topic"),
        ("topic-name", {"matches": "a+"}, {"name": "aa"}, {"name": "ab"}, "topic"),
        ("domain", {"in_name": True}, {"name": "d.a"}, {"name": "da"}, "topic"),
        ("domain", {"in_name": False}, {"name": "da"}, {"domain": ""}, ""),
        (
            *("record-size", {"declared": True}),
            *({"contents": Contents(records=RecordContents(max_bytes=1))}, {}, "contents/records/max_bytes"),
        ),
    ],
)
def test_a_topic_may_be_at_the_bound(
    rule: str, settings: dict[str, object], allowed: dict[str, object], not_allowed: dict[str, object], path: str
) -> None:
    assert messages(rule, settings, replace(TOPIC, **allowed)) == []  # type: ignore[arg-type]
    (found,) = messages(rule, settings, replace(TOPIC, **not_allowed))  # type: ignore[arg-type]
    assert found.startswith(f"{path}: ")
