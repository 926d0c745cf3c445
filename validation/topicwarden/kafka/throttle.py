"""Kafka's replication throttle (KIP-73): which replicas of a topic are slowed down, and how much a broker lets through.

A topic's list of throttled replicas is written before any broker's rate and removed after it. So wherever
a killed run left a rate behind, a list names the broker, and what someone else throttles is told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from kafka import KafkaAdminClient
from kafka.admin import AlterConfigOp, ConfigResource, ConfigResourceType
from kafka.errors import ClusterAuthorizationFailedError, KafkaError

from topicwarden.kafka.patience import patiently
from topicwarden.problem import Refusal

RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
"""Of a broker, in bytes a second: what it serves as leader, and what it fetches as follower, of throttled replicas."""

REPLICAS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
"""Of a topic: ``partition:broker,…``, or ``*``."""


Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Copy:
    """A partition's copy to be slowed down: who may lead it, and who fetches it."""

    partition: int
    sources: tuple[int, ...]
    targets: tuple[int, ...]


class Throttle:
    """Sets and removes throttles by incremental changes (KIP-339), which leave all other settings alone."""

    def __init__(self, admin: KafkaAdminClient) -> None:
        self._admin = admin

    def listed(self, topics: Collection[str]) -> dict[str, frozenset[int]]:
        """The brokers that each of ``topics`` lists by number; topics without a list, and with ``*``, are left out."""
        lists = self._values(ConfigResourceType.TOPIC, topics, REPLICAS)
        found = {
            topic: frozenset(int(replica.rpartition(":")[2]) for value in values for replica in value.split(","))
            for topic, values in lists.items()
            if values and all(_numbered(value) for value in values)
        }
        return dict(sorted(found.items()))

    def rated(self, brokers: Collection[int]) -> frozenset[int]:
        """Those of ``brokers`` that have a rate, whoever set it."""
        rates = self._values(ConfigResourceType.BROKER, map(str, sorted(brokers)), RATES)
        return frozenset(int(broker) for broker, values in rates.items() if values)

    def everything(self, topics: Collection[str]) -> frozenset[str]:
        """Those of ``topics`` whose list is ``*``, which someone wrote by hand."""
        lists = self._values(ConfigResourceType.TOPIC, topics, REPLICAS)
        return frozenset(topic for topic, values in lists.items() if not all(map(_numbered, values)))

    def hold(self, copies: Mapping[str, Collection[Copy]], brokers: Collection[int], rate: int) -> None:
        """Slows ``copies`` (by topic) down to ``rate`` bytes a second, into each of ``brokers`` and out of each."""
        lists = []
        for topic, held in copies.items():
            leading = _list((copy.partition, copy.sources) for copy in held)
            following = _list((copy.partition, copy.targets) for copy in held)
            values = {name: value for name, value in zip(REPLICAS, (leading, following), strict=True) if value}
            if following:
                lists.append(ConfigResource(ConfigResourceType.TOPIC, topic, values))
        self._alter(lists)
        self._alter(_brokers(brokers, {name: str(rate) for name in RATES}))

    def release(self, topics: Collection[str], brokers: Collection[int]) -> None:
        """Removes the rates of ``brokers``, then the lists of ``topics``."""
        self._alter(_brokers(brokers, dict.fromkeys(RATES, (AlterConfigOp.DELETE, None))))
        removed = dict.fromkeys(REPLICAS, (AlterConfigOp.DELETE, None))
        self._alter([ConfigResource(ConfigResourceType.TOPIC, topic, removed) for topic in topics])

    def _values(
        self, kind: ConfigResourceType, names: Iterable[str], settings: Collection[str]
    ) -> dict[str, list[str]]:
        """The values of ``settings`` that were set for each of ``names`` itself."""
        resources = [ConfigResource(kind, name, list(settings)) for name in names]
        if not resources:
            return {}
        described = answered(lambda: self._admin.describe_configs(resources, config_filter="modified"))
        return {
            name: [entry["value"] for entry in entries.values() if entry["value"]]
            for name, entries in described.get(kind.name.lower(), {}).items()
        }

    def _alter(self, resources: list[ConfigResource]) -> None:
        if not resources:
            return

        def alter() -> None:
            answers = self._admin.alter_configs(resources, raise_on_unknown=False, incremental=True)
            for kind, results in answers.items():
                for name, result in results.items():
                    _require(f"{kind} {name}", str(result))

        answered(alter)


def answered(ask: Callable[[], Answer]) -> Answer:
    """What ``ask`` gives, patiently; refuses where the cluster goes on to answer nothing, or does not allow it."""
    try:
        return patiently(ask)
    except ClusterAuthorizationFailedError as error:
        raise Refusal(
            "the cluster does not let this user move replicas: that takes Alter and Describe, and for the throttle "
            "AlterConfigs and DescribeConfigs, on the Cluster resource"
        ) from error
    except KafkaError as error:
        said = str(error).strip().partition("\n")[0] or type(error).__name__
        raise Refusal(f"the Kafka cluster stopped answering, or refused: {said}") from error


def _require(resource: str, result: str) -> None:
    # A topic that was deleted meanwhile has no setting left.
    if result == "OK" or "UnknownTopicOrPartition" in result:
        return
    if "AuthorizationFailed" in result:
        raise Refusal(
            f"the cluster does not let this user change the replication throttle of {resource}: "
            "that takes AlterConfigs on the Cluster resource and on the topic"
        )
    raise KafkaError(f"the replication throttle of {resource}: {result}")


def _brokers(brokers: Collection[int], settings: Mapping[str, Any]) -> list[ConfigResource]:
    return [ConfigResource(ConfigResourceType.BROKER, str(broker), dict(settings)) for broker in sorted(brokers)]


def _list(copies: Iterable[tuple[int, tuple[int, ...]]]) -> str:
    return ",".join(f"{partition}:{broker}" for partition, brokers in copies for broker in dict.fromkeys(brokers))


def _numbered(value: str) -> bool:
    return all(part.isdigit() for replica in value.split(",") for part in replica.split(":"))
