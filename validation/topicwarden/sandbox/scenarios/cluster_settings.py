"""Change settings of the sandbox without the declarations, and query it with the Admin client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.protocol.consumer import OffsetSpec


def set_topic(servers: Sequence[str], topic: str, settings: Mapping[str, str]) -> None:
    """Change settings of a topic, like ``kafka-configs.sh`` does."""
    with connected(servers) as admin:
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs=dict(settings))])


def set_brokers(servers: Sequence[str], settings: Mapping[str, str]) -> None:
    """Change dynamic settings of every broker."""
    with connected(servers) as admin:
        for broker in admin.describe_cluster()["brokers"]:
            name = str(broker["broker_id"])
            admin.alter_configs([ConfigResource(ConfigResourceType.BROKER, name, configs=dict(settings))])


def has_records(servers: Sequence[str], topic: str) -> bool:
    """Return whether a record was ever written to partition 0 of ``topic``."""
    first = TopicPartition(topic, 0)
    with connected(servers) as admin:
        return bool(admin.list_partition_offsets({first: OffsetSpec.LATEST})[first].offset)


@contextmanager
def connected(servers: Sequence[str]) -> Iterator[KafkaAdminClient]:
    """Yield an Admin client, and close it at the end."""
    admin = KafkaAdminClient(bootstrap_servers=list(servers))
    try:
        yield admin
    finally:
        admin.close()
