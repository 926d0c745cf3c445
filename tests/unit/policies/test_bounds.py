"""Test that a value at the bound of a rule is allowed, and the next value is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.contents import Contents, RecordContents, TimestampContents
from topicwarden.model.topic import Topic
from topicwarden.policies.rules import RULES

SETTINGS = {
    "retention": "retention.ms",
    "retention-bytes": "retention.bytes",
    "record-size": "max.message.bytes",
    "config": "compression.type",
    "cleanup-policy": "cleanup.policy",
}
TOPIC = Topic("t", 3, 3, domain="d", description="Described.")


BROKERS = BrokerSettings()


def messages(rule: str, settings: dict[str, object], topic: Topic, brokers: BrokerSettings = BROKERS) -> list[str]:
    """Return the path and the message of each problem."""
    judged = RULES[rule].judge(topic, RULES[rule].Settings.model_validate(settings), brokers)
    return [f"{'/'.join(each.path)}: {each.message}" for each in judged]


@pytest.mark.parametrize(
    ("rule", "settings", "allowed", "not_allowed", "expected"),
    [
        ("retention", {"min": "1d"}, "86400000", "86399999", "at least 1d, got 86399999ms"),
        ("retention", {"min": "1d"}, "-1", "0", "at least 1d, got 0"),
        ("retention", {"max": "1d"}, "86400000", "86400001", "at most 1d, got 86400001ms"),
        ("retention", {"max": "1d"}, "0", "-1", "at most 1d, got forever (-1)"),
        ("retention-bytes", {"min": "1kB"}, "1000", "999", "at least 1kB, got 999"),
        ("retention-bytes", {"min": "1kB"}, "-1", "0", "at least 1kB, got 0"),
        ("retention-bytes", {"max": "1kB"}, "1000", "1001", "at most 1kB, got 1001"),
        ("retention-bytes", {"max": "1kB"}, "0", "-1", "at most 1kB, got unlimited (-1)"),
        (
            *("retention-bytes", {"max_topic": "3kB"}, "1000", "1001"),
            "at most 3kB for all partitions together, got 3 times 1001",
        ),
        (
            *("retention-bytes", {"max_topic": "3kB"}, "0", "-1"),
            "at most 3kB for all partitions together, got 3 times unlimited (-1)",
        ),
        ("record-size", {"max": "1kB"}, "1000", "1001", "at most 1kB, got 1001"),
        ("config", {"values": {"compression.type": "zstd"}}, "zstd", "gzip", "zstd, got gzip"),
        ("cleanup-policy", {"allowed": ["delete"]}, "delete", "compact", "only delete, got compact"),
        (
            *("cleanup-policy", {"required": ["compact"]}, "compact", "delete"),
            "compact, got delete",
        ),
        ("cleanup-policy", {"required": ["compact"]}, "compact,delete", "", "compact, got none"),
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


COMPACT, TIERED = {"cleanup.policy": "compact"}, {"remote.storage.enable": "true"}
BOTH = {"cleanup.policy": "compact,delete"}


@pytest.mark.parametrize(
    ("rule", "allowed", "not_allowed", "path"),
    [
        (
            "compaction-lag",
            {"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "5"},
            {"min.compaction.lag.ms": "6", "max.compaction.lag.ms": "5"},
            "min.compaction.lag.ms",
        ),
        ("idle-retention-settings", COMPACT | {"retention.ms": "-1"}, COMPACT | {"retention.ms": "0"}, "retention.ms"),
        (
            "local-retention",
            TIERED | {"retention.ms": "0", "local.retention.ms": "0"},
            TIERED | {"retention.ms": "0", "local.retention.ms": "1"},
            "local.retention.ms",
        ),
        (
            "local-retention",
            TIERED | {"retention.ms": "2", "local.retention.ms": "1", "remote.copy.lag.ms": "1"},
            TIERED | {"retention.ms": "2", "local.retention.ms": "1", "remote.copy.lag.ms": "2"},
            "remote.copy.lag.ms",
        ),
        (
            "local-retention",
            TIERED | {"retention.bytes": "2", "local.retention.bytes": "-2", "remote.copy.lag.bytes": "2"},
            TIERED | {"retention.bytes": "2", "local.retention.bytes": "-2", "remote.copy.lag.bytes": "3"},
            "remote.copy.lag.bytes",
        ),
        (
            "local-retention",
            TIERED | {"retention.ms": "-1", "remote.copy.lag.ms": "3"},
            TIERED | {"retention.ms": "0", "remote.copy.lag.ms": "3"},
            "remote.copy.lag.ms",
        ),
        ("message-bytes", {"max.message.bytes": "104857600"}, {"max.message.bytes": "104857601"}, "max.message.bytes"),
        (
            "message-bytes",
            {"max.message.bytes": "2097152", "segment.bytes": "2097152"},
            {"max.message.bytes": "2097153", "segment.bytes": "2097152"},
            "max.message.bytes",
        ),
        (
            "segment-outlives-retention",
            {"retention.ms": "1000", "segment.ms": "1000"},
            {"retention.ms": "1000", "segment.ms": "1001"},
            "segment.ms",
        ),
        (
            "segment-outlives-retention",
            {"retention.ms": "-1", "segment.ms": "1001"},
            {"retention.ms": "0", "segment.ms": "1000"},
            "segment.ms",
        ),
        (
            "segment-outlives-retention",
            {"segment.ms": "604800000"},
            {"segment.ms": "604800001"},
            "segment.ms",
        ),
        (
            "segment-outlives-retention",
            BOTH | {"retention.ms": "1000", "segment.ms": "1001", "max.compaction.lag.ms": "1000"},
            BOTH | {"retention.ms": "1000", "segment.ms": "1002", "max.compaction.lag.ms": "1001"},
            "max.compaction.lag.ms",
        ),
        (
            "segment-outlives-retention",
            BOTH | {"retention.ms": "1000", "segment.ms": "1000"},
            BOTH | {"retention.ms": "1000", "segment.ms": "1001", "max.compaction.lag.ms": "1002"},
            "segment.ms",
        ),
        (
            "tiered-storage",
            TIERED | {"remote.log.copy.disable": "true", "local.retention.ms": "604800000"},
            TIERED | {"remote.log.copy.disable": "true", "local.retention.ms": "604799999"},
            "local.retention.ms",
        ),
        (
            "unlikely-values",
            COMPACT | {"retention.ms": "7", "retention.bytes": "7"},
            COMPACT | {"segment.ms": "7"},
            "segment.ms",
        ),
        (
            "unlikely-values",
            {"local.retention.ms": "7", "local.retention.bytes": "7"},
            TIERED | {"local.retention.ms": "7"},
            "local.retention.ms",
        ),
        ("min-insync-replicas", {"min.insync.replicas": "2"}, {"min.insync.replicas": "3"}, "min.insync.replicas"),
    ],
)
def test_a_setting_may_be_as_large_as_the_setting_that_limits_it(
    rule: str, allowed: dict[str, str], not_allowed: dict[str, str], path: str
) -> None:
    assert messages(rule, {}, replace(TOPIC, config=allowed)) == []
    (found,) = messages(rule, {}, replace(TOPIC, config=not_allowed))
    assert found.startswith(f"config/{path}: ")


def test_two_replicas_that_must_both_be_in_sync_stop_writes() -> None:
    both = replace(TOPIC, replication_factor=2, config={"min.insync.replicas": "2"})
    assert "one lost broker stops writes with acks=all; lower it to 1" in messages("min-insync-replicas", {}, both)[0]
    single = replace(TOPIC, replication_factor=1, config={"min.insync.replicas": "1"})
    assert messages("min-insync-replicas", {}, single) == []


def test_a_value_that_kafka_treats_as_an_allowed_one_is_allowed() -> None:
    allowed: dict[str, object] = {
        "values": {"cleanup.policy": [["compact", "delete"]], "min.cleanable.dirty.ratio": [0.5]}
    }
    equal = replace(TOPIC, config={"cleanup.policy": "delete,compact", "min.cleanable.dirty.ratio": "0.50"})
    assert messages("config", allowed, equal) == []
    other = replace(TOPIC, config={"cleanup.policy": "delete", "min.cleanable.dirty.ratio": "0.51"})
    assert len(messages("config", allowed, other)) == 2


def test_a_record_may_be_as_large_as_a_batch_and_a_batch_as_large_as_the_brokers_allow() -> None:
    records = Contents(records=RecordContents(max_bytes=2_000))
    assert messages("message-bytes", {}, replace(TOPIC, config={"max.message.bytes": "2068"}, contents=records)) == []
    (smaller,) = messages("message-bytes", {}, replace(TOPIC, config={"max.message.bytes": "2067"}, contents=records))
    assert smaller.startswith("contents/records/max_bytes: ")
    batches = replace(TOPIC, config={"max.message.bytes": "2000"})
    assert messages("message-bytes", {}, batches, BrokerSettings(message_max_bytes=2_000)) == []
    assert len(messages("message-bytes", {}, batches, BrokerSettings(message_max_bytes=1_999))) == 1


@pytest.mark.parametrize(("record", "problems"), [(1 << 20, 0), ((1 << 20) - 1, 1)])
def test_a_segment_of_a_compacted_topic_may_take_seven_days_to_fill(record: int, problems: int) -> None:
    """At one record of 1 MiB a day, a segment of 7 MiB is full after Kafka's default of `segment.ms`."""
    traffic = Contents(records=RecordContents(per_day=1, max_bytes=record))
    topic = replace(TOPIC, partitions=1, config=COMPACT | {"segment.bytes": str(7 << 20)}, contents=traffic)
    assert len(messages("compaction-stalls", {}, topic)) == problems


