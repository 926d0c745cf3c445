"""Reads topics for the resource provider: partitions, replicas and own settings, many topics with each request."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from kafka import KafkaAdminClient
from kafka.admin import ConfigResourceType, ConfigSourceType
from kafka.errors import KafkaError, UnknownTopicOrPartitionError
from kafka.protocol.admin import DescribeConfigsRequest
from kafka.protocol.metadata import MetadataRequest

from topicwarden.kafka.client_internals import send_to_any_broker, send_to_broker
from topicwarden.kafka.request_error import RequestError, error_of_code

_DYNAMIC_TOPIC_CONFIG = 1  # DescribeConfigsResponse.ConfigSource: set on the topic itself
_UNKNOWN_TOPIC = UnknownTopicOrPartitionError.errno
_UNKNOWN_TOPIC_NAME = UnknownTopicOrPartitionError.message
_SOURCES = {int(source): source.name for source in ConfigSourceType}
_POLL_S, _LONGEST_POLL_S, _VISIBLE_WITHIN_S = 0.05, 1.0, 60.0


@dataclass(frozen=True)
class TopicProperties:
    """A topic as Kafka reports it. ``config`` has only settings of the topic's own; see ``read_topics``.

    None in ``config`` is a setting that must not be set; see ``wait_until_visible``.
    """

    partitions: int
    replication_factor: int
    config: Mapping[str, str | None] = field(default_factory=dict)

    def agrees(self, other: TopicProperties) -> bool:
        """Return whether both are the same to Kafka, which may spell a setting in another way than it was written."""
        counts = (self.partitions, self.replication_factor) == (other.partitions, other.replication_factor)
        return counts and self.config.keys() == other.config.keys() and _has(self.config, other.config)


def read_topics(
    admin: KafkaAdminClient, names: Mapping[str, Collection[str] | None]
) -> dict[str, TopicProperties | RequestError | None]:
    """Return the state of each topic, or the error, or None if the topic does not exist.

    ``names`` has the names of the settings to read of each topic; None for all. The replication factor is that of
    the least replicated partition.
    """
    answer = admin.describe_topics(list(names))
    states: dict[str, TopicProperties | RequestError | None] = {}
    for topic in answer:
        code, name = topic["error_code"], str(topic["name"])
        if code:
            states[name] = None if code == _UNKNOWN_TOPIC else error_of_code(code, None)
        else:
            replicas = min(len(partition["replica_nodes"]) for partition in topic["partitions"])
            states[name] = TopicProperties(len(topic["partitions"]), replicas)
    found = {name: names[name] for name, state in states.items() if isinstance(state, TopicProperties)}
    for name, settings in read_own_settings(admin, found).items():
        state = states[name]
        if isinstance(settings, RequestError):
            states[name] = None if settings.name == _UNKNOWN_TOPIC_NAME else settings
        elif isinstance(state, TopicProperties):
            states[name] = TopicProperties(state.partitions, state.replication_factor, settings)
    return states


def living_brokers(admin: KafkaAdminClient) -> dict[int, str | None]:
    """Return the rack of each broker that is not fenced, by broker id."""
    brokers = admin.describe_cluster()["brokers"]
    return {broker["broker_id"]: broker["rack"] for broker in brokers if not broker.get("is_fenced")}


def all_replicas(admin: KafkaAdminClient) -> list[list[int]]:
    """Return the brokers of every partition of the cluster, the preferred leader first."""
    return [partition["replica_nodes"] for topic in admin.describe_topics() for partition in topic["partitions"]]


def list_topics(admin: KafkaAdminClient) -> list[str]:
    """Return the names of the topics that are not Kafka's own, sorted."""
    return sorted(topic["name"] for topic in admin.describe_topics() if not topic["is_internal"])


def read_own_settings(admin: KafkaAdminClient, names: Mapping[str, Collection[str] | None]) -> dict[str, Any]:
    """Return the settings that are set on each topic itself, or the error; see ``read_topics``."""
    requested = {name: settings for name, settings in names.items() if settings is None or settings}
    found: dict[str, Any] = {name: {} for name in names}
    if requested:
        found |= _own_settings(send_to_any_broker(admin, _describe_configs(requested)))
    return found


