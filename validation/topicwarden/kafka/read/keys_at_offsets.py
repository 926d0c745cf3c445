"""The keys of single records, fetched without a consumer group; values are not kept."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, TypeAlias

from kafka import KafkaAdminClient
from kafka.errors import OffsetOutOfRangeError

from topicwarden.kafka.connect.client_internals import describe_topics
from topicwarden.kafka.connect.retry import retry_transient
from topicwarden.kafka.read.record_batches import MOST_BYTES, fetch
from topicwarden.kafka.read.record_decoder import UnreadableRecords, decode

_FETCHED_BYTES: Final = 64 << 10
"""Bytes to fetch from a partition at once, which is enough for some batches of the default size."""
_LARGE_BYTES: Final = 32 << 20
"""Bytes to fetch from one partition whose next batch is larger. The broker returns at least one batch (KIP-74)."""

_PartitionId: TypeAlias = tuple[str, int]


def read_keys(
    admin: KafkaAdminClient, offsets: Mapping[_PartitionId, Collection[int]]
) -> dict[_PartitionId, dict[int, bytes]]:
    """Return the keys of the records at ``offsets``, without records that are gone or have no key.

    Records of aborted and open transactions count as well. Raises UnreadableRecords for a damaged batch, and if a
    leader returns an error.
    """
    waiting = {at: sorted(set(requested)) for at, requested in offsets.items() if requested}
    found: dict[_PartitionId, dict[int, bytes]] = {at: {} for at in offsets}
    leaders = _leaders(admin, waiting)
    while waiting:
        for leader in {leaders[at] for at in waiting}:
            here = [at for at in waiting if leaders[at] == leader]
            unanswered = list[_PartitionId]()
            for at, response in _fetch(admin, leader, waiting, here[: MOST_BYTES // _FETCHED_BYTES], _FETCHED_BYTES):
                if not _take(response, waiting[at], found[at]):
                    unanswered.append(at)
            for at in unanswered:
                for _, response in _fetch(admin, leader, waiting, [at], _LARGE_BYTES):
                    if not _take(response, waiting[at], found[at]):
                        waiting[at] = []  # no batch follows
        waiting = {at: requested for at, requested in waiting.items() if requested}
    return found


def _leaders(admin: KafkaAdminClient, partitions: Collection[_PartitionId]) -> dict[_PartitionId, int]:
    topics = sorted({topic for topic, _ in partitions})
    described = retry_transient(lambda: describe_topics(admin, topics))
    leaders = {
        (topic["name"], state["partition_index"]): int(state["leader_id"])
        for topic in described
        for state in topic["partitions"]
    }
    if any(leaders.get(at, -1) < 0 for at in partitions):
        raise UnreadableRecords("a partition has no leader")
    return leaders


def _fetch(
    admin: KafkaAdminClient,
    leader: int,
    waiting: Mapping[_PartitionId, list[int]],
    partitions: Collection[_PartitionId],
    limit: int,
) -> list[tuple[_PartitionId, Any]]:
    """Return the leader's response for each of ``partitions``, from its first offset in ``waiting`` on."""
    first = {at: waiting[at][0] for at in partitions}
    response = retry_transient(lambda: fetch(admin, leader, first, limit))
    return [((topic.topic, each.partition_index), each) for topic in response for each in topic.partitions]


def _take(response: Any, requested: list[int], found: dict[int, bytes]) -> bool:
    """Move the keys of ``requested`` offsets in a response to ``found``; return whether any offset was settled."""
    if response.error_code == OffsetOutOfRangeError.errno:  # it was deleted
        requested.pop(0)
        return True
    if response.error_code:
        raise UnreadableRecords(f"the leader returned error {response.error_code}")
    searched, offsets = -1, set(requested)
    for batch in decode(bytes(response.records or b"")):
        searched = max(searched, batch.last_offset)
        if not batch.control:
            found.update({at: key for at, key, _ in batch.records if at in offsets and key is not None})
    settled = requested[0] <= searched
    requested[:] = [offset for offset in requested if offset > searched]
    return settled
