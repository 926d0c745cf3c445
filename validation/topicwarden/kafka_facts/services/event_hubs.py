"""Azure Event Hubs, through its Kafka endpoint."""

from topicwarden.kafka_facts.services.profile import (
    Fact,
    FixedPolicy,
    LogCode,
    MissingApi,
    Recognition,
    ServiceProfile,
    SettingBounds,
)

_DOCS = "https://learn.microsoft.com/azure/event-hubs"
_OVERVIEW = f"{_DOCS}/azure-event-hubs-apache-kafka-overview"
_STREAMS = f"{_DOCS}/apache-kafka-streams"
_DAY = 86_400_000

PROFILE = ServiceProfile(
    name="event-hubs",
    title="Azure Event Hubs",
    log=LogCode(False, Fact("The service decides itself when to compact an event hub.", f"{_DOCS}/use-log-compaction")),
    recognition=Recognition(
        hosts=(
            r".+\.servicebus\.windows\.net",
            r".+\.servicebus\.usgovcloudapi\.net",
            r".+\.servicebus\.chinacloudapi\.cn",
        ),
        sources=(_OVERVIEW, "https://github.com/Azure/azure-event-hubs-for-kafka"),
    ),
    bounds=(
        SettingBounds("min.compaction.lag.ms", _STREAMS, most=2 * _DAY),
        SettingBounds("message.timestamp.difference.max.ms", _STREAMS, most=90 * _DAY),
    ),
    fixed_policy=FixedPolicy(
        frozenset({("delete", "compact"), ("compact", "delete")}), f"{_DOCS}/configure-event-hub-properties"
    ),
    missing=(
        MissingApi(
            "AlterPartitionReassignments",
            "there are no brokers between which `topicwarden rebalance` could move replicas",
            _OVERVIEW,
        ),
    ),
    notes=(
        Fact(
            "Partitions and retention of an event hub are set in the Azure portal or with Azure's own APIs.",
            f"{_DOCS}/apache-kafka-configurations",
        ),
        Fact(
            "Partitions can be added in the premium and dedicated tiers only.",
            f"{_DOCS}/configure-event-hub-properties",
        ),
    ),
)