def effective_settings(admin: KafkaAdminClient, names: Collection[str]) -> dict[str, dict[str, tuple[str | None, str]]]:
    """Return each setting of each topic: the value in force, and Kafka's ``ConfigSource`` of it.

    A topic that this user may not see has no settings. The value of a sensitive setting is None.
    """
    if not names:
        return {}
    answer = send_to_any_broker(admin, _describe_configs(dict.fromkeys(names)))
    return {
        result.resource_name: {
            entry.name: (entry.value, _SOURCES.get(entry.config_source, "UNKNOWN")) for entry in result.configs
        }
        for result in answer.results
    }


def wait_until_visible(admin: KafkaAdminClient, expected: Mapping[str, TopicProperties | None]) -> frozenset[str]:
    """Wait until every living broker reports the topics as ``expected``; return those that one does not.

    A broker that reports no further topic within a minute is not waited for. ``expected`` has None for a topic that
    must be gone, and otherwise the least number of partitions. ``config`` has the settings that must have these
    values. A broker applies what the controller committed with a delay of its own (KIP-500): it shows a
    change only when it has created the logs of the change before, which takes seconds for thousands of partitions. So
    the broker that answers the next request may not know it yet. A broker that does not answer is left out.
    """
    brokers = living_brokers(admin)
    with ThreadPoolExecutor(max_workers=max(1, len(brokers))) as executor:
        return frozenset().union(*executor.map(lambda broker: _wait_for_broker(admin, broker, expected), brokers))


def _wait_for_broker(
    admin: KafkaAdminClient, broker: int, expected: Mapping[str, TopicProperties | None]
) -> frozenset[str]:
    pending = dict(expected)
    deadline, pause = time.monotonic() + _VISIBLE_WITHIN_S, _POLL_S
    while pending and time.monotonic() < deadline:
        try:
            visible = _visible(admin, broker, pending)
        except KafkaError:
            return frozenset()
        if visible:
            deadline = time.monotonic() + _VISIBLE_WITHIN_S
        pending = {name: state for name, state in pending.items() if name not in visible}
        if pending:
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_POLL_S)
    return frozenset(pending)


def _visible(admin: KafkaAdminClient, broker: int, expected: Mapping[str, TopicProperties | None]) -> set[str]:
    topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in expected]
    metadata = send_to_broker(admin, MetadataRequest(topics=topics, allow_auto_topic_creation=False), broker)
    visible = {topic.name for topic in metadata.topics if _as_expected(topic, expected[topic.name])}
    settings = {name: state.config for name in visible if (state := expected[name]) is not None and state.config}
    if settings:
        answer = _own_settings(send_to_broker(admin, _describe_configs(settings), broker))
        visible -= {name for name, config in settings.items() if not _has(answer.get(name), config)}
    return visible


def _has(own: Any, config: Mapping[str, str | None]) -> bool:
    """Return whether the ``own`` settings of a topic, or the error, agree with ``config``."""
    return isinstance(own, Mapping) and all(_canonical(own.get(key)) == _canonical(config[key]) for key in config)


def _canonical(value: str | None) -> str | None:
    """Return ``value`` as Kafka writes it: it parses what it gets, so ``delete, compact`` comes back without space."""
    return None if value is None else "".join(value.split()).lower().lstrip("+")


def _as_expected(topic: Any, state: TopicProperties | None) -> bool:
    if state is None:
        return bool(topic.error_code == _UNKNOWN_TOPIC)
    led = all(partition.leader_id >= 0 for partition in topic.partitions)
    return topic.error_code == 0 and len(topic.partitions) >= state.partitions and led


def _describe_configs(names: Mapping[str, Collection[str] | None]) -> DescribeConfigsRequest:
    return DescribeConfigsRequest(
        resources=[
            (ConfigResourceType.TOPIC, name, None if settings is None else list(settings))
            for name, settings in names.items()
        ],
        include_synonyms=False,
        min_version=1,  # the first version with the source of a setting
    )


def _own_settings(answer: Any) -> dict[str, Any]:
    return {
        result.resource_name: error_of_code(result.error_code, result.error_message)
        if result.error_code
        else {
            entry.name: entry.value
            for entry in result.configs
            if entry.config_source == _DYNAMIC_TOPIC_CONFIG and entry.value is not None
        }
        for result in answer.results
    }
