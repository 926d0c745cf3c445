"""WarpStream."""

from topicwarden.kafka_facts.services.profile import (
    Fact,
    FixedPolicy,
    LogCode,
    MissingApi,
    Outcome,
    Recognition,
    ReplicationFactors,
    ServiceProfile,
)

_REFERENCE = "https://docs.warpstream.com/warpstream/kafka/reference/protocol-and-feature-support"
_PROTOCOL = "https://docs.warpstream.com/warpstream/reference/protocol-and-feature-support"
_SETTINGS = f"{_REFERENCE}/topic-configuration-reference"
_ALTER_CONFIGS, _DESCRIBE_CLUSTER = 33, 60
_DESCRIBE_LOG_DIRS, _INCREMENTAL_ALTER_CONFIGS, _ALTER_PARTITION_REASSIGNMENTS = 35, 44, 45

PROFILE = ServiceProfile(
    name="warpstream",
    title="WarpStream",
    log=LogCode(
        False,
        Fact("Agents are stateless: an object store keeps the records, and partitions have no leader.", _PROTOCOL),
    ),
    recognition=Recognition(
        hosts=(r".+\.warpstream\.com",),
        # Apache Kafka answers the last three since versions that are older than DescribeCluster (2.8).
        answers=frozenset({_ALTER_CONFIGS, _DESCRIBE_CLUSTER}),
        lacks=frozenset({_DESCRIBE_LOG_DIRS, _INCREMENTAL_ALTER_CONFIGS, _ALTER_PARTITION_REASSIGNMENTS}),
        sources=(_PROTOCOL, "https://github.com/warpstreamlabs/terraform-provider-warpstream"),
    ),
    fixed_policy=FixedPolicy(
        frozenset(
            {
                ("delete", "compact"),
                ("delete", "compact,delete"),
                ("compact", "delete"),
                ("compact,delete", "delete"),
            }
        ),
        _SETTINGS,
    ),
    replication=ReplicationFactors(
        frozenset({3}), Outcome.IGNORES, f"{_REFERENCE}/kafka-vs-warpstream-configuration-reference"
    ),
    own_settings=Fact("Settings that begin with `warpstream.` are WarpStream's own.", _SETTINGS),
    missing=(
        MissingApi(
            "IncrementalAlterConfigs",
            "a deploy writes all settings of a topic with AlterConfigs; a change that somebody else makes at the same "
            "moment is lost",
            _PROTOCOL,
        ),
        MissingApi("DescribeLogDirs", "sizes on disk are not known", _PROTOCOL),
        MissingApi(
            "AlterPartitionReassignments",
            "an object store keeps the records, and there are no replicas that `topicwarden rebalance` could move",
            _PROTOCOL,
        ),
    ),
    notes=(Fact("A setting that the reference does not list is ignored without an error.", _SETTINGS),),
)
