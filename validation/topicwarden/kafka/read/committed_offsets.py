"""The committed offsets of groups: the request, and what its answer says (``OffsetFetchRequest``)."""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final

from kafka.protocol.consumer import OffsetFetchRequest

_STREAMS_METADATA: Final = {1: 9, 2: 9}
"""Minimum length by version of the metadata that Streams commits with an offset (``TopicPartitionMetadata``)."""


def committed_offsets_request(names: list[str], *, several: bool) -> Any:
    """Return the request for all offsets of groups; without ``several`` of one group (before Kafka 3.0, KIP-709)."""
    if not several:
        (name,) = names
        return OffsetFetchRequest(group_id=name, topics=None, min_version=2, max_version=7)
    groups = [OffsetFetchRequest.OffsetFetchRequestGroup(group_id=name, topics=None) for name in names]
    return OffsetFetchRequest(groups=groups, min_version=8, max_version=8)


def committed_offsets(group: Any) -> dict[tuple[str, int], tuple[int, str]]:
    """Return offset and metadata of each commit of a group of the answer, by topic and partition."""
    return {
        (topic.name, partition.partition_index): (partition.committed_offset, str(partition.metadata or ""))
        for topic in group.topics
        for partition in topic.partitions
        if partition.error_code == 0 and partition.committed_offset >= 0
    }


def is_streams_metadata(metadata: str) -> bool:
    """Return whether ``metadata`` is what Kafka Streams commits with an offset: a version byte and an 8-byte time."""
    if not metadata:
        return False
    try:
        decoded = base64.b64decode(metadata, validate=True)
    except (binascii.Error, ValueError):
        return False
    return bool(decoded) and len(decoded) >= _STREAMS_METADATA.get(decoded[0], len(decoded) + 1)
