"""Functions with which the known Kafka clients assign a key to a partition."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping

from kafka.partitioner.default import murmur2

_FNV_OFFSET, _FNV_PRIME, _UNSIGNED, _SIGNED = 0x811C9DC5, 0x01000193, 0xFFFFFFFF, 0x7FFFFFFF


def _murmur2(key: bytes, partitions: int) -> int:
    return int(murmur2(key) & _SIGNED) % partitions


def _crc32(key: bytes, partitions: int) -> int:
    return zlib.crc32(key) % partitions


def _fnv1a(key: bytes, partitions: int) -> int:
    """Return FNV-1a as a signed number, made positive: Sarama's default, and librdkafka's ``fnv1a``."""
    state = _FNV_OFFSET
    for byte in key:
        state = ((state ^ byte) * _FNV_PRIME) & _UNSIGNED
    return abs(state - (1 << 32) if state > _SIGNED else state) % partitions


PARTITIONERS: Mapping[str, Callable[[bytes, int], int]] = {
    "murmur2": _murmur2,
    "crc32": _crc32,
    "fnv1a": _fnv1a,
    "sarama": _fnv1a,
}
"""Partition functions by the name in ``contents.key.partitioner``: (key, number of partitions) to partition."""
