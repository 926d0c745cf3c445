"""Reads topics for the resource provider: partitions, replicas and own settings, many topics with each request."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from kafka import KafkaAdminClient
from kafka.admin import ConfigResourceType
from kafka.errors import KafkaError, UnknownTopicOrPartitionError
from kafka.protocol.metadata import MetadataRequest

from topicwarden.kafka.connect.client_internals import describe_topics, send_to_broker
from topicwarden.kafka.connect.request_errors import RequestError, error_of_code, request_error
from topicwarden.kafka.read.broker_visibility import living_brokers, wait_for_every_broker
from topicwarden.kafka.read.cluster_service import setting_source
from topicwarden.kafka.read.described_configs import Settings, describe_brokers, describe_configs
from topicwarden.kafka.read.snapshot import CORDONED, LOG_DIRS, SET_ON_TOPIC, cordoned_brokers
from topicwarden.kafka_facts.configs import definition
from topicwarden.kafka_facts.services import APACHE
from topicwarden.kafka_facts.services.profile import ServiceProfile

_UNKNOWN_TOPIC = UnknownTopicOrPartitionError.errno
_UNKNOWN_TOPIC_NAME = UnknownTopicOrPartitionError.message
_VISIBLE_WITHIN_S = 60.0


@dataclass(frozen=True)
class TopicProperties:
    """A topic as Kafka reports it. ``config`` has only settings of the topic's own; see ``read_topics``.

    None in ``config`` is a setting that must not be set; see ``wait_until_visible``. ``inherited`` has the values of
    other settings. Redpanda reports a setting there that was set to its default.
    """

    partitions: int
    replication_factor: int
    config: Mapping[str, str | None] = field(default_factory=dict)
    inherited: Mapping[str, str] = field(default_factory=dict)

    def agrees(self, declared: TopicProperties) -> bool:
        """Return whether the topic is as ``declared`` to Kafka, which may spell a setting in another way."""
        counts = (self.partitions, self.replication_factor) == (declared.partitions, declared.replication_factor)
        in_force = {**self.inherited, **self.config}
        return counts and self.config.keys() <= declared.config.keys() and _has(in_force, declared.config)

    def config_like(self, known: Mapping[str, str]) -> dict[str, str | None]:
        """Return the settings of the topic's own, and those in ``known`` whose value is in force.

        A value that Kafka only spells in another way, such as 1.0, is that in ``known``: 1.
        """
        same = {name for name, value in known.items() if _has(self.inherited, {name: value})}
        found = {**{name: value for name, value in self.inherited.items() if name in same}, **self.config}
        return {
            name: known[name] if _equivalent(name, value, known.get(name)) else value for name, value in found.items()
        }


class _Settings(NamedTuple):
    """The settings of one topic: those that are set on the topic itself, and all others."""

    own: dict[str, str]
    inherited: dict[str, str]


def read_topics(
    admin: KafkaAdminClient, names: Mapping[str, Collection[str] | None], service: ServiceProfile
) -> dict[str, TopicProperties | RequestError | None]:
    """Return the state of each topic, or the error, or None if the topic does not exist.

    ``names`` has the names of the settings to read of each topic; None for all. The replication factor is that of
    the least replicated partition.
    """
    states: dict[str, TopicProperties | RequestError | None] = {}
    for topic in describe_topics(admin, names):
        code, name = topic["error_code"], str(topic["name"])
        if code:
            states[name] = None if code == _UNKNOWN_TOPIC else error_of_code(code, None)
        else:
            replicas = min(len(partition["replica_nodes"]) for partition in topic["partitions"])
            states[name] = TopicProperties(len(topic["partitions"]), replicas)
    found = {name: names[name] for name, state in states.items() if isinstance(state, TopicProperties)}
    for name, settings in _read_settings(admin, found, service).items():
        state = states[name]
        if isinstance(settings, RequestError):
            states[name] = None if settings.name == _UNKNOWN_TOPIC_NAME else settings
        elif isinstance(state, TopicProperties):
            states[name] = replace(state, config=settings.own, inherited=settings.inherited)
    return states


def open_brokers(admin: KafkaAdminClient) -> dict[int, str | None]:
    """Return the rack of each living broker that takes new replicas, by broker id; see ``cordoned_brokers``.

    A broker whose settings are denied, or that does not answer, counts as open: Kafka refuses a wrong placement itself.
    """
    brokers = living_brokers(admin)
    try:
        described = describe_brokers(admin, brokers, (CORDONED, *LOG_DIRS))
    except KafkaError:
        return brokers
    settings = {broker: {name: value or "" for name, (value, _) in own.items()} for broker, own in described.items()}
    return {broker: rack for broker, rack in brokers.items() if broker not in cordoned_brokers(settings)}


def all_replicas(admin: KafkaAdminClient) -> list[list[int]]:
    """Return the brokers of every partition of the cluster, the preferred leader first."""
    return [partition["replica_nodes"] for topic in describe_topics(admin) for partition in topic["partitions"]]


def list_topics(admin: KafkaAdminClient) -> list[str]:
    """Return the names of the topics that are not Kafka's own, sorted."""
    return sorted(topic["name"] for topic in describe_topics(admin) if not topic["is_internal"])


