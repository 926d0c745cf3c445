"""Opens the clients of kafka-python that read and write records. No client of topicwarden creates a topic.

With Kafka's default ``auto.create.topics.enable=true``, the metadata request of a consumer or producer creates a topic
that is gone, unless the client forbids it (``allow.auto.create.topics``, KIP-361). The settings of the Java consumers
are in ``Connection.for_java``. Admin clients send metadata requests that never create topics.
"""

from __future__ import annotations

from typing import Any, Final

from kafka import KafkaConsumer, KafkaProducer

from topicwarden.kafka.connect.admin_client import client_settings
from topicwarden.kafka.connect.connection import Connection

_NO_TOPICS: Final = {"allow_auto_create_topics": False}


def new_consumer(connection: Connection, **settings: Any) -> KafkaConsumer:
    """Return a consumer of the cluster. Raises KafkaError, OSError or ValueError."""
    return KafkaConsumer(**client_settings(connection, connection.bootstrap_servers), **settings, **_NO_TOPICS)


def new_producer(connection: Connection, **settings: Any) -> KafkaProducer:
    """Return a producer to the cluster. Raises KafkaError, OSError or ValueError."""
    return KafkaProducer(**client_settings(connection, connection.bootstrap_servers), **settings, **_NO_TOPICS)
