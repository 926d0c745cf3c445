"""The settings of a stack's brokers that the rules need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from topicwarden.kafka_facts import configs
from topicwarden.kafka_facts.services import APACHE, PROFILES

DEFAULT_METADATA_MAX_AGE: Final = 86_400_000
"""One day, which is far above the clients' own default of ``metadata.max.age.ms``, 5 minutes."""

KAFKAS_DEFAULT: Final = "Kafka's default"


@dataclass(frozen=True)
class BrokerSettings:
    """The brokers' Kafka version (such as ``4.1``), ``message.max.bytes`` and number; None if it is not set.

    ``partition_functions`` are the functions (``module:function``) that the audit of the stack may import. ``profile``
    is the name of the service: the given one, or the one that has the host names of the bootstrap servers.
    ``metadata_max_age`` is how long, in milliseconds, producers may take to notice new partitions.
    """

    kafka: str = configs.DEFAULT_KAFKA
    message_max_bytes: int | None = None
    count: int | None = None
    partition_functions: frozenset[str] = frozenset()
    profile: str = APACHE.name
    metadata_max_age: int = DEFAULT_METADATA_MAX_AGE

    def default(self, setting: str) -> str | None:
        """Return the value of a topic configuration that is not declared: of these brokers, the service, or Kafka.

        None if this version of Kafka has no such setting or default.
        """
        return self._default(setting)[0]

    def default_source(self, setting: str) -> str:
        """Return whose default it is, for messages: ``Kafka's default``, or ``Confluent Cloud's default``."""
        return self._default(setting)[1]

    def _default(self, setting: str) -> tuple[str | None, str]:
        definition = configs.definition(setting, self.kafka)
        of_kafka = definition.default if definition else None
        if definition and definition.server_default == "message.max.bytes" and self.message_max_bytes is not None:
            return str(self.message_max_bytes), "the brokers' message.max.bytes"
        service = PROFILES[self.profile]
        value = service.default(setting, of_kafka) if definition else None
        return value, KAFKAS_DEFAULT if value == of_kafka else f"{service.title}'s default"
