"""Kafka's replication throttle (KIP-73): which replicas of a topic are slowed down, and how much a broker lets through.

A topic's list of throttled replicas is written before any broker's rate and removed after the rate. So if a killed
run left a rate behind, a list still names the broker. Every list of ours ends with ``MARK``, so that a later run, also
on another machine, knows which lists are ours. Lists without the mark are never changed or removed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from kafka import KafkaAdminClient
from kafka.admin import AlterConfigOp, ConfigResource, ConfigResourceType
from kafka.errors import ClusterAuthorizationFailedError, KafkaError

from topicwarden.kafka.retry import patiently
from topicwarden.model.problem import Refusal

RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
"""Of a broker, in bytes a second: what it serves as leader, and what it fetches as follower, of throttled replicas."""

REPLICAS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
"""Of a topic: ``partition:broker,…``, or ``*``."""


MARK = "999999999:999999999"
"""The last entry of each list that topicwarden writes: a partition and a broker that do not exist.

Brokers accept any two numbers that fit 32 bits (``ThrottledReplicaListValidator``), and each of them only takes the
entries that name itself (``TopicConfigHandler.parseThrottledPartitions``).
"""

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class ReplicaCopy:
    """A partition's copy to be slowed down: who may lead it, and who fetches it."""

    partition: int
    sources: tuple[int, ...]
    targets: tuple[int, ...]


@dataclass(frozen=True)
class ThrottleLists:
    """The two lists of a topic's throttled replicas, as one.

    ``brokers`` are the brokers that a list names, None for all (``*``). ``marked``: topicwarden wrote them.
    """

    brokers: frozenset[int] | None
    marked: bool = False

    def names(self, broker: int) -> bool:
        return self.brokers is None or broker in self.brokers


class ThrottleAdmin:
    """Sets and removes throttles by incremental changes (KIP-339), which leave all other settings alone."""

    def __init__(self, admin: KafkaAdminClient) -> None:
        self._admin = admin

    def lists(self, topics: Collection[str] | None = None) -> tuple[dict[str, ThrottleLists], frozenset[str]]:
        """Return the lists by topic, of ``topics`` or of all that this user may describe, and the topics not seen.

        Topics without a list are left out. A topic is not seen if DescribeConfigs on it is not granted.
        """
        names = sorted(answered(self._admin.list_topics) if topics is None else topics)
        described = self._described(ConfigResourceType.TOPIC, names, REPLICAS)
        found = {}
        for topic, entries in described.items():
            values = [str(entry["value"]) for entry in entries.values() if entry["value"]]
            if values:
                found[topic] = _lists(values)
        mute = {topic for topic in names if not described.get(topic)}
        # A topic that was deleted in the meantime has no settings either.
        return found, frozenset(mute & {*answered(self._admin.list_topics)} if mute else ())

    def rates(self, brokers: Collection[int]) -> dict[int, dict[str, str]]:
        """Return the rates that are set on each of ``brokers`` itself, by setting; brokers without one are left out.

        The default of all brokers is not the broker's own, and stays in force when the broker's own is removed.
        """
        described = self._described(ConfigResourceType.BROKER, map(str, sorted(brokers)), RATES)
        found = {
            int(broker): {
                name: str(entry["value"])
                for name, entry in sorted(entries.items())
                if entry["value"] and entry["config_source"] == "DYNAMIC_BROKER_CONFIG"
            }
            for broker, entries in described.items()
        }
        return {broker: rates for broker, rates in found.items() if rates}

    def hold(self, copies: Mapping[str, Collection[ReplicaCopy]], brokers: Collection[int], rate: int) -> None:
        """Slows ``copies`` (by topic) down to ``rate`` bytes a second, into each of ``brokers`` and out of each."""
        lists = []
        for topic, held in copies.items():
            leading = _list((copy.partition, copy.sources) for copy in held)
            following = _list((copy.partition, copy.targets) for copy in held)
            lists.append(
                ConfigResource(ConfigResourceType.TOPIC, topic, dict(zip(REPLICAS, (leading, following), strict=True)))
            )
        self._alter(lists)
        self._alter(_brokers(brokers, {name: str(rate) for name in RATES}))

    def release(self, topics: Collection[str], brokers: Collection[int]) -> None:
        """Removes the rates of ``brokers``, then the lists of ``topics``."""
        self._alter(_brokers(brokers, dict.fromkeys(RATES, (AlterConfigOp.DELETE, None))))
        removed = dict.fromkeys(REPLICAS, (AlterConfigOp.DELETE, None))
        self._alter([ConfigResource(ConfigResourceType.TOPIC, topic, removed) for topic in topics])

    def _described(
        self, kind: ConfigResourceType, names: Iterable[str], settings: Collection[str]
    ) -> dict[str, dict[str, dict[str, Any]]]:
        """Return Kafka's entries for ``settings`` by resource; empty ones where DescribeConfigs is not granted."""
        resources = [ConfigResource(kind, name, list(settings)) for name in names]
        if not resources:
            return {}
        described = answered(lambda: self._admin.describe_configs(resources, config_filter="all"))
        found: dict[str, dict[str, dict[str, Any]]] = described.get(kind.name.lower(), {})
        return found

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
    held = [f"{partition}:{broker}" for partition, brokers in copies for broker in dict.fromkeys(brokers)]
    return ",".join([*held, MARK])


def _lists(values: Collection[str]) -> ThrottleLists:
    replicas = [[replica.strip() for replica in value.split(",") if replica.strip()] for value in values]
    marked = all(MARK in each for each in replicas)
    named = {replica for each in replicas for replica in each if replica != MARK}
    if "*" in named:
        return ThrottleLists(None, marked)
    return ThrottleLists(frozenset(int(replica.rpartition(":")[2]) for replica in named), marked)
