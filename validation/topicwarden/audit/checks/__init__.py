"""Every check, by its id. A new one is a new file and a new line here."""

from topicwarden.audit.checks import (
    compaction,
    config_drift,
    empty_value,
    min_insync_replicas,
    null_key,
    partition_count,
    partition_skew,
    record_size,
    replication_factor,
    retention_blocked,
    retention_time,
    timestamp_future,
    topic_missing,
    topic_undeclared,
    under_replicated,
)
from topicwarden.audit.subject import Check

CHECKS: dict[str, Check] = {
    "topic-missing": topic_missing,
    "topic-undeclared": topic_undeclared,
    "config-drift": config_drift,
    "partition-count": partition_count,
    "replication-factor": replication_factor,
    "under-replicated": under_replicated,
    "min-insync-replicas": min_insync_replicas,
    "null-key": null_key,
    "empty-value": empty_value,
    "compaction": compaction,
    "retention-time": retention_time,
    "retention-blocked": retention_blocked,
    "partition-skew": partition_skew,
    "record-size": record_size,
    "timestamp-future": timestamp_future,
}
READS_RECORDS = frozenset(
    {
        *("null-key", "empty-value", "compaction", "retention-time", "retention-blocked"),
        *("partition-skew", "record-size", "timestamp-future"),
    }
)
"""Checks that an unreadable partition leaves undecided."""
