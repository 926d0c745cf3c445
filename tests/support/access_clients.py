"""Run clients with principals of their own: a group that reads, and a producer in the middle of a transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from tests.support.restricted_user import PASSWORD, USER, RestrictedCluster

TOPIC = "orders.v1"
_USERS = (USER, "billing", "orders")


def user_listener() -> dict[str, str]:
    """Return the broker properties for the user that deploys, and for those of the clients."""
    users = " ".join(f'user_{user}="{PASSWORD}"' for user in _USERS)
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    return {"listener.name.users.plain.sasl.jaas.config": f"{module} {users};"}


@contextmanager
def clients(cluster: RestrictedCluster) -> Iterator[Producer]:
    """Run a consumer, and yield a producer in the middle of a transaction."""
    producer = Producer(_login(cluster, "orders") | {"transactional.id": "orders-1"})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(TOPIC, b"first")
    producer.commit_transaction(60)
    consumer = Consumer(_login(cluster, "billing") | {"group.id": "billing", "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe([TOPIC])
        message = consumer.poll(60)
        assert message is not None and message.error() is None, message
        consumer.commit(asynchronous=False)
        producer.begin_transaction()
        producer.produce(TOPIC, b"second")
        producer.flush(60)
        yield producer
    finally:
        consumer.close()
        with suppress(KafkaException):  # the test may have revoked its access
            producer.abort_transaction(60)


def commit_without_members(cluster: RestrictedCluster, user: str, group: str) -> None:
    """Commit an offset for ``group`` with a consumer that assigns its partition itself. Raises KafkaException."""
    consumer = Consumer(_login(cluster, user) | {"group.id": group, "enable.auto.commit": False})
    try:
        partition = TopicPartition(TOPIC, 0, 1)
        consumer.assign([partition])
        consumer.commit(offsets=[partition], asynchronous=False)
    finally:
        consumer.close()


def _login(cluster: RestrictedCluster, user: str) -> dict[str, str]:
    return {
        "bootstrap.servers": ",".join(cluster.user_servers),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": PASSWORD,
    }
