"""Generate the topics of a cluster that people, Kafka Connect and Kafka Streams created over years, from a seed.

The topics have the habits of such clusters: prefixes with several separators, settings that differ from topic to topic
for no reason, names in capitals, internal topics of clients, and topics that nobody owns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from random import Random
from typing import Final

_PREFIXES: Final = (
    *("orders.", "payments.", "shop.cart.", "crm_", "Billing-", "inventory.", "search.index.", "iot-"),
    *("legacy_", "team-data.", "dev.", "ml.features."),
)
_NOUNS: Final = ("placed", "paid", "events", "Updates", "customer", "audit", "clicks", "price", "stock", "refunds")
_SUFFIXES: Final = ("", "", "", ".v1", ".v2", "-v3", ".dlq", "-retry", "_test", ".raw")
_HABITS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("retention.ms", ("604800000", "86400000", "-1", "2592000000", "31536000000", "604800001")),
    ("cleanup.policy", ("compact", "delete", "compact,delete")),
    ("min.insync.replicas", ("1", "2")),
    ("max.message.bytes", ("1048588", "5242880", "20971520")),
    ("compression.type", ("lz4", "zstd", "producer", "gzip")),
    ("segment.ms", ("3600000", "604800000")),
    ("segment.bytes", ("1073741824", "104857600")),
    ("retention.bytes", ("-1", "1073741824")),
    ("delete.retention.ms", ("86400000", "1000")),
    ("message.timestamp.type", ("LogAppendTime", "CreateTime")),
    ("unclean.leader.election.enable", ("true", "false")),
    ("min.cleanable.dirty.ratio", ("0.1", "0.5")),
)


@dataclass(frozen=True)
class GrownTopic:
    """A topic of the cluster: its counts, and the settings of the topic itself."""

    name: str
    partitions: int
    replication_factor: int
    config: Mapping[str, str]


def grown_topics(seed: int, number: int, brokers: int = 3) -> list[GrownTopic]:
    """Return ``number`` topics, the same for the same arguments. Kafka accepts them together, on ``brokers``."""
    random = Random(seed)
    topics: dict[str, GrownTopic] = {}
    for name, config, partitions in chain(_platform_topics(), _application_topics(random)):
        if len(topics) == number:
            break
        metric_name = name.replace(".", "_")
        if metric_name not in topics:
            replicas = min(random.choice((1, 2, 3, 3, 3)), brokers)
            topics[metric_name] = GrownTopic(name, partitions or random.choice((1, 1, 3, 6, 12)), replicas, config)
    return list(topics.values())


def _platform_topics() -> Iterator[tuple[str, dict[str, str], int]]:
    """Yield the topics that platforms create with settings of their own."""
    compact = {"cleanup.policy": "compact"}
    for name, partitions in (("connect-configs", 1), ("connect-offsets", 5), ("connect-status", 1)):
        yield name, compact, partitions
    yield "_schemas", compact, 1
    yield "heartbeats", compact, 1
    yield "mm2-offset-syncs.backup.internal", compact, 1
    yield "__debezium-heartbeat.shop", {}, 1
    yield "shop.public.customers", {}, 1
    yield "_confluent-ksql-default__command_topic", {"retention.ms": "-1"}, 1


def _application_topics(random: Random) -> Iterator[tuple[str, dict[str, str], int]]:
    """Yield topics of people and of Kafka Streams, without an end. ``0`` partitions: any number."""
    while True:
        prefix, noun, suffix = random.choice(_PREFIXES), random.choice(_NOUNS), random.choice(_SUFFIXES)
        number = random.choice(("", "", str(random.randrange(20))))
        if random.random() < 0.15:
            application = f"{prefix}{noun}{number}-app-KSTREAM-AGGREGATE-STATE-STORE-000000000{random.randrange(1, 9)}"
            yield f"{application}-changelog", {"cleanup.policy": "compact"}, 6
            yield f"{application}-repartition", {"cleanup.policy": "delete", "retention.ms": "-1"}, 6
        else:
            yield f"{prefix}{noun}{number}{suffix}", _config(random), 0


def _config(random: Random) -> dict[str, str]:
    chosen = random.sample(_HABITS, random.choice((0, 0, 1, 2, 3, 5)))
    return {name: random.choice(values) for name, values in chosen}


def described(topics: Sequence[GrownTopic]) -> str:
    """Return the output of ``kafka-topics --describe`` for ``topics``."""
    return "".join(
        f"Topic: {topic.name}\tTopicId: AAAAAAAAAAAAAAAAAAAAAA\tPartitionCount: {topic.partitions}\t"
        f"ReplicationFactor: {topic.replication_factor}\t"
        f"Configs: {','.join(f'{name}={value}' for name, value in topic.config.items())}\n"
        for topic in topics
    )