def read_own_settings(admin: KafkaAdminClient, names: Collection[str]) -> dict[str, dict[str, str] | RequestError]:
    """Return all settings that are set on each topic itself, those of the service as well, or the error."""
    found = _read_settings(admin, dict.fromkeys(names), APACHE)
    return {name: each if isinstance(each, RequestError) else each.own for name, each in found.items()}


def _read_settings(
    admin: KafkaAdminClient, names: Mapping[str, Collection[str] | None], service: ServiceProfile
) -> dict[str, _Settings | RequestError]:
    requested = {name: settings for name, settings in names.items() if settings is None or settings}
    found: dict[str, _Settings | RequestError] = {name: _Settings({}, {}) for name in names}
    return found | _split(describe_configs(admin, ConfigResourceType.TOPIC, requested), service)


def wait_until_visible(
    admin: KafkaAdminClient, expected: Mapping[str, TopicProperties | None], service: ServiceProfile
) -> frozenset[str]:
    """Wait until every living broker reports the topics as ``expected``; return those that one does not.

    ``expected`` has None for a topic that must be gone, and otherwise the least number of partitions. ``config`` has
    the settings that must have these values. A broker shows a change only when it has created the logs of the change
    before, which takes seconds for thousands of partitions, so it gets a minute for the next topic.
    """
    return wait_for_every_broker(
        admin, expected, lambda broker, pending: _visible(admin, broker, pending, service), _VISIBLE_WITHIN_S
    )


def _visible(
    admin: KafkaAdminClient,
    broker: int,
    expected: Mapping[str, TopicProperties | None],
    service: ServiceProfile,
) -> set[str]:
    topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in expected]
    metadata = send_to_broker(admin, MetadataRequest(topics=topics, allow_auto_topic_creation=False), broker)
    visible = {topic.name for topic in metadata.topics if _as_expected(topic, expected[topic.name])}
    settings = {name: state.config for name in visible if (state := expected[name]) is not None and state.config}
    if settings:
        found = _split(describe_configs(admin, ConfigResourceType.TOPIC, settings, broker), service)
        visible -= {name for name, config in settings.items() if not _shows(found.get(name), config)}
    return visible


def _shows(found: _Settings | RequestError | None, config: Mapping[str, str | None]) -> bool:
    """Return whether the settings of a topic are those in ``config``; None is a setting that must not be set."""
    if not isinstance(found, _Settings):
        return False
    in_force = {**found.inherited, **found.own}
    set_to = {name: value for name, value in config.items() if value is not None}
    return _has(in_force, set_to) and not any(name in found.own for name in config.keys() - set_to.keys())


def _has(settings: Mapping[str, str | None], expected: Mapping[str, str | None]) -> bool:
    """Return whether ``settings`` have the values of ``expected``, in any spelling of Kafka's."""
    return all(
        _canonical(found := settings.get(name)) == _canonical(value) or _equivalent(name, found, value)
        for name, value in expected.items()
    )


def _equivalent(name: str, first: str | None, second: str | None) -> bool:
    """Return whether Kafka parses both texts as the same value of the setting; false for a setting that it lacks."""
    known = definition(name)
    if known is None or first is None or second is None:
        return False
    with suppress(ValueError):  # a service may report anything
        return known.equivalent(first, second)
    return False


def _canonical(value: str | None) -> str | None:
    """Return ``value`` as Kafka writes it: it parses what it gets, so ``delete, compact`` comes back without space."""
    return None if value is None else "".join(value.split()).lower().lstrip("+")


def _as_expected(topic: Any, state: TopicProperties | None) -> bool:
    if state is None:
        return bool(topic.error_code == _UNKNOWN_TOPIC)
    led = all(partition.leader_id >= 0 for partition in topic.partitions)
    return topic.error_code == 0 and len(topic.partitions) >= state.partitions and led


def _split(
    described: Mapping[str, Settings | KafkaError], service: ServiceProfile
) -> dict[str, _Settings | RequestError]:
    """Return the settings of each topic, or its error; sensitive settings, which have no value, are left out."""
    found: dict[str, _Settings | RequestError] = {}
    for topic, entries in described.items():
        if isinstance(entries, KafkaError):
            found[topic] = request_error(entries)
            continue
        settings = _Settings({}, {})
        for name, (value, source) in entries.items():
            if value is not None:
                set_by = setting_source(service, name, value, source)
                (settings.own if set_by == SET_ON_TOPIC else settings.inherited)[name] = value
        found[topic] = settings
    return found
