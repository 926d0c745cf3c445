"""Look up which of the remembered records, and of those that an audit counted, are still at their offsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from pyspark.sql import functions as F

from topicwarden.audit.collect.horizon import TopicPartition
from topicwarden.audit.history.topic_state import KnownTombstone, RememberedRecord, TopicState
from topicwarden.audit.scan.key_hash import key_hash
from topicwarden.audit.scan.offset_ranges import (
    READ_COMMITTED,
    OffsetRange,
    in_separate_tasks,
    nearby_ranges,
    read_ranges,
)
from topicwarden.audit.scan.spark_source import SparkSource, literal
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.kafka.read.record_decoder import UnreadableRecords
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.model.problem import Refusal

MOST_FETCHED = 2_000
"""The most ranges of nearby offsets that the driver looks up itself: more take longer than a start of Spark."""


def still_present(
    spark: SparkSource, connection: Connection, remembered: Mapping[TopicPartition, Iterable[RememberedRecord]]
) -> dict[TopicPartition, frozenset[RememberedRecord]]:
    """Return the records that are still in the log; of a pair, both records must be there.

    The cleaner may run during a lookup, and records are read one after another. So a record may be found just before
    the cleaning that removes both it and another record, which is then missing. The records of a partition that misses
    any are looked up again, until a lookup finds all records of the previous one. The cleaner replaces segments from
    the oldest on (``Cleaner.doClean``): a record that is found after a later one was missing outlived that cleaning.
    """
    present = {partition: frozenset(records) for partition, records in remembered.items()}
    unsettled = {partition: records for partition, records in present.items() if records}
    while unsettled:
        found = _lookup(spark, connection, unsettled)
        present |= found
        unsettled = {at: records for at, records in found.items() if records and records != unsettled[at]}
    return present


def _lookup(
    spark: SparkSource, connection: Connection, remembered: Mapping[TopicPartition, frozenset[RememberedRecord]]
) -> dict[TopicPartition, frozenset[RememberedRecord]]:
    """Return the records that one lookup finds."""
    lookups = {
        partition: [(offset, record.key) for record in records for offset in _offsets(record)]
        for partition, records in remembered.items()
    }
    found = _find(spark, connection, lookups)
    return {
        partition: frozenset(
            record for record in records if all((partition, offset, record.key) in found for offset in _offsets(record))
        )
        for partition, records in remembered.items()
    }


def kept_records(
    connection: Connection, snapshot: Snapshot, states: Mapping[str, TopicState]
) -> frozenset[TopicPartition]:
    """Return the partitions whose leader has all records that the last audit counted.

    In the same leader epoch, the log has only grown. After an unclean election or a loss of power, the leader may lack
    the end of the log, and may have new records with the same offsets. It says where the records of earlier epochs end.
    A partition is left out if its leader does not know.
    """
    same, changed = set(), dict[TopicPartition, tuple[int, int]]()
    for topic, state in states.items():
        epochs = {each.partition: each.leader_epoch for each in snapshot.topics[topic].replicas}
        for before in state.partitions:
            at = (topic, before.partition)
            if before.known is None or before.leader_epoch is None:
                continue
            if before.leader_epoch == epochs.get(before.partition):
                same.add(at)
            else:
                changed[at] = (before.leader_epoch, before.known.end)
    ends = _epoch_ends(connection, snapshot, {at: epoch for at, (epoch, _) in changed.items()})
    return frozenset(same | {at for at, (_, known_end) in changed.items() if ends.get(at, -1) >= known_end})


def with_kept_tombstones(
    connection: Connection, snapshot: Snapshot, states: Mapping[str, TopicState]
) -> dict[str, TopicState]:
    """Return the states without the tombstones that the leaders' logs lost, as ``kept_records`` explains.

    Those that the leader's log contained get its leader epoch. If a leader does not answer, they keep their own.
    """
    epochs = {
        (topic, each.partition): each.leader_epoch
        for topic, state in states.items()
        if state.tombstones
        for each in snapshot.topics[topic].replicas
    }
    changed: dict[TopicPartition, int] = {}
    for topic, state in states.items():
        for each in state.tombstones:
            at, epoch = (topic, each.partition), each.leader_epoch
            if epoch is not None and epochs.get(at) not in (None, epoch):
                changed[at] = min(epoch, changed.get(at, epoch))
    ends = _epoch_ends(connection, snapshot, changed)

    def kept(topic: str, state: TopicState) -> Iterator[KnownTombstone]:
        for each in state.tombstones:
            at = (topic, each.partition)
            if each.leader_epoch is not None and (at not in ends or each.leader_epoch == epochs[at]):
                yield each
            elif each.leader_epoch is not None and each.offset < ends[at]:
                yield replace(each, leader_epoch=epochs[at])

    return {topic: replace(state, tombstones=tuple(kept(topic, state))) for topic, state in states.items()}


def _epoch_ends(
    connection: Connection, snapshot: Snapshot, epochs: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Return where the leaders' logs end for ``epochs``; partitions without a leader are left out."""
    leaders = snapshot.leaders
    requested = {at: epoch for at, epoch in epochs.items() if at in leaders}
    if not requested:
        return {}
    with open_cluster(connection) as cluster:
        return cluster.epoch_ends(requested, leaders)


