"""The only place, with ``throttle``, that changes a cluster: replicas are moved, and taken back (KIP-455)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import KafkaError, NotControllerError
from kafka.protocol.admin import ElectionType

from topicwarden.kafka.admin_client import open_admin
from topicwarden.kafka.cluster import Cluster
from topicwarden.kafka.connection import Connection
from topicwarden.kafka.throttle_admin import Answer, ThrottleAdmin, answered

Place: TypeAlias = tuple[str, int]
"""A topic and a partition."""


@dataclass(frozen=True)
class OngoingReassignment:
    """A reassignment under way: every broker that holds or gets the partition, and who comes and goes."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]

    @property
    def target(self) -> tuple[int, ...]:
        return tuple(broker for broker in self.replicas if broker not in self.removing)

    @property
    def before(self) -> tuple[int, ...]:
        return tuple(broker for broker in self.replicas if broker not in self.adding)


class ReassignmentAdmin:
    """Starts, watches and cancels the reassignments of a cluster; see ``open_for_moving``.

    What Kafka does not allow, and a cluster that stays silent, becomes a ``Refusal``.
    """

    def __init__(self, admin: KafkaAdminClient) -> None:
        self._admin = admin

    def brokers(self) -> dict[int, bool]:
        """Every registered broker, and whether it takes part; one that was lost stays registered for a while."""
        described = answered(self._admin.describe_cluster)
        return {broker["broker_id"]: not broker.get("is_fenced", False) for broker in described["brokers"]}

    def ongoing(self) -> dict[Place, OngoingReassignment]:
        """All reassignments under way, of any topic."""
        listed = self._controlled(self._admin.list_partition_reassignments)
        return {
            (place.topic, place.partition): OngoingReassignment(
                tuple(state["replicas"]), tuple(state["adding_replicas"]), tuple(state["removing_replicas"])
            )
            for place, state in listed.items()
        }

    def in_sync(self, topics: Collection[str]) -> dict[Place, tuple[int, ...]]:
        """Return the brokers whose replicas are in sync, by partition of ``topics``; one request."""
        described = answered(lambda: self._admin.describe_topics(sorted(topics)))
        return {
            (topic["name"], partition["partition_index"]): tuple(partition["isr_nodes"])
            for topic in described
            for partition in topic["partitions"]
        }

    def start(self, targets: Mapping[Place, tuple[int, ...] | None]) -> dict[Place, str]:
        """Needs for new replicas by partition, the first being the preferred leader; None takes one under way back.

        Gives what was refused, and why; what is not in progress any more cannot be taken back, and is no error.
        """
        asked = {TopicPartition(*place): target for place, target in targets.items()}
        answers = self._controlled(lambda: self._admin.alter_partition_reassignments(asked)) if asked else {}
        return {
            (place.topic, place.partition): _said(error)
            for place, error in answers.items()
            if error is not None and error.__name__ != "NoReassignmentInProgressError"
        }

    def held(self, places: Collection[Place], brokers: Collection[int]) -> dict[tuple[str, int, int], int]:
        """Bytes on disk by topic, partition and broker; whoever cannot be asked, or may not be, is left out."""
        topics: dict[str, list[int]] = {}
        for topic, partition in places:
            topics.setdefault(topic, []).append(partition)
        found: dict[tuple[str, int, int], int] = {}
        for broker in brokers:
            try:
                answers = self._admin.describe_log_dirs(topics, brokers=[broker])
            except KafkaError:  # it is only for show: a broker that was just lost is waited for elsewhere
                continue
            found |= {
                (topic["name"], partition["partition_index"], broker): partition["partition_size"]
                for answer in answers
                for directory in answer["log_dirs"]
                for topic in directory["topics"]
                for partition in topic["partitions"]
            }
        return found

    def elect_preferred(self, places: Collection[Place]) -> None:
        """Lets the first replica lead where it can; where it cannot, Kafka tries again by itself."""
        topics: dict[str, list[int]] = {}
        for topic, partition in places:
            topics.setdefault(topic, []).append(partition)
        if topics:
            self._controlled(lambda: self._admin.elect_leaders(ElectionType.PREFERRED, topics, raise_errors=False))

    def _controlled(self, ask: Callable[[], Answer]) -> Answer:
        """Asked of the controller, which may have moved since: the client keeps to the one that it knew."""

        def ask_anew() -> Answer:
            try:
                return ask()
            except RuntimeError as error:
                self._admin._controller_id = None
                raise NotControllerError(str(error)) from error
            except KafkaError:
                self._admin._controller_id = None
                raise

        return answered(ask_anew)


@dataclass(frozen=True)
class ReassignmentSession:
    """One connection, for reading, for moving and for braking."""

    cluster: Cluster
    reassignment: ReassignmentAdmin
    throttle: ThrottleAdmin


@contextmanager
def open_for_moving(connection: Connection) -> Iterator[ReassignmentSession]:
    """Connects, and closes again, as ``open_cluster``."""
    with open_admin(connection) as admin:
        yield ReassignmentSession(Cluster(admin, connection), ReassignmentAdmin(admin), ThrottleAdmin(admin))


def _said(error: type[KafkaError]) -> str:
    return f"{error.__name__.removesuffix('Error')} ({error.description})"
