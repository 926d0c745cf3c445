"""What only a sandbox may suffer: settings changed behind the declaration's back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.protocol.consumer import OffsetSpec


def set_topic(servers: Sequence[str], topic: str, settings: Mapping[str, str]) -> None:
    """Changes settings of a topic, as somebody with ``kafka-configs`` would."""
    with connected(servers) as admin:
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs=dict(settings))])


def set_brokers(servers: Sequence[str], settings: Mapping[str, str]) -> None:
    """Changes settings of every broker while it runs."""
    with connected(servers) as admin:
        for broker in admin.describe_cluster()["brokers"]:
            name = str(broker["broker_id"])
            admin.alter_configs([ConfigResource(ConfigResourceType.BROKER, name, configs=dict(settings))])


def filled(servers: Sequence[str], topic: str) -> bool:
    """Whether anything was ever written to partition 0 of ``topic``."""
    first = TopicPartition(topic, 0)
    with connected(servers) as admin:
        return bool(admin.list_partition_offsets({first: OffsetSpec.LATEST})[first].offset)


@contextmanager
def connected(servers: Sequence[str]) -> Iterator[KafkaAdminClient]:
    """An Admin client that is closed in the end."""
    admin = KafkaAdminClient(bootstrap_servers=list(servers))
    try:
        yield admin
    finally:
        admin.close()
