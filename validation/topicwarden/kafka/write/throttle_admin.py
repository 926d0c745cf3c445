"""Kafka's replication throttle (KIP-73): throttled replicas per topic, and a replication rate per broker.

The topic lists are written before the broker rates, and removed after them. So if a killed run leaves a rate behind, a
list still names the broker. Every list that topicwarden writes ends with ``MARK``, so a later run, also on another
machine, recognizes these lists. Lists without the mark are never changed or removed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from kafka import KafkaAdminClient
from kafka.admin import AlterConfigOp, ConfigResource, ConfigResourceType
from kafka.errors import ClusterAuthorizationFailedError, KafkaError

from topicwarden.kafka.connect.request_errors import first_line, retry_transient
from topicwarden.kafka.read.described_configs import describe_brokers, describe_configs
from topicwarden.kafka_facts.throttle_settings import RATES, REPLICAS
from topicwarden.model.problem import Refusal

MARK = "999999999:999999999"
"""The last entry of each list that topicwarden writes: a partition and a broker that do not exist.

Brokers accept any two numbers that fit 32 bits (``ThrottledReplicaListValidator``), and each broker uses only the
entries that name itself (``TopicConfigHandler.parseThrottledPartitions``).
"""

Response = TypeVar("Response")


@dataclass(frozen=True)
class ReplicaCopy:
    """A partition to throttle: ``sources`` are brokers that may lead it, ``targets`` are brokers that fetch it."""

    partition: int
    sources: tuple[int, ...]
    targets: tuple[int, ...]


@dataclass(frozen=True)
class ThrottleLists:
    """The two throttle lists of a topic, combined.

    ``brokers`` are the brokers that a list names, None for all (``*``). ``marked``: topicwarden wrote both lists.
    """

    brokers: frozenset[int] | None
    marked: bool = False

    def names(self, broker: int) -> bool:
        """Return whether a list names ``broker``."""
        return self.brokers is None or broker in self.brokers


class ThrottleAdmin:
    """Sets and removes throttles by incremental configuration changes (KIP-339), which keep all other settings."""

    def __init__(self, admin: KafkaAdminClient) -> None:
        self._admin = admin

    def lists(self, topics: Collection[str] | None = None) -> tuple[dict[str, ThrottleLists], frozenset[str]]:
        """Return the lists by topic, and the topics whose lists are unknown.

        ``topics`` defaults to all topics that this user may describe. Topics without a list are left out. The lists of
        a topic are unknown if DescribeConfigs on the topic is denied.
        """
        names = sorted(request_or_refuse(self._admin.list_topics) if topics is None else topics)
        requested = dict.fromkeys(names, REPLICAS)
        described = request_or_refuse(lambda: describe_configs(self._admin, ConfigResourceType.TOPIC, requested))
        visible = {topic: found for topic, found in described.items() if found and not isinstance(found, KafkaError)}
        lists_by_topic = {}
        for topic, settings in visible.items():
            values = [value for value, _ in settings.values() if value]
            if values:
                lists_by_topic[topic] = _lists(values)
        unknown = set(names) - visible.keys()
        # A topic that was deleted since the first request has no settings either.
        return lists_by_topic, frozenset(unknown & {*request_or_refuse(self._admin.list_topics)} if unknown else ())

    def rates(self, brokers: Collection[int]) -> dict[int, dict[str, str]]:
        """Return the rates that are set on each of ``brokers`` itself, by setting; brokers without a rate are left out.

        The cluster-wide default is not a broker's own rate, and stays in force when the broker's own rate is removed.
        """
        described = request_or_refuse(lambda: describe_brokers(self._admin, sorted(brokers), RATES))
        rates_by_broker = {
            broker: {
                name: value
                for name, (value, source) in sorted(settings.items())
                if value and source == "DYNAMIC_BROKER_CONFIG"
            }
            for broker, settings in described.items()
        }
        return {broker: rates for broker, rates in rates_by_broker.items() if rates}

    def unreadable(self, brokers: Collection[int]) -> frozenset[int]:
        """Return those of ``brokers`` whose settings this user may not read (DescribeConfigs on Cluster)."""
        described = request_or_refuse(lambda: describe_brokers(self._admin, sorted(brokers)))
        return frozenset(broker for broker, settings in described.items() if not settings)

    def validate_rate(self, brokers: Collection[int], rate: int) -> None:
        """Refuse if this user may not throttle ``brokers`` to ``rate`` bytes per second. Changes nothing."""
        self._alter(_brokers(brokers, {name: str(rate) for name in RATES}), validate_only=True)

    def apply(self, copies: Mapping[str, Collection[ReplicaCopy]], brokers: Collection[int], rate: int) -> None:
        """Throttle ``copies`` (by topic) to ``rate`` bytes per second, into each of ``brokers`` and out of each."""
        lists = []
        for topic, topic_copies in copies.items():
            leading = _list((copy.partition, copy.sources) for copy in topic_copies)
            following = _list((copy.partition, copy.targets) for copy in topic_copies)
            lists.append(
                ConfigResource(ConfigResourceType.TOPIC, topic, dict(zip(REPLICAS, (leading, following), strict=True)))
            )
        self._alter(lists)
        self._alter(_brokers(brokers, {name: str(rate) for name in RATES}))

    def remove(self, topics: Collection[str], brokers: Collection[int]) -> None:
        """Remove the rates of ``brokers``, then the lists of ``topics``."""
        self._alter(_brokers(brokers, dict.fromkeys(RATES, (AlterConfigOp.DELETE, None))))
        removed = dict.fromkeys(REPLICAS, (AlterConfigOp.DELETE, None))
        self._alter([ConfigResource(ConfigResourceType.TOPIC, topic, removed) for topic in topics])

    def _alter(self, resources: list[ConfigResource], *, validate_only: bool = False) -> None:
        if not resources:
            return

        def alter() -> None:
            responses = self._admin.alter_configs(
                resources, validate_only=validate_only, raise_on_unknown=False, incremental=True
            )
            for kind, results in responses.items():
                for name, result in results.items():
                    _require(f"{kind} {name}", str(result))

        request_or_refuse(alter)


def request_or_refuse(request: Callable[[], Response]) -> Response:
    """Return the result of ``request``, retried; refuse if the cluster denies it or does not answer."""
    try:
        return retry_transient(request)
    except ClusterAuthorizationFailedError as error:
        raise Refusal(
            "the cluster does not let this user move replicas: grant Alter and Describe, and for the throttle "
            "AlterConfigs and DescribeConfigs, on the Cluster resource"
        ) from error
    except KafkaError as error:
        raise Refusal(f"the Kafka cluster stopped answering, or refused: {first_line(error)}") from error


def _require(resource: str, result: str) -> None:
    # A topic that was deleted since has no setting left.
    if result == "OK" or "UnknownTopicOrPartition" in result:
        return
    if "AuthorizationFailed" in result:
        raise Refusal(
            f"the cluster does not let this user change the replication throttle of {resource}: "
            "grant AlterConfigs on the Cluster resource and on the topic"
        )
    raise KafkaError(f"the replication throttle of {resource}: {result}")


def _brokers(brokers: Collection[int], settings: Mapping[str, Any]) -> list[ConfigResource]:
    return [ConfigResource(ConfigResourceType.BROKER, str(broker), dict(settings)) for broker in sorted(brokers)]


def _list(copies: Iterable[tuple[int, tuple[int, ...]]]) -> str:
    replicas = [f"{partition}:{broker}" for partition, brokers in copies for broker in dict.fromkeys(brokers)]
    return ",".join([*replicas, MARK])


def _lists(values: Collection[str]) -> ThrottleLists:
    replicas = [[replica.strip() for replica in value.split(",") if replica.strip()] for value in values]
    marked = all(MARK in each for each in replicas)
    named = {replica for each in replicas for replica in each if replica != MARK}
    if "*" in named:
        return ThrottleLists(None, marked)
    return ThrottleLists(frozenset(int(replica.rpartition(":")[2]) for replica in named), marked)
