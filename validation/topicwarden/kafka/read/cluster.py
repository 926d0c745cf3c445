"""Reads a cluster through Kafka's Admin interface: snapshots, offsets, batches, consumer groups. It changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import UnknownTopicOrPartitionError, UnsupportedVersionError
from kafka.protocol.consumer import OffsetSpec

from topicwarden.kafka.connect.client_internals import describe_topics
from topicwarden.kafka.connect.clients import open_admin
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.connect.request_errors import retry_transient
from topicwarden.kafka.read.access_reads import read_access
from topicwarden.kafka.read.cluster_service import service_of
from topicwarden.kafka.read.consumer_groups import ConsumerGroup, has_connect_workers, read_groups
from topicwarden.kafka.read.group_lags import Position, UnreadRecords
from topicwarden.kafka.read.newest_records import NewestRecords, read_newest_records
from topicwarden.kafka.read.partition_extents import read_epoch_ends, read_extents, read_offsets
from topicwarden.kafka.read.record_batches import (
    batch_starts,
    batch_timestamps,
    denied_partitions,
    is_whole,
    largest_batches,
)
from topicwarden.kafka.read.refused_changes import ValidatedChange, refused_changes
from topicwarden.kafka.read.single_records import read_keys, read_unread_records
from topicwarden.kafka.read.snapshot import LiveTopic, Snapshot, TopicIdentity
from topicwarden.kafka.read.snapshot_reads import take_snapshot
from topicwarden.kafka.read.transaction_reads import read_producers, read_transactions
from topicwarden.kafka.read.transactions import TopicProducers, Transactions
from topicwarden.kafka.read.use_reads import ClusterUse, read_use
from topicwarden.kafka_facts.services.profile import ServiceProfile
from topicwarden.model.access import LiveAccess


class Cluster:
    """An open, read-only connection to a cluster; see ``open_cluster``."""

    def __init__(self, admin: KafkaAdminClient, connection: Connection) -> None:
        self._admin = admin
        self.connection = connection

    @property
    def service(self) -> ServiceProfile:
        """The profile of the managed or compatible service."""
        return service_of(self._admin, self.connection)

    def snapshot(
        self, topics: Collection[str] | None = None, expected: Collection[str] = (), *, extents: bool = True
    ) -> Snapshot:
        """Return the current state of ``topics`` (default: all); unknown names are left out.

        ``hidden`` of the snapshot has the names in ``expected`` that this user may not describe.

        Sends one request for metadata, one for the configurations of a thousand topics, and six per broker for its
        settings, offsets and sizes; and two if replicas are out of sync. Without ``extents``, offsets and sizes are not
        read; see ``with_extents``.
        """
        return retry_transient(lambda: take_snapshot(self._admin, self.connection, topics, expected, extents=extents))

    def with_extents(self, snapshot: Snapshot, names: Collection[str]) -> Snapshot:
        """Return ``snapshot`` with offsets and sizes of the topics in ``names`` as they are now."""
        topics = {name: snapshot.topics[name] for name in names if name in snapshot.topics}
        if not topics:
            return snapshot
        replicas = {name: live.replicas for name, live in topics.items()}
        extents, _, log_dirs = retry_transient(lambda: read_extents(self._admin, replicas, list(snapshot.racks)))
        read = {name: replace(live, extents=extents.get(name, {})) for name, live in topics.items()}
        return replace(snapshot, topics={**snapshot.topics, **read}, log_dirs=log_dirs)

    def identities(self, topics: Collection[str] | None = None) -> dict[str, TopicIdentity]:
        """Return the id and the leader epochs of each of ``topics`` (default: all) that is visible."""
        names = None if topics is None else sorted(topics)
        described = retry_transient(lambda: describe_topics(self._admin, names))
        return {
            topic["name"]: TopicIdentity(
                str(topic.get("topic_id")),
                {state["partition_index"]: state.get("leader_epoch") for state in topic["partitions"]},
            )
            for topic in described
            if topic["error_code"] == 0
        }

    def absent_topics(self, names: Collection[str]) -> frozenset[str]:
        """Return those of ``names`` for which the brokers report that no topic has them.

        A topic that this user may not describe is left out: the brokers do not report whether it exists.
        """
        described = retry_transient(lambda: describe_topics(self._admin, sorted(names)))
        unknown = UnknownTopicOrPartitionError.errno
        return frozenset(str(topic["name"]) for topic in described if topic["error_code"] == unknown)

    def log_starts(self, partitions: Collection[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """Return, for each (topic, partition), the log start offset: the first offset that can be read now."""
        return self._offsets_at(partitions, OffsetSpec.EARLIEST)

    def log_ends(self, partitions: Collection[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """Return, for each (topic, partition), the log end offset: the offset that the next record gets."""
        return self._offsets_at(partitions, OffsetSpec.LATEST)

    def local_starts(self, partitions: Collection[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """Return, for each (topic, partition), the first offset on the leader's own disk (KIP-405).

        Empty if the brokers are older than Kafka 3.4.
        """
        try:
            offsets = self._offsets_at(partitions, OffsetSpec.EARLIEST_LOCAL)
        except UnsupportedVersionError:
            return {}
        return {partition: offset for partition, offset in offsets.items() if offset >= 0}

    def first_offsets_at(self, times: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], tuple[int, int]]:
        """Return, for each (topic, partition), the first record with a timestamp at or after the time (ms).

        A record is its offset and its timestamp (ms). Partitions without such a record are left out. The broker scans
        all kinds of batches, so no record is skipped (``LogSegment.findOffsetByTimestamp``).
        """
        specs = {TopicPartition(*partition): max(0, time) for partition, time in times.items()}
        records = retry_transient(lambda: read_offsets(self._admin, specs))
        return {partition: (first.offset, first.timestamp) for partition, first in records.items() if first.offset >= 0}

    def _offsets_at(self, partitions: Collection[tuple[str, int]], spec: OffsetSpec) -> dict[tuple[str, int], int]:
        specs = {TopicPartition(*partition): spec for partition in partitions}
        offsets = retry_transient(lambda: read_offsets(self._admin, specs))
        return {partition: result.offset for partition, result in offsets.items()}

    def batch_starts(self, snapshot: Snapshot, offsets: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], int]:
        """Return, for each (topic, partition), the base offset of the batch with the offset; see ``record_batches``."""
        return batch_starts(self._admin, offsets, snapshot.leaders)

    def batch_timestamps(
        self, snapshot: Snapshot, offsets: Mapping[tuple[str, int], int]
    ) -> dict[tuple[str, int], int]:
        """Return the largest timestamp (ms) in the batch that contains each offset; see ``record_batches``."""
        return batch_timestamps(self._admin, offsets, snapshot.leaders)

    def unreadable(self, snapshot: Snapshot, topics: Collection[str]) -> frozenset[str]:
        """Return the ``topics`` that this user may not read (Read on the topic), with one small fetch per leader."""
        first = {
            name: (state.partition, state.leader, log.start)
            for name in topics
            for state in snapshot.topics[name].replicas
            if state.leader is not None and (log := snapshot.topics[name].extents.get(state.partition))
        }
        offsets = {(name, partition): start for name, (partition, _, start) in first.items()}
        leaders = {(name, partition): leader for name, (partition, leader, _) in first.items()}
        return frozenset(name for name, _ in denied_partitions(self._admin, offsets, leaders))

    def is_whole(self, live: LiveTopic, partition: int) -> bool:
        """Return whether the log of a partition has lost nothing since its first offset; see ``record_batches``."""
        leader = next((state.leader for state in live.replicas if state.partition == partition), None)
        if leader is None:
            return False
        return is_whole(self._admin, (live.topic.name, partition), leader, live.extents[partition].end)

    def largest_batches(self, snapshot: Snapshot, topics: Collection[str]) -> dict[tuple[str, int], int]:
        """Return bytes of the largest recent batch of each (topic, partition) with records; see ``record_batches``."""
        partitions = {
            (name, state.partition): (snapshot.topics[name].extents[state.partition], state.leader)
            for name in topics
            for state in snapshot.topics[name].replicas
            if state.leader is not None and state.partition in snapshot.topics[name].extents
        }
        logs = {partition: (extent.start, extent.end) for partition, (extent, _) in partitions.items()}
        return largest_batches(self._admin, logs, {partition: leader for partition, (_, leader) in partitions.items()})

    def groups(
        self, topics: Collection[str], named: Callable[[str], bool] = lambda _: False
    ) -> tuple[ConsumerGroup, ...]:
        """Return the groups with committed offsets in ``topics``, or that read them now; see ``consumer_groups``.

        Groups whose name ``named`` accepts are returned whatever they read.
        """
        return read_groups(self._admin, topics, named)

    def use(
        self,
        snapshot: Snapshot,
        topics: Collection[str] | None = None,
        groups: tuple[ConsumerGroup, ...] | None = None,
    ) -> ClusterUse:
        """Return who uses ``topics`` of ``snapshot`` (default: all) now; see ``use_reads``.

        ``groups`` are all groups of the cluster, if they have been read.
        """
        return read_use(self._admin, snapshot, topics, groups)

    def refused_changes(self, changes: Mapping[str, ValidatedChange]) -> dict[str, str]:
        """Return why the brokers would refuse ``changes`` of topics, by topic; see ``refused_changes``."""
        return refused_changes(self._admin, changes)

    def topic_names(self) -> frozenset[str]:
        """Return the names of all topics that this user sees."""
        return frozenset(retry_transient(self._admin.list_topics))

    def transactions(
        self, snapshot: Snapshot, names: Collection[str], matches: Callable[[str, int], bool]
    ) -> Transactions:
        """Return the transactional ids in ``names``, and all others that ``matches`` accepts; see ``transactions``."""
        return read_transactions(self._admin, list(snapshot.racks), names, matches)

    def producers(self, topics: Mapping[str, LiveTopic]) -> dict[str, TopicProducers]:
        """Return the producers that brokers remember for each of ``topics``; see ``transactions``."""
        return read_producers(self._admin, topics)

    def has_connect_workers(self) -> bool:
        """Return whether this user sees a group of Kafka Connect's workers."""
        return has_connect_workers(self._admin)

    def access(self, groups: Collection[str] = ()) -> LiveAccess:
        """Return the access of the cluster, with the settings of ``groups``; see ``access_reads``."""
        return read_access(self._admin, self.service, groups)

    def newest_records(self, topics: Mapping[str, LiveTopic]) -> dict[str, NewestRecords]:
        """Return the newest records of each of ``topics``; see the module ``newest_records``."""
        return read_newest_records(self._admin, topics)

    def unread_records(self, snapshot: Snapshot, positions: Collection[Position]) -> UnreadRecords:
        """Return the first record that a consumer gets at each of ``positions``; see ``unread_records``."""
        return read_unread_records(self._admin, positions, snapshot.leaders)

    def epoch_ends(
        self, epochs: Mapping[tuple[str, int], int], leaders: Mapping[tuple[str, int], int]
    ) -> dict[tuple[str, int], int]:
        """Return where the leaders' logs end for ``epochs``; see ``read_epoch_ends``."""
        return read_epoch_ends(self._admin, epochs, leaders)

    def keys_at(self, offsets: Mapping[tuple[str, int], Collection[int]]) -> dict[tuple[str, int], dict[int, bytes]]:
        """Return the keys of the records at the offsets of each (topic, partition); see ``keys_at_offsets``."""
        return read_keys(self._admin, offsets)


@contextmanager
def open_cluster(connection: Connection) -> Iterator[Cluster]:
    """Yield an open cluster connection; every Kafka error becomes a ``Refusal``."""
    with open_admin(connection) as admin:
        yield Cluster(admin, connection)
