"""The one place that speaks to Kafka's Admin interface. It reads; nothing here changes a cluster."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import ClusterAuthorizationFailedError, UnknownTopicOrPartitionError, UnsupportedVersionError
from kafka.protocol.consumer import IsolationLevel, OffsetSpec

from topicwarden.kafka.admin_client import open_admin
from topicwarden.kafka.connection import Connection
from topicwarden.kafka.consumer_groups import ConsumerGroup, read_groups
from topicwarden.kafka.newest_records import NewestRecords, read_tails
from topicwarden.kafka.record_batches import batch_starts, batch_timestamps, largest_batches, refused
from topicwarden.kafka.retry import patiently
from topicwarden.kafka.snapshot import LiveTopic, PartitionExtent, PartitionReplicas, Snapshot
from topicwarden.model.topic import Topic

_NO_LEADER = -1


class Cluster:
    """An open connection for reading; see ``open_cluster``."""

    def __init__(self, admin: KafkaAdminClient, connection: Connection) -> None:
        self._admin = admin
        self.connection = connection

    def snapshot(self, topics: Collection[str] | None = None, expected: Collection[str] = ()) -> Snapshot:
        """Everything about ``topics`` (default: all) at this moment; unknown names are left out.

        Of ``expected`` names, ``hidden`` has those that this user may not describe.

        Requests: one for metadata, one for configurations, and six a broker for its
        settings, offsets and sizes, whatever the number of topics.
        """
        return patiently(lambda: self._snapshot(topics, expected))

    def _snapshot(self, topics: Collection[str] | None, expected: Collection[str]) -> Snapshot:
        cluster = self._admin.describe_cluster()
        # A broker that is lost stays registered, fenced (KIP-1073).
        alive = [broker for broker in cluster["brokers"] if not broker.get("is_fenced")]
        racks = {broker["broker_id"]: broker["rack"] for broker in alive}
        described = [
            topic
            for topic in self._admin.describe_topics()
            if topic["error_code"] == 0 and (topics is None or topic["name"] in topics)
        ]
        settings = self._settings([topic["name"] for topic in described])
        replicas = {topic["name"]: _replicas(topic) for topic in described}
        extents = self._extents(replicas, list(racks))
        return Snapshot(
            cluster_id=cluster["cluster_id"],
            taken_at=int(time.time() * 1000),
            racks=racks,
            broker_configs=self._broker_settings(racks),
            topics={
                topic["name"]: LiveTopic(
                    topic=_live(topic["name"], replicas[topic["name"]], settings.get(topic["name"], {})),
                    id=str(topic.get("topic_id")),
                    sources={name: entry["config_source"] for name, entry in settings.get(topic["name"], {}).items()},
                    replicas=replicas[topic["name"]],
                    extents=extents.get(topic["name"], {}),
                )
                for topic in sorted(described, key=lambda topic: str(topic["name"]))
            },
            hidden=self._hidden({*expected} - replicas.keys()),
        )

    def _hidden(self, names: Collection[str]) -> frozenset[str]:
        """Those of ``names`` of which Kafka does not say that they do not exist.

        It answers TOPIC_AUTHORIZATION_FAILED alike for a topic that is hidden and for one that does not exist.
        """
        described = self._admin.describe_topics(sorted(names)) if names else []
        missing = UnknownTopicOrPartitionError.errno
        return frozenset(str(topic["name"]) for topic in described if topic["error_code"] != missing)

    def reassigned(self) -> dict[tuple[str, int], tuple[frozenset[int], frozenset[int]]]:
        """Return, by topic and partition that a reassignment moves, its replicas before and after (KIP-455).

        Meanwhile the metadata has both. Empty where Describe on the Cluster resource is not granted.
        """
        try:
            listed = patiently(self._admin.list_partition_reassignments)
        except (ClusterAuthorizationFailedError, UnsupportedVersionError, RuntimeError):
            return {}
        return {
            (place.topic, place.partition): (
                frozenset(state["replicas"]) - frozenset(state["adding_replicas"]),
                frozenset(state["replicas"]) - frozenset(state["removing_replicas"]),
            )
            for place, state in listed.items()
        }

    def log_starts(self, places: Collection[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """For each (topic, partition): the first offset that can be read at this moment."""
        answers = patiently(lambda: self._offsets({TopicPartition(*place): OffsetSpec.EARLIEST for place in places}))
        return {place: answer.offset for place, answer in answers.items()}

    def log_ends(self, places: Collection[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """For each (topic, partition): the offset that the next record gets, at this moment."""
        answers = patiently(lambda: self._offsets({TopicPartition(*place): OffsetSpec.LATEST for place in places}))
        return {place: answer.offset for place, answer in answers.items()}

    def local_starts(self, places: Collection[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """Return, for each (topic, partition), the first offset on the leader's own disk (KIP-405).

        Empty if the brokers are older than Kafka 3.4.
        """
        try:
            specs = {TopicPartition(*place): OffsetSpec.EARLIEST_LOCAL for place in places}
            answers = patiently(lambda: self._offsets(specs))
        except UnsupportedVersionError:
            return {}
        return {place: answer.offset for place, answer in answers.items() if answer.offset >= 0}

    def first_offsets_at(self, times: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], tuple[int, int]]:
        """For each (topic, partition): offset and timestamp of the first record stamped at or after the time (ms).

        Partitions without such a record are left out. The broker scans batches of any kind, so that a
        record is never passed over (``LogSegment.findOffsetByTimestamp``).
        """
        specs = {TopicPartition(*place): max(0, time) for place, time in times.items()}
        answers = patiently(lambda: self._offsets(specs))
        return {place: (at.offset, at.timestamp) for place, at in answers.items() if at.offset >= 0}

    def batch_starts(self, snapshot: Snapshot, offsets: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], int]:
        """For each (topic, partition): the base offset of the batch that holds the offset; see ``batches``."""
        leaders = snapshot.leaders
        return batch_starts(self._admin, {place: at for place, at in offsets.items() if place in leaders}, leaders)

    def batch_timestamps(
        self, snapshot: Snapshot, offsets: Mapping[tuple[str, int], int]
    ) -> dict[tuple[str, int], int]:
        """Return the largest timestamp (ms) in the batch that holds each offset; see ``batches``."""
        leaders = snapshot.leaders
        return batch_timestamps(self._admin, {place: at for place, at in offsets.items() if place in leaders}, leaders)

    def unreadable(self, snapshot: Snapshot, topics: Collection[str]) -> frozenset[str]:
        """Return those of ``topics`` that this user may not read (Read on the topic): one small fetch a leader."""
        first = {
            name: (state.partition, state.leader, log.start)
            for name in topics
            for state in snapshot.topics[name].replicas
            if state.leader is not None and (log := snapshot.topics[name].extents.get(state.partition))
        }
        offsets = {(name, partition): start for name, (partition, _, start) in first.items()}
        leaders = {(name, partition): leader for name, (partition, leader, _) in first.items()}
        return frozenset(name for name, _ in refused(self._admin, offsets, leaders))

    def largest_batches(self, snapshot: Snapshot, topics: Collection[str]) -> dict[tuple[str, int], int]:
        """Bytes of the largest among the newest batches of each (topic, partition) that holds any; see ``batches``."""
        places = {
            (name, state.partition): (snapshot.topics[name].extents[state.partition], state.leader)
            for name in topics
            for state in snapshot.topics[name].replicas
            if state.leader is not None and state.partition in snapshot.topics[name].extents
        }
        logs = {place: (extent.start, extent.end) for place, (extent, _) in places.items()}
        return largest_batches(self._admin, logs, {place: leader for place, (_, leader) in places.items()})

    def groups(self, topics: Collection[str]) -> tuple[ConsumerGroup, ...]:
        """The consumer groups that have committed offsets in ``topics``, or read them now; see ``groups``."""
        return read_groups(self._admin, self.connection, topics)

    def tails(self, topics: Mapping[str, LiveTopic]) -> dict[str, NewestRecords]:
        """The newest records of each topic; see ``tail``."""
        return read_tails(self.connection, topics)

    def _settings(self, names: list[str]) -> dict[str, dict[str, Any]]:
        resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
        described = self._admin.describe_configs(resources, config_filter="all") if resources else {}
        return dict(described.get("topic", {}))

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
        answers = self._admin.list_partition_offsets(specs, isolation_level=isolation) if specs else {}
        return {(place.topic, place.partition): answer for place, answer in answers.items()}

    def _extents(
        self, replicas: Mapping[str, tuple[PartitionReplicas, ...]], brokers: list[int]
    ) -> dict[str, dict[int, PartitionExtent]]:
        led = {
            TopicPartition(name, state.partition): state.leader
            for name, states in replicas.items()
            for state in states
            if state.leader is not None
        }
        start = self._offsets(dict.fromkeys(led, OffsetSpec.EARLIEST))
        stable = self._offsets(dict.fromkeys(led, OffsetSpec.LATEST), IsolationLevel.READ_COMMITTED)
        latest = self._latest(led)
        end = self._offsets(dict.fromkeys(led, OffsetSpec.LATEST))
        sizes = self._log_bytes(brokers)
        extents: dict[str, dict[int, PartitionExtent]] = {}
        for (name, partition), leader in led.items():
            newest = latest.get((name, partition))
            dated = newest is not None and newest.offset >= 0
            extents.setdefault(name, {})[partition] = PartitionExtent(
                start=start[name, partition].offset,
                end=end[name, partition].offset,
                last_stable=stable[name, partition].offset,
                latest_timestamp=newest.timestamp if newest is not None and dated else None,
                latest_offset=newest.offset if newest is not None and dated else None,
                log_bytes=sizes.get((name, partition, leader)),
            )
        return extents

    def _latest(self, led: Collection[TopicPartition]) -> dict[tuple[str, int], Any]:
        try:
            return self._offsets(dict.fromkeys(led, OffsetSpec.MAX_TIMESTAMP))
        except UnsupportedVersionError:  # before KIP-734; what rests on it is then undecidable
            return {}

    def _log_bytes(self, brokers: list[int]) -> dict[tuple[str, int, int], int]:
        """Bytes on disk by topic, partition and broker; empty where Describe on the cluster was not granted."""
        return {
            (topic["name"], partition["partition_index"], answer["broker"]): partition["partition_size"]
            for answer in self._admin.describe_log_dirs(brokers=brokers)
            for directory in answer["log_dirs"]
            for topic in directory["topics"]
            for partition in topic["partitions"]
        }


@contextmanager
def open_cluster(connection: Connection) -> Iterator[Cluster]:
    """Connects, and closes again. Whatever Kafka refuses on the way becomes one ``Refusal``."""
    with open_admin(connection) as admin:
        yield Cluster(admin, connection)


def _replicas(topic: Mapping[str, Any]) -> tuple[PartitionReplicas, ...]:
    states = sorted(topic["partitions"], key=lambda state: int(state["partition_index"]))
    return tuple(
        PartitionReplicas(
            partition=state["partition_index"],
            leader=None if state["leader_id"] == _NO_LEADER else state["leader_id"],
            replicas=tuple(state["replica_nodes"]),
            in_sync=tuple(sorted(state["isr_nodes"])),
            leader_epoch=state.get("leader_epoch"),
        )
        for state in states
    )


def _live(name: str, states: tuple[PartitionReplicas, ...], settings: Mapping[str, Any]) -> Topic:
    """Its replication factor is that of its least replicated partition."""
    return Topic(
        name=name,
        partitions=len(states),
        replication_factor=min(len(state.replicas) for state in states),
        config={key: entry["value"] for key, entry in settings.items() if entry["value"] is not None},
    )
