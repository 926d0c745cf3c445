"""Confluent Cloud, of every cluster type."""

from topicwarden.kafka_facts.services.profile import (
    AccessLimits,
    Defaults,
    Fact,
    FixedPolicy,
    LogCode,
    Outcome,
    Recognition,
    ReplicationFactors,
    ServiceProfile,
    SettingBounds,
    SettingNames,
)

_SETTINGS = "https://docs.confluent.io/cloud/current/topics/manage.html"
_PROVIDER = "https://registry.terraform.io/providers/confluentinc/confluent/latest/docs/resources/confluent_kafka_topic"

PROFILE = ServiceProfile(
    name="confluent-cloud",
    title="Confluent Cloud",
    log=LogCode(
        False,
        Fact(
            "Clusters run Kora, an engine of Confluent with a storage of its own.",
            "https://www.confluent.io/blog/cloud-native-data-streaming-kafka-engine/",
        ),
    ),
    recognition=Recognition(
        hosts=(r".+\.confluent\.cloud", r".+\.confluentgov\.com"),
        cluster_id=r"lkc-[a-z0-9]+",
        sources=(_PROVIDER, "https://docs.confluent.io/confluentgov/current/api/api.html"),
    ),
    only=SettingNames(
        frozenset(
            {
                "cleanup.policy",
                "delete.retention.ms",
                "max.compaction.lag.ms",
                "max.message.bytes",
                "message.timestamp.after.max.ms",
                "message.timestamp.before.max.ms",
                "message.timestamp.difference.max.ms",
                "message.timestamp.type",
                "min.compaction.lag.ms",
                "min.insync.replicas",
                "retention.bytes",
                "retention.ms",
                "segment.bytes",
                "segment.ms",
            }
        ),
        Outcome.REFUSES,
        _SETTINGS,
    ),
    bounds=(
        SettingBounds("delete.retention.ms", _SETTINGS, most=60_566_400_000),
        # Basic and Standard clusters accept 8 MiB at most.
        SettingBounds("max.message.bytes", _SETTINGS, most=20_971_520),
        SettingBounds("min.insync.replicas", _SETTINGS, least=1, most=2),
        SettingBounds("segment.bytes", _SETTINGS, least=52_428_800, most=1_073_741_824),
    ),
    fixed_policy=FixedPolicy(frozenset({("delete", "compact,delete")}), _SETTINGS),
    replication=ReplicationFactors(frozenset({3}), Outcome.REFUSES, _SETTINGS),
    defaults=Defaults(
        {
            "max.message.bytes": "2097164",
            "message.timestamp.difference.max.ms": "9223372036854775807",
            "min.insync.replicas": "2",
            "segment.bytes": "104857600",
        },
        _PROVIDER,
    ),
    access=AccessLimits(
        unmanaged={
            "quotas": Fact(
                "Client quotas are set with the Confluent CLI, the Cloud Console, or the Terraform provider.",
                "https://docs.confluent.io/cloud/current/clusters/client-quotas-quickstart.html",
            )
        },
        most_acls=(
            10_000,
            Fact(
                "A Dedicated cluster has at most 10,000 ACLs; a Basic cluster has at most 1,000.",
                "https://docs.confluent.io/cloud/current/clusters/cluster-types.html",
            ),
        ),
    ),
    reports_defaults_as_set=Fact("A topic carries its default settings as settings of its own.", _PROVIDER),
    own_settings=Fact("Settings that begin with `confluent.` are Confluent's own.", _PROVIDER),
)
