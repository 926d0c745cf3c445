"""Amazon MSK Serverless."""

from topicwarden.kafka_facts.services.profile import (
    AccessLimits,
    Defaults,
    Fact,
    FixedPolicy,
    LogCode,
    Outcome,
    Recognition,
    ServiceProfile,
    SettingBounds,
    SettingNames,
)

_SETTINGS = "https://docs.aws.amazon.com/msk/latest/developerguide/serverless-config.html"
_SERVERLESS = "https://docs.aws.amazon.com/msk/latest/developerguide/serverless.html"

PROFILE = ServiceProfile(
    name="msk-serverless",
    title="MSK Serverless",
    log=LogCode(
        False, Fact("Amazon MSK sets the brokers' configuration, and segments are not configurable.", _SETTINGS)
    ),
    recognition=Recognition(
        hosts=(r".+\.kafka-serverless\.[a-z0-9-]+\.amazonaws\.com(\.cn)?",),
        sources=("https://github.com/Mongey/terraform-provider-kafka/blob/main/kafka/config.go",),
    ),
    access=AccessLimits(
        unmanaged={
            "acls": Fact("Every cluster requires IAM access control, and ACLs are not supported.", _SERVERLESS),
            "users": Fact("Every cluster requires IAM access control.", _SERVERLESS),
        },
    ),
    only=SettingNames(
        frozenset(
            {
                "cleanup.policy",
                "compression.type",
                "max.message.bytes",
                "message.timestamp.difference.max.ms",
                "message.timestamp.type",
                "retention.bytes",
                "retention.ms",
            }
        ),
        Outcome.REFUSES,
        _SETTINGS,
    ),
    bounds=(SettingBounds("max.message.bytes", _SETTINGS, most=8_388_608),),
    fixed_policy=FixedPolicy(
        frozenset(
            (before, after)
            for before in ("compact", "compact,delete", "delete")
            for after in ("compact", "compact,delete", "delete")
            if before != after
        ),
        _SETTINGS,
    ),
    defaults=Defaults(
        {
            "cleanup.policy": "delete",
            "compression.type": "producer",
            "max.message.bytes": "1048588",
            "message.timestamp.type": "CreateTime",
            "retention.bytes": str(250 << 30),
            "retention.ms": "604800000",
        },
        _SETTINGS,
    ),
)
