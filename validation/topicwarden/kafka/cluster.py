"""Reads a cluster through Kafka's Admin interface: snapshots, offsets, batches, consumer groups. It changes nothing."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError, UnknownTopicOrPartitionError, UnsupportedVersionError
from kafka.protocol.consumer import IsolationLevel, OffsetSpec

from topicwarden.kafka.admin_client import open_admin
from topicwarden.kafka.client_internals import forget_controller
from topicwarden.kafka.cluster_service import service_of, setting_source
from topicwarden.kafka.connection import Connection
from topicwarden.kafka.consumer_groups import ConsumerGroup, read_groups
from topicwarden.kafka.eligible_leaders import eligible_leaders
from topicwarden.kafka.log_sizes import log_sizes
from topicwarden.kafka.newest_records import NewestRecords, read_newest_records
from topicwarden.kafka.record_batches import batch_starts, batch_timestamps, denied_partitions, largest_batches
from topicwarden.kafka.retry import retry_transient
from topicwarden.kafka.snapshot import LiveTopic, PartitionExtent, PartitionReplicas, Snapshot
from topicwarden.kafka.topic_reads import effective_settings
from topicwarden.model.topic import Topic
from topicwarden.specs.services.profile import ServiceProfile

_NO_LEADER = -1
_DESCRIBED_AT_ONCE = 1_000  # topics of one request for configurations, whose answer has about 40 settings of each


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
        return retry_transient(lambda: self._snapshot(topics, expected, extents))

    def with_extents(self, snapshot: Snapshot, names: Collection[str]) -> Snapshot:
        """Return ``snapshot`` with offsets and sizes of the topics in ``names`` as they are now."""
        topics = {name: snapshot.topics[name] for name in names if name in snapshot.topics}
        if not topics:
            return snapshot
        replicas = {name: live.replicas for name, live in topics.items()}
        extents, _ = retry_transient(lambda: self._extents(replicas, list(snapshot.racks)))
        read = {name: replace(live, extents=extents.get(name, {})) for name, live in topics.items()}
        return replace(snapshot, topics={**snapshot.topics, **read})

    def _snapshot(self, topics: Collection[str] | None, expected: Collection[str], read_extents: bool) -> Snapshot:
        cluster = self._admin.describe_cluster()
        # A lost broker stays registered, and is fenced (KIP-1073).
        alive = [broker for broker in cluster["brokers"] if not broker.get("is_fenced")]
        racks = {broker["broker_id"]: broker["rack"] for broker in alive}
        described = [
            topic
            for topic in self._admin.describe_topics()
            if topic["error_code"] == 0 and (topics is None or topic["name"] in topics)
        ]
        service = service_of(self._admin, self.connection, cluster["cluster_id"])
        settings = self._settings([topic["name"] for topic in described], service)
        at_risk = [str(topic["name"]) for topic in described if any(map(_lacks_replicas, topic["partitions"]))]
        eligible = eligible_leaders(self._admin, at_risk)
        reassigned = self.reassigned() if at_risk else {}
        replicas = {topic["name"]: _replicas(topic, eligible, reassigned) for topic in described}
        extents, sizes = self._extents(replicas, list(racks)) if read_extents else ({}, {})
        return Snapshot(
            cluster_id=cluster["cluster_id"],
            taken_at=int(time.time() * 1000),
            racks=racks,
            broker_configs=self._broker_settings(racks),
            topics={
                topic["name"]: LiveTopic(
                    topic=_live_topic(topic["name"], replicas[topic["name"]], settings.get(topic["name"], {})),
                    id=str(topic.get("topic_id")),
                    sources={name: source for name, (_, source) in settings.get(topic["name"], {}).items()},
                    replicas=replicas[topic["name"]],
                    extents=extents.get(topic["name"], {}),
                )
                for topic in sorted(described, key=lambda topic: str(topic["name"]))
            },
            hidden=self._hidden({*expected} - replicas.keys()),
            other_log_bytes=_other_log_bytes(sizes, replicas),
            service=service,
        )

    def _hidden(self, names: Collection[str]) -> frozenset[str]:
        """Return the ``names`` for which Kafka does not report that the topic is missing.

        Kafka returns TOPIC_AUTHORIZATION_FAILED both for a hidden topic and for a topic that does not exist.
        """
        described = self._admin.describe_topics(sorted(names)) if names else []
        missing = UnknownTopicOrPartitionError.errno
        return frozenset(str(topic["name"]) for topic in described if topic["error_code"] != missing)

    def identities(self, topics: Collection[str] | None = None) -> dict[str, tuple[str, int]]:
        """Return the id and the number of partitions of each of ``topics`` (default: all) that is visible."""
        names = None if topics is None else sorted(topics)
        described = [] if names == [] else retry_transient(lambda: self._admin.describe_topics(names))
        return {
            topic["name"]: (str(topic.get("topic_id")), len(topic["partitions"]))
            for topic in described
            if topic["error_code"] == 0
        }

    def reassigned(self) -> dict[tuple[str, int], tuple[frozenset[int], frozenset[int]]]:
        """Return the replicas before and after, by (topic, partition), of each reassignment in progress (KIP-455).

        Until a reassignment ends, the metadata has both. Empty if the cluster does not report them, such as without
        Describe on the Cluster resource.
        """

        def listed_by_controller() -> Any:
            forget_controller(self._admin)  # the one that the client knows may be lost
            return self._admin.list_partition_reassignments()

        try:
            listed = retry_transient(listed_by_controller)
        except (KafkaError, RuntimeError):
            return {}
        return {
            (partition.topic, partition.partition): (
                frozenset(state["replicas"]) - frozenset(state["adding_replicas"]),
                frozenset(state["replicas"]) - frozenset(state["removing_replicas"]),
            )
            for partition, state in listed.items()
        }

    def log_starts(self, partitions: Collection[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """Return, for each (topic, partition), the log start offset: the first offset that can be read now."""
        offsets = retry_transient(
            lambda: self._offsets({TopicPartition(*partition): OffsetSpec.EARLIEST for partition in partitions})
        )
        return {partition: result.offset for partition, result in offsets.items()}

    def log_ends(self, partitions: Collection[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """Return, for each (topic, partition), the log end offset: the offset that the next record gets."""
        offsets = retry_transient(
            lambda: self._offsets({TopicPartition(*partition): OffsetSpec.LATEST for partition in partitions})
        )
        return {partition: result.offset for partition, result in offsets.items()}

    def local_starts(self, partitions: Collection[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """Return, for each (topic, partition), the first offset on the leader's own disk (KIP-405).

        Empty if the brokers are older than Kafka 3.4.
        """
        try:
            specs = {TopicPartition(*partition): OffsetSpec.EARLIEST_LOCAL for partition in partitions}
            offsets = retry_transient(lambda: self._offsets(specs))
        except UnsupportedVersionError:
            return {}
        return {partition: result.offset for partition, result in offsets.items() if result.offset >= 0}

    def first_offsets_at(self, times: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], tuple[int, int]]:
        """Return, for each (topic, partition), the first record with a timestamp at or after the time (ms).

        A record is its offset and its timestamp (ms). Partitions without such a record are left out. The broker scans
        all kinds of batches, so no record is skipped (``LogSegment.findOffsetByTimestamp``).
        """
        specs = {TopicPartition(*partition): max(0, time) for partition, time in times.items()}
        records = retry_transient(lambda: self._offsets(specs))
        return {partition: (first.offset, first.timestamp) for partition, first in records.items() if first.offset >= 0}

    def batch_starts(self, snapshot: Snapshot, offsets: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], int]:
        """Return, for each (topic, partition), the base offset of the batch with the offset; see ``record_batches``."""
        leaders = snapshot.leaders
        return batch_starts(
            self._admin, {partition: offset for partition, offset in offsets.items() if partition in leaders}, leaders
        )

    def batch_timestamps(
        self, snapshot: Snapshot, offsets: Mapping[tuple[str, int], int]
    ) -> dict[tuple[str, int], int]:
        """Return the largest timestamp (ms) in the batch that contains each offset; see ``record_batches``."""
        leaders = snapshot.leaders
        return batch_timestamps(
            self._admin, {partition: offset for partition, offset in offsets.items() if partition in leaders}, leaders
        )

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

    def groups(self, topics: Collection[str]) -> tuple[ConsumerGroup, ...]:
        """Return the groups with committed offsets in ``topics``, or that read them now; see ``consumer_groups``."""
        return read_groups(self._admin, self.connection, topics)

    def newest_records(self, topics: Mapping[str, LiveTopic]) -> dict[str, NewestRecords]:
        """Return the newest records of each of ``topics``; see the module ``newest_records``."""
        return read_newest_records(self.connection, topics)

    def _settings(
        self, topic_names: list[str], service: ServiceProfile
    ) -> dict[str, dict[str, tuple[str | None, str]]]:
        settings: dict[str, dict[str, tuple[str | None, str]]] = {}
        for start in range(0, len(topic_names), _DESCRIBED_AT_ONCE):
            settings |= effective_settings(self._admin, topic_names[start : start + _DESCRIBED_AT_ONCE])
        return {
            topic: {
                name: (value, setting_source(service, name, value, source)) for name, (value, source) in entries.items()
            }
            for topic, entries in settings.items()
        }

    def _broker_settings(self, brokers: Iterable[int]) -> dict[int, dict[str, str]]:
        resources = [ConfigResource(ConfigResourceType.BROKER, str(broker)) for broker in brokers]
        described = self._admin.describe_configs(resources, config_filter="all")
        return {
            int(broker): {name: entry["value"] for name, entry in entries.items() if entry["value"] is not None}
            for broker, entries in described.get("broker", {}).items()
            if entries
        }

    def _offsets(
        self, specs: Mapping[TopicPartition, Any], isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    ) -> dict[tuple[str, int], Any]:
        results = self._admin.list_partition_offsets(specs, isolation_level=isolation) if specs else {}
        return {(partition.topic, partition.partition): result for partition, result in results.items()}

    def _extents(
        self, replicas: Mapping[str, tuple[PartitionReplicas, ...]], brokers: list[int]
    ) -> tuple[dict[str, dict[int, PartitionExtent]], dict[tuple[str, int, int], int]]:
        """Return the extents of all partitions with a leader, by topic, and ``_log_bytes``, which are read last."""
        leaders = {
            TopicPartition(name, state.partition): state.leader
            for name, states in replicas.items()
            for state in states
            if state.leader is not None
        }
        start = self._offsets(dict.fromkeys(leaders, OffsetSpec.EARLIEST))
        stable = self._offsets(dict.fromkeys(leaders, OffsetSpec.LATEST), IsolationLevel.READ_COMMITTED)
        latest = self._latest(leaders)
        end = self._offsets(dict.fromkeys(leaders, OffsetSpec.LATEST))
        sizes = self._log_bytes(brokers)
        extents: dict[str, dict[int, PartitionExtent]] = {}
        for (name, partition), leader in leaders.items():
            newest = latest.get((name, partition))
            has_timestamp = newest is not None and newest.offset >= 0
            extents.setdefault(name, {})[partition] = PartitionExtent(
                start=start[name, partition].offset,
                end=end[name, partition].offset,
                last_stable=stable[name, partition].offset,
                latest_timestamp=newest.timestamp if newest is not None and has_timestamp else None,
                latest_offset=newest.offset if newest is not None and has_timestamp else None,
                log_bytes=sizes.get((name, partition, leader)),
            )
        return extents, sizes

    def _latest(self, partitions: Collection[TopicPartition]) -> dict[tuple[str, int], Any]:
        try:
            return self._offsets(dict.fromkeys(partitions, OffsetSpec.MAX_TIMESTAMP))
        except UnsupportedVersionError:  # brokers before KIP-734: checks that need the timestamp are undecidable
            return {}

    def _log_bytes(self, brokers: list[int]) -> dict[tuple[str, int, int], int]:
        """Return bytes on disk by topic, partition and broker; empty if they are not reported.

        This is so without Describe on the Cluster resource, and on services without DescribeLogDirs.
        """
        try:
            return log_sizes(self._admin.describe_log_dirs(brokers=brokers))
        except UnsupportedVersionError:
            return {}


@contextmanager
def open_cluster(connection: Connection) -> Iterator[Cluster]:
    """Yield an open cluster connection; every Kafka error becomes a ``Refusal``."""
    with open_admin(connection) as admin:
        yield Cluster(admin, connection)


def _other_log_bytes(sizes: Mapping[tuple[str, int, int], int], topics: Collection[str]) -> int:
    """Return the size of the logs that belong to none of ``topics``; of each partition, that of its largest replica."""
    largest: dict[tuple[str, int], int] = {}
    for (name, partition, _), size in sizes.items():
        if name not in topics:
            largest[name, partition] = max(size, largest.get((name, partition), 0))
    return sum(largest.values())


def _lacks_replicas(state: Mapping[str, Any]) -> bool:
    return state["leader_id"] == _NO_LEADER or len(state["isr_nodes"]) < len(state["replica_nodes"])


def _replicas(
    topic: Mapping[str, Any],
    eligible: Mapping[tuple[str, int], tuple[int, ...]],
    reassigned: Mapping[tuple[str, int], tuple[frozenset[int], frozenset[int]]],
) -> tuple[PartitionReplicas, ...]:
    def adding(state: Mapping[str, Any]) -> tuple[int, ...]:
        before, after = reassigned.get((topic["name"], state["partition_index"]), (frozenset(), frozenset()))
        return tuple(sorted(after - before))

    states = sorted(topic["partitions"], key=lambda state: int(state["partition_index"]))
    return tuple(
        PartitionReplicas(
            partition=state["partition_index"],
            leader=None if state["leader_id"] == _NO_LEADER else state["leader_id"],
            replicas=tuple(state["replica_nodes"]),
            in_sync=tuple(sorted(state["isr_nodes"])),
            leader_epoch=state.get("leader_epoch"),
            eligible=eligible.get((topic["name"], state["partition_index"]), ()),
            adding=adding(state),
        )
        for state in states
    )


def _live_topic(
    name: str, replicas: tuple[PartitionReplicas, ...], settings: Mapping[str, tuple[str | None, str]]
) -> Topic:
    """Return the topic with its settings in force; its replication factor is that of the least replicated partition."""
    return Topic(
        name=name,
        partitions=len(replicas),
        replication_factor=min(len(state.replicas) for state in replicas),
        config={key: value for key, (value, _) in settings.items() if value is not None},
    )
