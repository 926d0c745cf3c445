"""The table of all checks, by id.

To add a check, add a module with the evidence that it requires, and a line in ``CHECKS``.
"""

from __future__ import annotations

import inspect
from typing import Any

from topicwarden.audit.check import Check, check
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

CHECKS: dict[str, Check[Any]] = {
    "topic-missing": check(topic_missing),
    "topic-undeclared": check(topic_undeclared),
    "topic-recreated": check(topic_recreated),
    "log-truncated": check(log_truncated),
    "config-drift": check(config_drift),
    "broker-defaults": check(broker_defaults),
    "partition-count": check(partition_count),
    "replication-factor": check(replication_factor),
    "under-replicated": check(under_replicated),
    "min-insync-replicas": check(min_insync_replicas),
    "internal-policy": check(internal_policy),
    "internal-replication": check(internal_replication),
    "internal-size": check(internal_size),
    "group-lag": check(group_lag),
    "null-key": check(null_key),
    "empty-value": check(empty_value),
    "compaction-ratio": check(compaction_ratio),
    "compaction-lag": check(compaction_lag),
    "compaction-gap": check(compaction_gap),
    "tombstone-retention": check(tombstone_retention),
    "resurrection": check(resurrection),
    "hung-transaction": check(hung_transaction),
    "retention-time": check(retention_time),
    "retention-blocked": check(retention_blocked),
    "retention-size": check(retention_size),
    "key-partition": check(key_partition),
    "key-in-several-partitions": check(key_in_several_partitions),
    "partition-skew": check(partition_skew),
    "hot-key": check(hot_key),
    "key-schema": check(key_schema),
    "value-schema": check(value_schema),
    "header": check(header),
    "expression": check(expression),
    "record-size": check(record_size),
    "timestamp-future": check(timestamp_future),
    "timestamp-late": check(timestamp_late),
    "timestamp-type": check(timestamp_type),
    "timestamp-unit": check(timestamp_unit),
}


def check_docs() -> dict[str, str]:
    """Return the documentation of each check as Markdown, by check id."""
    return {name: inspect.getdoc(check) or "" for name, check in CHECKS.items()}
