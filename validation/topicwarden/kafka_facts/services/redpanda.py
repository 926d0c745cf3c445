"""Redpanda, self-managed or as a service."""

from topicwarden.kafka_facts.services.profile import (
    AccessLimits,
    Fact,
    LogCode,
    Outcome,
    Recognition,
    ReplicationFactors,
    ServiceProfile,
    SettingBounds,
    SettingNames,
)

_SETTINGS = "https://docs.redpanda.com/current/reference/properties/topic-properties/"
_SERVER = "https://github.com/redpanda-data/redpanda/blob/dev/src/v/kafka/server/handlers"

PROFILE = ServiceProfile(
    name="redpanda",
    title="Redpanda",
    log=LogCode(
        False, Fact("A timer closes segments, with segment.ms as its period, and not the next record.", _SETTINGS)
    ),
    recognition=Recognition(cluster_id=r"redpanda\..*", sources=(f"{_SERVER}/metadata.cc",)),
    access=AccessLimits(
        known_keys={
            "quotas": (
                frozenset({"producer_byte_rate", "consumer_byte_rate", "controller_mutation_rate"}),
                "https://docs.redpanda.com/current/manage/cluster-maintenance/about-throughput-quotas",
            )
        },
        one_mechanism=Fact(
            "A user has one SCRAM mechanism.", "https://docs.redpanda.com/streaming/current/develop/kafka-clients/"
        ),
    ),
    unsupported=(
        SettingNames(
            frozenset(
                {
                    "file.delete.delay.ms",
                    "flush.messages",
                    "follower.replication.throttled.replicas",
                    "index.interval.bytes",
                    "leader.replication.throttled.replicas",
                    "message.downconversion.enable",
                    "message.format.version",
                    "message.timestamp.difference.max.ms",
                    "min.insync.replicas",
                    "preallocate",
                    "segment.index.bytes",
                    "segment.jitter.ms",
                    "unclean.leader.election.enable",
                }
            ),
            Outcome.IGNORES,
            f"{_SERVER}/topics/types.h",
        ),
    ),
    bounds=(SettingBounds("compression.type", _SETTINGS, choices=("producer", "gzip", "snappy", "lz4", "zstd")),),
    replication=ReplicationFactors(
        frozenset(range(1, 100, 2)), Outcome.REFUSES, f"{_SERVER}/topics/validators.h", "an odd number"
    ),
    hides_set_defaults=Fact(
        "A setting that was set to its default is reported as DEFAULT_CONFIG.",
        "https://github.com/redpanda-data/redpanda/issues/7451",
    ),
    own_settings=Fact("Settings such as `redpanda.remote.read` and `write.caching` are Redpanda's own.", _SETTINGS),
)
