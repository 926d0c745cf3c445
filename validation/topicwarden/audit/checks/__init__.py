"""Every check, by its id. A new one is a new file and a new line here."""

from topicwarden.audit.checks import (
    broker_defaults,
    compaction_gap,
    compaction_lag,
    compaction_ratio,
    config_drift,
    empty_value,
    expression,
    group_lag,
    header,
    hot_key,
    hung_transaction,
    internal_policy,
    internal_replication,
    internal_size,
    key_in_several_partitions,
    key_partition,
    key_schema,
    log_truncated,
    min_insync_replicas,
    null_key,
    partition_count,
    partition_skew,
    record_size,
    replication_factor,
    resurrection,
    retention_blocked,
    retention_size,
    retention_time,
    timestamp_future,
    timestamp_late,
    timestamp_type,
    timestamp_unit,
    tombstone_retention,
    topic_missing,
    topic_recreated,
    topic_undeclared,
    under_replicated,
    value_schema,
)
from topicwarden.audit.subject import Check

CHECKS: dict[str, Check] = {
    "topic-missing": topic_missing,
    "topic-undeclared": topic_undeclared,
    "topic-recreated": topic_recreated,
    "log-truncated": log_truncated,
    "config-drift": config_drift,
    "broker-defaults": broker_defaults,
    "partition-count": partition_count,
    "replication-factor": replication_factor,
    "under-replicated": under_replicated,
    "min-insync-replicas": min_insync_replicas,
    "internal-policy": internal_policy,
    "internal-replication": internal_replication,
    "internal-size": internal_size,
    "group-lag": group_lag,
    "null-key": null_key,
    "empty-value": empty_value,
    "compaction-ratio": compaction_ratio,
    "compaction-lag": compaction_lag,
    "compaction-gap": compaction_gap,
    "tombstone-retention": tombstone_retention,
    "resurrection": resurrection,
    "hung-transaction": hung_transaction,
    "retention-time": retention_time,
    "retention-blocked": retention_blocked,
    "retention-size": retention_size,
    "key-partition": key_partition,
    "key-in-several-partitions": key_in_several_partitions,
    "partition-skew": partition_skew,
    "hot-key": hot_key,
    "key-schema": key_schema,
    "value-schema": value_schema,
    "header": header,
    "expression": expression,
    "record-size": record_size,
    "timestamp-future": timestamp_future,
    "timestamp-late": timestamp_late,
    "timestamp-type": timestamp_type,
    "timestamp-unit": timestamp_unit,
}
READS_RECORDS = frozenset(
    {
        *("null-key", "empty-value", "retention-time", "retention-blocked"),
        *("compaction-ratio", "compaction-lag", "compaction-gap", "tombstone-retention", "resurrection"),
        *("key-partition", "key-in-several-partitions", "partition-skew", "hot-key"),
        *("key-schema", "value-schema", "header", "expression"),
        *("record-size", "timestamp-future", "timestamp-late", "timestamp-type", "timestamp-unit"),
    }
)
"""Checks that an unreadable partition leaves undecided."""
READS_CONTENTS = frozenset(
    {
        *("null-key", "empty-value", "partition-skew", "hot-key", "key-schema", "value-schema", "header", "expression"),
        *("record-size", "timestamp-future", "timestamp-late", "timestamp-type", "timestamp-unit"),
    }
)
"""Checks that judge the records which a consumer reading committed sees (``AuditedTopic.committed``)."""
OF_ALL_PARTITIONS = frozenset({"partition-skew", "hot-key"})
"""Checks of contents that compare partitions, so that a judgement rests on every one of them."""
NEEDS_SETTINGS = frozenset(
    {
        *("retention-time", "retention-blocked", "retention-size", "min-insync-replicas"),
        *("compaction-ratio", "compaction-lag", "null-key", "empty-value"),
        "key-in-several-partitions",
    }
)
"""Checks that the topic's configuration decides, and whether they apply at all."""
OF_INTERNAL_TOPICS = frozenset({"internal-policy", "internal-replication"})
"""Checks of what Kafka, Kafka Connect and Kafka Streams made for themselves."""
NEEDS_PAST = frozenset({"compaction-gap", "tombstone-retention", "resurrection"})
"""Checks of compacted topics that compare with the last look."""
NEEDS_EVERY_RECORD = frozenset({"compaction-ratio", "partition-skew", "hot-key"})
"""Checks of shares, which a part of the records does not tell."""
