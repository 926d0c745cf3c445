"""Partition reassignments (KIP-455). Only this module and ``throttle_admin`` change a cluster."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TypeAlias

from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import KafkaError
from kafka.protocol.admin import ElectionType

from topicwarden.kafka.connect.client_internals import describe_topics, from_controller
from topicwarden.kafka.connect.clients import open_admin
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.read.partition_extents import log_sizes
from topicwarden.kafka.write.throttle_admin import Response, ThrottleAdmin, request_or_refuse

PartitionId: TypeAlias = tuple[str, int]
"""A topic name and a partition number."""


@dataclass(frozen=True)
class OngoingReassignment:
    """A reassignment in progress: all brokers with a replica, and the brokers that gain or lose a replica."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas after the reassignment."""
        return tuple(broker for broker in self.replicas if broker not in self.removing)

    @property
    def before(self) -> tuple[int, ...]:
        """The replicas before the reassignment."""
        return tuple(broker for broker in self.replicas if broker not in self.adding)


class ReassignmentAdmin:
    """Starts, lists and cancels the reassignments of a cluster; see ``open_reassignment_session``.

    Denied requests, and a cluster that does not answer, become a ``Refusal``.
    """

    def __init__(self, admin: KafkaAdminClient) -> None:
        self._admin = admin

    def brokers(self) -> dict[int, bool]:
        """Return whether each registered broker is alive; a lost broker stays registered for a while."""
        described = request_or_refuse(self._admin.describe_cluster)
        return {broker["broker_id"]: not broker.get("is_fenced", False) for broker in described["brokers"]}

    def ongoing(self) -> dict[PartitionId, OngoingReassignment]:
        """Return all reassignments in progress, of any topic."""
        listed = self._from_controller(self._admin.list_partition_reassignments)
        return {
            (partition_id.topic, partition_id.partition): OngoingReassignment(
                tuple(state["replicas"]), tuple(state["adding_replicas"]), tuple(state["removing_replicas"])
            )
            for partition_id, state in listed.items()
        }

    def in_sync(self, topics: Collection[str]) -> dict[PartitionId, tuple[int, ...]]:
        """Return the brokers whose replicas are in sync, by partition of ``topics``, with one request."""
        described = request_or_refuse(lambda: describe_topics(self._admin, sorted(topics)))
        return {
            (topic["name"], partition["partition_index"]): tuple(partition["isr_nodes"])
            for topic in described
            for partition in topic["partitions"]
        }

    def start(self, targets: Mapping[PartitionId, tuple[int, ...] | None]) -> dict[PartitionId, str]:
        """Start reassignments: ``targets`` has the new replicas by partition, the preferred leader first.

        A target of None cancels the reassignment of the partition. Returns the reason for each refused partition. A
        reassignment that already ended cannot be cancelled; this is not an error.
        """
        requested = {TopicPartition(*partition_id): target for partition_id, target in targets.items()}
        responses = (
            self._from_controller(lambda: self._admin.alter_partition_reassignments(requested)) if requested else {}
        )
        return {
            (partition_id.topic, partition_id.partition): _reason(error)
            for partition_id, error in responses.items()
            if error is not None and error.__name__ != "NoReassignmentInProgressError"
        }

    def replica_bytes(
        self, partitions: Collection[PartitionId], brokers: Collection[int]
    ) -> dict[tuple[str, int, int], int]:
        """Return bytes on disk by topic, partition and broker; brokers that do not answer or deny it are left out."""
        topics = _by_topic(partitions)
        sizes: dict[tuple[str, int, int], int] = {}
        for broker in brokers:
            with suppress(KafkaError):  # only progress needs the sizes; lost brokers are handled elsewhere
                sizes |= log_sizes(self._admin.describe_log_dirs(topics, brokers=[broker]))
        return sizes

    def elect_preferred(self, partitions: Collection[PartitionId]) -> None:
        """Elect the preferred leaders; Kafka itself retries an election that is not possible now."""
        if topics := _by_topic(partitions):
            self._from_controller(lambda: self._admin.elect_leaders(ElectionType.PREFERRED, topics, raise_errors=False))

    def _from_controller(self, request: Callable[[], Response]) -> Response:
        """Return the result of ``request``, retried; refuse if the cluster denies it or does not answer."""
        return request_or_refuse(lambda: from_controller(self._admin, request))


@dataclass(frozen=True)
class ReassignmentSession:
    """One connection that reads a cluster, moves its replicas, and throttles the replication."""

    cluster: Cluster
    reassignment: ReassignmentAdmin
    throttle: ThrottleAdmin


@contextmanager
def open_reassignment_session(connection: Connection) -> Iterator[ReassignmentSession]:
    """Yield an open session; every Kafka error becomes a ``Refusal``."""
    with open_admin(connection) as admin:
        yield ReassignmentSession(Cluster(admin, connection), ReassignmentAdmin(admin), ThrottleAdmin(admin))


def _by_topic(partitions: Collection[PartitionId]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return topics


def _reason(error: type[KafkaError]) -> str:
    return f"{error.__name__.removesuffix('Error')} ({error.description})"