def committed_tombstones(
    spark: SparkSource, connection: Connection, tombstones: Mapping[TopicPartition, Iterable[KnownTombstone]]
) -> dict[TopicPartition, tuple[KnownTombstone, ...]]:
    """Return the tombstones that a consumer with ``isolation.level=read_committed`` sees."""
    lookups = {
        partition: [(tombstone.offset, tombstone.key) for tombstone in found] for partition, found in tombstones.items()
    }
    present = _find_with_spark(spark, connection, lookups, READ_COMMITTED)
    return {
        partition: tuple(tombstone for tombstone in found if (partition, tombstone.offset, tombstone.key) in present)
        for partition, found in tombstones.items()
    }


def _offsets(record: RememberedRecord) -> list[int]:
    return [offset for offset in (record.offset, record.superseded_by) if offset is not None]


def _find(
    spark: SparkSource, connection: Connection, lookups: Mapping[TopicPartition, list[tuple[int, int]]]
) -> set[tuple[TopicPartition, int, int]]:
    """Return the records among ``lookups`` that are in the log, each by offset and hash of the key.

    The driver reads a few records itself, and Spark reads many, or what the driver cannot read.
    """
    requested = {partition: records for partition, records in lookups.items() if records}
    if not requested:
        return set()
    offsets = {partition: [offset for offset, _ in records] for partition, records in requested.items()}
    if sum(len(nearby_ranges(each)) for each in offsets.values()) <= MOST_FETCHED:
        try:
            with open_cluster(connection) as cluster:
                keys = cluster.keys_at(offsets)
        except (UnreadableRecords, Refusal):
            pass
        else:
            return {
                (partition, offset, key)
                for partition, records in requested.items()
                for offset, key in records
                if offset in keys[partition] and key_hash(keys[partition][offset]) == key
            }
    return _find_with_spark(spark, connection, requested)


def _find_with_spark(
    spark: SparkSource,
    connection: Connection,
    lookups: Mapping[TopicPartition, list[tuple[int, int]]],
    options: Mapping[str, str] | None = None,
) -> set[tuple[TopicPartition, int, int]]:
    """Return the same as ``_find``; ``options`` override those of the consumer."""
    partitions = [partition for partition, records in lookups.items() if records]
    if not partitions:
        return set()
    session = spark()
    rows = [
        {"part": part, "offset": offset, "hash": key}
        for part, partition in enumerate(partitions)
        for offset, key in sorted(set(lookups[partition]))
    ]
    ranges = [
        OffsetRange(part, *partition, start, end)
        for part, partition in enumerate(partitions)
        for start, end in nearby_ranges(offset for offset, _ in lookups[partition])
    ]
    records = read_ranges(session, connection, in_separate_tasks(ranges), consumer=options).select(
        "part", "offset", F.xxhash64("key").alias("hash"), F.col("key").isNotNull().alias("keyed")
    )
    requested = F.broadcast(literal(session, rows, "part int, offset long, hash long"))
    found = records.where("keyed").join(requested, ["part", "offset", "hash"]).collect()
    return {(partitions[row["part"]], row["offset"], row["hash"]) for row in found}
