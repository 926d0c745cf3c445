"""All rules by id. To add a rule, add a module and a line in ``RULES`` or ``STACK_RULES``."""

from topicwarden.policies.rule import Rule, StackRule
from topicwarden.policies.rules import (
    cleanup_policy,
    compaction_lag,
    compaction_stalls,
    compression,
    compression_level,
    config,
    connect_topics,
    description,
    domain,
    empty_cleanup_policy,
    idle_compaction_settings,
    idle_retention_settings,
    kafka_version,
    local_retention,
    message_bytes,
    min_insync_replicas,
    owner,
    partition_budget,
    partitions,
    protected_names,
    record_size,
    replicas_above_brokers,
    replication_factor,
    retention,
    retention_bytes,
    schemas_topic,
    segment_outlives_retention,
    standing_allowance,
    streams_topics,
    tiered_storage,
    timestamp_refused,
    timestamp_type,
    topic_name,
    unclean_leader_election,
    unlikely_values,
)

RULES: dict[str, Rule] = {
    # Always on: Kafka refuses the topic, or accepts a value that is likely a mistake.
    "kafka-version": kafka_version,
    "min-insync-replicas": min_insync_replicas,
    "replicas-above-brokers": replicas_above_brokers,
    "unclean-leader-election": unclean_leader_election,
    "unlikely-values": unlikely_values,
    "compaction-lag": compaction_lag,
    "tiered-storage": tiered_storage,
    "local-retention": local_retention,
    "timestamp-refused": timestamp_refused,
    "timestamp-type": timestamp_type,
    "message-bytes": message_bytes,
    "empty-cleanup-policy": empty_cleanup_policy,
    "idle-compaction-settings": idle_compaction_settings,
    "idle-retention-settings": idle_retention_settings,
    "segment-outlives-retention": segment_outlives_retention,
    "compaction-stalls": compaction_stalls,
    "compression-level": compression_level,
    "connect-topics": connect_topics,
    "streams-topics": streams_topics,
    "schemas-topic": schemas_topic,
    "protected-names": protected_names,
    "standing-allowance": standing_allowance,
    # Conventions of an organization: on if a policy file names the rule.
    "topic-name": topic_name,
    "owner": owner,
    "description": description,
    "domain": domain,
    "partitions": partitions,
    "replication-factor": replication_factor,
    "retention": retention,
    "retention-bytes": retention_bytes,
    "cleanup-policy": cleanup_policy,
    "compression": compression,
    "record-size": record_size,
    "config": config,
}

BY_SHAPE = frozenset(
    {
        *("kafka-version", "min-insync-replicas", "compaction-lag", "tiered-storage", "local-retention"),
        *("timestamp-refused", "timestamp-type", "message-bytes", "empty-cleanup-policy", "idle-compaction-settings"),
        *("replicas-above-brokers", "unclean-leader-election", "unlikely-values"),
        *("idle-retention-settings", "segment-outlives-retention", "compaction-stalls", "compression-level"),
        *("partitions", "replication-factor", "retention", "retention-bytes", "cleanup-policy", "compression"),
    }
)
"""The rules that only read partitions, replicas, config and contents; topics that agree in these share a result."""

STACK_RULES: dict[str, StackRule] = {
    "partition-budget": partition_budget,
}
