"""Creates, changes and deletes topics: one request for any number of topics.

Each function returns the error of each topic that Kafka refused; all other topics are done.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kafka import KafkaAdminClient
from kafka.admin import ConfigResourceType
from kafka.errors import IncompatibleBrokerVersion, UnsupportedVersionError
from kafka.protocol.admin import AlterConfigsRequest

from topicwarden.kafka.connect.client_internals import from_controller, send_to_any_broker
from topicwarden.kafka.connect.request_errors import RequestError, error_of_code
from topicwarden.kafka.read.topic_reads import read_own_settings
from topicwarden.kafka.write.admin_session import alter_configs, errors_by_resource

Errors: TypeAlias = dict[str, RequestError]
"""The errors of the topics that were refused, by name."""


@dataclass(frozen=True)
class NewTopic:
    """A topic to create. ``replicas`` has the brokers of each partition, the leader first; empty if Kafka places it."""

    name: str
    partitions: int
    replication_factor: int
    config: Mapping[str, str] = field(default_factory=dict)
    replicas: Sequence[Sequence[int]] = ()


def create_topics(admin: KafkaAdminClient, topics: Collection[NewTopic]) -> Errors:
    """Create ``topics``. An existing topic has the error ``TOPIC_ALREADY_EXISTS``, whatever its settings are."""
    created = {topic.name: _creation(topic) for topic in topics}
    answer = from_controller(admin, lambda: admin.create_topics(created, raise_errors=False))
    return _errors(answer["topics"])


def delete_topics(admin: KafkaAdminClient, names: Collection[str]) -> Errors:
    """Delete the topics with these names, and their records."""
    answer = from_controller(admin, lambda: admin.delete_topics(list(names), raise_errors=False))
    return _errors(answer["topics"])


def add_partitions(admin: KafkaAdminClient, counts: Mapping[str, int]) -> Errors:
    """Add partitions until each topic has its number in ``counts``. Kafka places the new replicas."""
    answer = from_controller(admin, lambda: admin.create_partitions(dict(counts), raise_errors=False))
    return _errors(answer.to_dict()["results"])


def alter_settings(admin: KafkaAdminClient, changes: Mapping[str, Mapping[str, str | None]]) -> Errors:
    """Write the settings of each topic; None removes a setting, and every other setting stays as it is.

    Brokers before Kafka 2.3, and WarpStream, have no IncrementalAlterConfigs (KIP-339). They get all settings of the
    topic with AlterConfigs; a setting that somebody else writes between our read and our write is lost.
    """
    try:
        return alter_configs(admin, ConfigResourceType.TOPIC, changes)
    except (IncompatibleBrokerVersion, UnsupportedVersionError):
        return _alter_all_settings(admin, changes)


def _alter_all_settings(admin: KafkaAdminClient, changes: Mapping[str, Mapping[str, str | None]]) -> Errors:
    found = read_own_settings(admin, changes)
    unread = {name: settings for name, settings in found.items() if isinstance(settings, RequestError)}
    own = {name: settings for name, settings in found.items() if not isinstance(settings, RequestError)}
    merged = {name: {**settings, **changes[name]} for name, settings in own.items()}
    request = AlterConfigsRequest(
        resources=[
            (ConfigResourceType.TOPIC, name, [(key, value) for key, value in settings.items() if value is not None])
            for name, settings in merged.items()
        ],
        validate_only=False,
    )
    return unread | (errors_by_resource(send_to_any_broker(admin, request)) if merged else {})


def _creation(topic: NewTopic) -> dict[str, Any]:
    if topic.replicas:
        placed: dict[str, Any] = {"assignments": {n: list(brokers) for n, brokers in enumerate(topic.replicas)}}
    else:
        placed = {"num_partitions": topic.partitions, "replication_factor": topic.replication_factor}
    return {**placed, "configs": dict(topic.config)}


def _errors(answers: Collection[Mapping[str, Any]]) -> Errors:
    return {
        str(answer["name"]): error_of_code(answer["error_code"], answer.get("error_message"))
        for answer in answers
        if answer["error_code"]
    }
