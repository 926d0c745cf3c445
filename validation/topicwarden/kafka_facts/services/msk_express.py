"""Amazon MSK Provisioned with Express brokers."""

from topicwarden.kafka_facts.services.profile import (
    AccessLimits,
    Fact,
    LogCode,
    Outcome,
    ReplicationFactors,
    ServiceProfile,
    SettingBounds,
    SettingNames,
)

_SETTINGS = (
    "https://docs.aws.amazon.com/msk/latest/developerguide/"
    "msk-configuration-express-read-write.html#msk-configuration-express-topic-configuration"
)

PROFILE = ServiceProfile(
    name="msk-express",
    title="MSK Express",
    log=LogCode(
        False,
        Fact(
            "Compaction starts after the data of a partition reaches 256 MB, and retention is independent of "
            "segment.ms and segment.bytes.",
            _SETTINGS,
        ),
    ),
    access=AccessLimits(
        unmanaged={
            "users": Fact(
                "Users and passwords are secrets of AWS Secrets Manager, which are associated with the cluster.",
                "https://docs.aws.amazon.com/msk/latest/developerguide/msk-password.html",
            )
        }
    ),
    only=SettingNames(
        frozenset(
            {
                "cleanup.policy",
                "compression.type",
                "delete.retention.ms",
                "max.compaction.lag.ms",
                "max.message.bytes",
                "message.timestamp.after.max.ms",
                "message.timestamp.before.max.ms",
                "message.timestamp.type",
                "min.compaction.lag.ms",
                "retention.bytes",
                "retention.ms",
            }
        ),
        Outcome.REFUSES,
        _SETTINGS,
    ),
    bounds=(SettingBounds("max.compaction.lag.ms", _SETTINGS, least=604_800_000),),
    replication=ReplicationFactors(frozenset({3}), Outcome.IGNORES, _SETTINGS),
)