@pytest.mark.parametrize(
    ("setting", "value", "problems"),
    [
        ("segment.ms", "86400000", 0),
        ("max.compaction.lag.ms", "9223372036854775806", 0),
        ("max.compaction.lag.ms", "9223372036854775807", 1),
    ],
)
def test_a_maximum_lag_of_compaction_rolls_segments_unless_it_is_unlimited(
    setting: str, value: str, problems: int
) -> None:
    traffic = Contents(records=RecordContents(per_day=1))
    topic = replace(TOPIC, config=COMPACT | {setting: value}, contents=traffic)
    assert len(messages("compaction-stalls", {}, topic)) == problems


@pytest.mark.parametrize(("after", "problems"), [("1000", 0), ("999", 1)])
def test_records_may_be_as_far_ahead_as_the_broker_accepts(after: str, problems: int) -> None:
    ahead = Contents(timestamps=TimestampContents(max_ahead=1_000))
    topic = replace(TOPIC, config={"message.timestamp.after.max.ms": after}, contents=ahead)
    assert len(messages("timestamp-refused", {}, topic)) == problems


@pytest.mark.parametrize(
    ("kafka", "config", "limiting"),
    [
        ("3.9", {"after": "172800000", "difference": "3600000"}, None),
        ("3.9", {"after": "3600000", "difference": "172800000"}, "after"),
        ("3.9", {"difference": "3600000"}, "difference"),
        ("3.9", {"after": "9223372036854775807", "difference": "3600000"}, "difference"),
        ("3.9", {}, None),
        ("4.1", {"after": "9223372036854775807"}, None),
        ("4.1", {}, "after"),
    ],
)
def test_the_deprecated_limit_of_timestamps_applies_without_the_new_one(
    kafka: str, config: dict[str, str], limiting: str | None
) -> None:
    # LogConfig.getMessageTimestampAfterMaxMs
    ahead = Contents(timestamps=TimestampContents(max_ahead=86_400_000))
    settings = {f"message.timestamp.{name}.max.ms": value for name, value in config.items()}
    topic = replace(TOPIC, config=settings, contents=ahead)
    found = messages("timestamp-refused", {}, topic, BrokerSettings(kafka=kafka))
    assert [each.rpartition("raise ")[2] for each in found] == (
        [f"message.timestamp.{limiting}.max.ms"] if limiting else []
    )


def test_the_schema_registry_compacts_its_topic() -> None:
    schemas = replace(TOPIC, name="_schemas", partitions=1)
    assert messages("schemas-topic", {}, schemas)[0].startswith("config/cleanup.policy: ")
    assert messages("schemas-topic", {}, replace(schemas, config=COMPACT)) == []


def test_an_empty_policy_is_called_empty() -> None:
    topic = replace(TOPIC, config={"cleanup.policy": "", "min.compaction.lag.ms": "1"})
    assert "because cleanup.policy is empty; " in messages("idle-compaction-settings", {}, topic)[0]
